/*
 * The program as the analysis walks it: functions, blocks, calls, and who may call whom.
 */
#include <stdlib.h>
#include <string.h>
#include "compiler/races/races.h"

struct program program;

static void *table(size_t count, size_t size)
{
	void *all = calloc(count + 1, size);

	if (!all)
		compiler_die("out of memory");
	return all;
}

static bool is_call(LLVMValueRef i)
{
	return LLVMIsACallInst(i) || LLVMIsAInvokeInst(i) || LLVMIsACallBrInst(i);
}

uint32_t program_function(LLVMValueRef f)
{
	return map_find(&program.function_map, f) - 1;
}

bool program_unwinds(const struct block *b, uint32_t way)
{
	return way == 1 && LLVMIsAInvokeInst(LLVMGetBasicBlockTerminator(b->ref));
}

struct block *program_block_of(LLVMValueRef inst)
{
	return &program.blocks[map_find(&program.block_map, LLVMGetInstructionParent(inst)) - 1];
}

struct call *program_call(LLVMValueRef inst)
{
	uint32_t n = map_find(&program.call_map, inst);

	return n ? &program.calls[n - 1] : NULL;
}

/* ---- building ---------------------------------------------------------------------------------------------------- */

static void add_callee(void *arg, LLVMValueRef function)
{
	struct call *c = arg;

	c->callees = realloc(c->callees, (c->callee_count + 1) * sizeof *c->callees);
	if (!c->callees)
		compiler_die("out of memory");
	c->callees[c->callee_count++] = program_function(function);
}

static bool is_marker(LLVMValueRef call)
{
	LLVMValueRef callee = LLVMGetCalledValue(call);

	return LLVMIsAFunction(callee) && LLVMGetIntrinsicID(callee);
}

static void add_call(LLVMValueRef inst, uint32_t block)
{
	struct call *c = &program.calls[program.call_count++];
	LLVMValueRef callee = LLVMGetCalledValue(inst);

	*c = (struct call){ .inst = inst, .block = block };
	*map_enter(&program.call_map, (uintptr_t)inst) = program.call_count;
	program.blocks[block].call_count++;
	c->outside = objects_callees(inst, add_callee, c);
	if (LLVMIsAInlineAsm(callee)) {
		c->outside = true;
		c->kind = external_asm_leaves(callee) ? EXTERNAL_UNKNOWN : EXTERNAL_HARMLESS;
	} else if (LLVMIsAFunction(callee) && LLVMIsDeclaration(callee))
		c->kind = external_kind(callee);
	const struct bits *set = LLVMIsAFunction(callee) || LLVMIsAInlineAsm(callee) ? NULL : objects_of(callee);
	if (set)
		BITS_EACH(set, place)
		{
			const struct object *o = solve_object_at(solve_place((uint32_t)place)->object);
			c->frees |= o->kind == OBJECT_FUNCTION && LLVMIsDeclaration(o->value) &&
				    (external_kind(o->value) == EXTERNAL_FREES ||
				     external_kind(o->value) == EXTERNAL_REALLOCATES);
		}
	if (c->kind == EXTERNAL_SORTS && LLVMGetNumArgOperands(inst))
		objects_functions(LLVMGetOperand(inst, LLVMGetNumArgOperands(inst) - 1), add_callee, c);
}

static void count_all(size_t *functions, size_t *blocks, size_t *calls)
{
	for (LLVMValueRef f = LLVMGetFirstFunction(program.m->module); f; f = LLVMGetNextFunction(f)) {
		*functions += !LLVMIsDeclaration(f);
		for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b)) {
			++*blocks;
			for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
				*calls += is_call(i);
		}
	}
}

static void add_blocks(struct function *f)
{
	f->first_block = program.block_count;
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f->ref); b; b = LLVMGetNextBasicBlock(b)) {
		program.blocks[program.block_count++] =
			(struct block){ .ref = b, .function = (uint32_t)(f - program.functions) };
		*map_enter(&program.block_map, (uintptr_t)b) = program.block_count;
		f->block_count++;
	}
}

static void fill_block(uint32_t n)
{
	struct block *b = &program.blocks[n];
	LLVMValueRef end = LLVMGetBasicBlockTerminator(b->ref);

	b->next_count = LLVMGetNumSuccessors(end);
	b->next = table(b->next_count, sizeof *b->next);
	for (unsigned i = 0; i < b->next_count; i++)
		b->next[i] = map_find(&program.block_map, LLVMGetSuccessor(end, i)) - 1;
	b->first_call = program.call_count;
	for (LLVMValueRef i = LLVMGetFirstInstruction(b->ref); i; i = LLVMGetNextInstruction(i))
		if (is_call(i) && !is_marker(i))
			add_call(i, n);
}

/* Functions that code outside knows: exported, or their address was given away. */
static void mark_given(void)
{
	for (uint32_t o = 0; o < solve_object_count(); o++) {
		struct object *object = solve_object_at(o);
		uint32_t f = object->kind == OBJECT_FUNCTION ? program_function(object->value) : UINT32_MAX;
		if (f != UINT32_MAX)
			program.functions[f].given |= object->given;
	}
}

void program_begin(struct module *m, LLVMValueRef main_function)
{
	size_t functions = 0, blocks = 0, calls = 0;

	program = (struct program){ .m = m, .main_function = main_function };
	count_all(&functions, &blocks, &calls);
	program.functions = table(functions, sizeof *program.functions);
	program.blocks = table(blocks, sizeof *program.blocks);
	program.calls = table(calls, sizeof *program.calls);
	for (LLVMValueRef f = LLVMGetFirstFunction(m->module); f; f = LLVMGetNextFunction(f))
		if (!LLVMIsDeclaration(f)) {
			program.functions[program.function_count++] = (struct function){ .ref = f };
			*map_enter(&program.function_map, (uintptr_t)f) = program.function_count;
		}
	for (uint32_t i = 0; i < program.function_count; i++)
		add_blocks(&program.functions[i]);
	for (uint32_t i = 0; i < program.block_count; i++)
		fill_block(i);
	mark_given();
}

void program_end(void)
{
	for (uint32_t i = 0; i < program.block_count; i++)
		free(program.blocks[i].next);
	for (uint32_t i = 0; i < program.call_count; i++)
		free(program.calls[i].callees);
	free(program.functions);
	free(program.blocks);
	free(program.calls);
	map_free(&program.function_map);
	map_free(&program.block_map);
	map_free(&program.call_map);
}

/* ---- once -------------------------------------------------------------------------------------------------------- */

/* Can a block be reached from itself? */
static bool in_cycle(uint32_t start)
{
	const struct function *f = &program.functions[program.blocks[start].function];
	bool *seen = table(f->block_count, sizeof *seen);
	uint32_t *list = table(f->block_count, sizeof *list), count = 0;
	bool found = false;

	list[count++] = start;
	for (uint32_t i = 0; i < count && !found; i++) {
		const struct block *b = &program.blocks[list[i]];
		for (uint32_t n = 0; n < b->next_count; n++) {
			found |= b->next[n] == start;
			if (!seen[b->next[n] - f->first_block]) {
				seen[b->next[n] - f->first_block] = true;
				list[count++] = b->next[n];
			}
		}
	}
	free(seen);
	free(list);
	return found;
}

static const struct call *only_call(uint32_t function)
{
	const struct call *only = NULL;

	for (uint32_t i = 0; i < program.call_count; i++)
		for (uint32_t n = 0; n < program.calls[i].callee_count; n++)
			if (program.calls[i].callees[n] == function) {
				if (only)
					return NULL;
				only = &program.calls[i];
			}
	return only;
}

static bool function_is_once(uint32_t function, int depth)
{
	if (plugin_returns_twice(program.functions[function].ref) || program.functions[function].constructor)
		return false;
	if (program.functions[function].ref == program.main_function)
		return !LLVMGetFirstUse(program.main_function);
	if (program.functions[function].given || depth > 8 || program.functions[function].classes != BIT(CLASS_MAIN))
		return false;
	const struct call *only = only_call(function);
	return only && !in_cycle(only->block) && function_is_once(program.blocks[only->block].function, depth + 1);
}

bool program_calls_itself(const struct call *c)
{
	uint32_t function = program.blocks[c->block].function;
	bool itself = false;

	for (uint32_t i = 0; i < c->callee_count; i++)
		itself |= c->callees[i] == function;
	return itself && c->kind == EXTERNAL_UNKNOWN; /* it neither creates a thread nor hands on a function to call */
}

const struct call *program_only_call(LLVMValueRef function)
{
	uint32_t f = program_function(function);

	return f != UINT32_MAX && program.functions[f].ref != program.main_function && function_is_once(f, 0) ?
		       only_call(f) :
		       NULL;
}

bool program_is_once(LLVMValueRef inst)
{
	const struct block *b = program_block_of(inst);

	return !in_cycle((uint32_t)(b - program.blocks)) && function_is_once(b->function, 0);
}

bool program_function_is_once(uint32_t block)
{
	return function_is_once(program.blocks[block].function, 0);
}

uint32_t program_single_place(LLVMValueRef address)
{
	const struct bits *set = objects_of(address);

	if (!set || bits_count(set) != 1)
		return 0;
	uint32_t place = set->words[0].at * 64 + (uint32_t)__builtin_ctzll(set->words[0].bits);
	const struct place *p = solve_place(place);
	const struct object *o = solve_object_at(p->object);
	bool once = o->kind == OBJECT_GLOBAL ||
		    ((o->kind == OBJECT_STACK || o->kind == OBJECT_HEAP) && program_is_once(o->value));
	return p->stride || o->given || !once ? 0 : place;
}

bool program_may_be(LLVMValueRef address, uint32_t place)
{
	const struct bits *set = objects_of(address);

	if (!set)
		return true;
	BITS_EACH(set, at)
	{
		if (solve_place((uint32_t)at)->object == solve_place(place)->object &&
		    solve_overlap((uint32_t)at, 1, place, 1))
			return true;
	}
	return false;
}

bool program_comes_before(LLVMValueRef a, LLVMValueRef b)
{
	LLVMBasicBlockRef x = LLVMGetInstructionParent(a), y = LLVMGetInstructionParent(b);

	if (x != y)
		return plugin_dominates(x, y);
	for (LLVMValueRef i = a; i; i = LLVMGetNextInstruction(i))
		if (i == b)
			return true;
	return false;
}
