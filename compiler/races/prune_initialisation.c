/*
 * Possible initialisation (RacX, 4.2): one access without a lock against others that all hold the same one. That lock
 * is put around the one, and recorded as any other; then none of them needs a hook.
 *
 * A program that runs today must not come to stand still. So the lock is put only where
 *   (1) surely no lock is held;
 *   (2) the lock is one mutex, made by its initialiser, and everybody takes it with pthread_mutex_lock and waits for
 *       it: nobody tries;
 *   (3) whoever holds it waits for nobody: he takes no other lock, waits for nothing, makes no call that is not known
 *       to be short, and goes round no loop but short ones. Whoever waits for it then gets it, whatever others do;
 *   (4) nothing can come between taking and releasing it: no signal handler, no fork, no jump out of functions, no
 *       cancelling at any time.
 * And only where it pays: outside of loops, and against two other accesses at least.
 */
#include <stdlib.h>
#include <string.h>
#include <llvm-c/DebugInfo.h>
#include "compiler/races/races.h"

static uint64_t *common; /* of each party: locks that all hold with which it may race */
static uint32_t *the_one;
static uint8_t *put;	     /* of each party: 1 + the lock that is put around it */
static uint8_t suitable[64]; /* locks: 1 yes, 2 no */
enum { SEVERAL = UINT32_MAX };

/* ---- may a lock be put? ------------------------------------------------------------------------------------------ */

static bool is_alone_in_functions(void)
{
	static const char *const spoil[] = { "fork",
					     "vfork",
					     "daemon",
					     "forkpty",
					     "_Fork",
					     "clone",
					     "signal",
					     "sigaction",
					     "sigset",
					     "bsd_signal",
					     "sysv_signal",
					     "__sysv_signal",
					     "pthread_cancel",
					     "pthread_setcanceltype",
					     "syscall",
					     "pthread_atfork",
					     "pthread_mutexattr_settype" };

	for (size_t i = 0; i < sizeof spoil / sizeof *spoil; i++)
		if (LLVMGetNamedFunction(program.m->module, spoil[i]))
			return false;
	for (uint32_t i = 0; i < program.call_count; i++)
		if (external_returns_twice(program.calls[i].inst))
			return false;
	return true;
}

static LLVMValueRef variable_of(unsigned lock)
{
	const struct object *o = solve_object_at(solve_place(locksets_place(lock))->object);

	return o->kind == OBJECT_GLOBAL && LLVMGetInitializer(o->value) && !LLVMIsThreadLocal(o->value) ? o->value :
													  NULL;
}

/* Only pthread_mutex_lock and unlock, of this lock and no other, by functions that code outside does not call. */
static bool is_plain_use(const struct call *c, unsigned lock)
{
	const char *name = external_name(LLVMGetCalledValue(c->inst));

	if (!strncmp(name, "pthread_cond", 12) || !(locksets_may_be(LLVMGetOperand(c->inst, 0)) & BIT(lock)))
		return true;
	return (!strcmp(name, "pthread_mutex_lock") || !strcmp(name, "pthread_mutex_unlock")) &&
	       locksets_bit(LLVMGetOperand(c->inst, 0)) == BIT(lock) &&
	       !(program.functions[program.blocks[c->block].function].classes & BIT(CLASS_OUTSIDE));
}

static bool find_suits(unsigned lock)
{
	if (!variable_of(lock))
		return false;
	for (uint32_t i = 0; i < program.call_count; i++)
		if (program.calls[i].kind == EXTERNAL_LOCK && LLVMGetNumArgOperands(program.calls[i].inst) &&
		    !is_plain_use(&program.calls[i], lock))
			return false;
	return !may_hold_waits(lock);
}

static bool suits(unsigned lock)
{
	if (!suitable[lock])
		suitable[lock] = find_suits(lock) ? 1 : 2;
	return suitable[lock] == 1;
}

/* ---- where? ------------------------------------------------------------------------------------------------------ */

static bool is_simple(const struct party *p)
{
	struct plugin_loop l;

	return p->access != UINT32_MAX && !p->atomic && !p->unknown && !p->held.reading &&
	       !(p->classes & BIT(CLASS_OUTSIDE)) && (LLVMIsALoadInst(p->inst) || LLVMIsAStoreInst(p->inst)) &&
	       !plugin_loop(LLVMGetInstructionParent(p->inst), 0, &l) && !may_hold_any(p->inst);
}

static void find_common(void)
{
	for (size_t i = 0; i < warnings.party_count; i++)
		common[i] = UINT64_MAX;
	for (size_t i = 0; i < warnings.pair_count; i++) {
		const struct pair *p = &warnings.pairs[i];
		if (p->step || p->a == p->b)
			continue;
		common[p->a] &= warnings.parties[p->b].held.reading;
		common[p->b] &= warnings.parties[p->a].held.reading;
	}
}

/* Of each object: 1 + the only party in a pair that has no lock; SEVERAL. */
static void note_unlocked(uint32_t object, uint32_t party)
{
	if (!warnings.parties[party].held.reading)
		the_one[object] = !the_one[object] || the_one[object] == party + 1 ? party + 1 : SEVERAL;
}

static void find_the_ones(void)
{
	for (size_t i = 0; i < warnings.pair_count; i++) {
		const struct pair *p = &warnings.pairs[i];
		if (p->step)
			continue;
		note_unlocked(p->object, p->a);
		note_unlocked(p->object, p->b);
	}
}

/* Is it the only one of its objects that has no lock, against two at least that have? */
static bool is_the_one(uint32_t party)
{
	unsigned others = 0;

	for (size_t i = 0; i < warnings.pair_count; i++) {
		const struct pair *p = &warnings.pairs[i];
		if (p->step || (p->a != party && p->b != party))
			continue;
		others += p->a != p->b;
		if (the_one[p->object] != party + 1)
			return false;
	}
	return others > 1;
}

static void choose(uint32_t party)
{
	if (!warnings.parties[party].pairs || common[party] == UINT64_MAX || !common[party] ||
	    !is_simple(&warnings.parties[party]) || !is_the_one(party))
		return;
	for (unsigned lock = 0; lock < 64 && !put[party]; lock++)
		if (common[party] & BIT(lock) && suits(lock))
			put[party] = (uint8_t)(lock + 1);
}

static void begin(void)
{
	common = calloc(warnings.party_count + 1, sizeof *common);
	put = calloc(warnings.party_count + 1, sizeof *put);
	the_one = calloc(solve_object_count() + 1, sizeof *the_one);
	if (!common || !put || !the_one)
		compiler_die("out of memory");
	memset(suitable, 0, sizeof suitable);
	if (!races_uses("initialisation") || !is_alone_in_functions())
		return;
	may_hold_begin();
	find_common();
	find_the_ones();
	for (uint32_t i = 0; i < warnings.party_count; i++)
		choose(i);
	may_hold_end();
}

static bool removes(const struct party *a, const struct party *b, uint32_t object)
{
	const uint8_t x = put[a - warnings.parties], y = put[b - warnings.parties];

	(void)object;
	return (x && (a == b || b->held.reading & BIT(x - 1))) || (y && a->held.reading & BIT(y - 1));
}

/* ---- putting it there -------------------------------------------------------------------------------------------- */

static void call_before(LLVMValueRef inst, const char *name, LLVMValueRef lock, LLVMMetadataRef line)
{
	LLVMContextRef context = LLVMGetModuleContext(program.m->module);
	LLVMValueRef function = LLVMGetNamedFunction(program.m->module, name);
	LLVMBuilderRef build = LLVMCreateBuilderInContext(context);

	LLVMPositionBuilderBefore(build, inst);
	LLVMSetCurrentDebugLocation2(build, line);
	LLVMBuildCall2(build, LLVMGlobalGetValueType(function), function, &lock, 1, "");
	LLVMDisposeBuilder(build);
}

static void put_lock(LLVMValueRef inst, unsigned lock)
{
	LLVMTypeRef byte = LLVMInt8TypeInContext(LLVMGetModuleContext(program.m->module));
	LLVMValueRef offset = LLVMConstInt(LLVMInt64TypeInContext(LLVMGetModuleContext(program.m->module)),
					   (uint64_t)solve_place(locksets_place(lock))->offset, false);
	LLVMValueRef address = LLVMConstInBoundsGEP2(byte, variable_of(lock), &offset, 1);

	call_before(LLVMGetNextInstruction(inst), "pthread_mutex_unlock", address, LLVMInstructionGetDebugLoc(inst));
	call_before(inst, "pthread_mutex_lock", address, LLVMInstructionGetDebugLoc(inst));
}

static void end(void)
{
	for (size_t i = 0; i < warnings.party_count; i++)
		if (put[i])
			put_lock(warnings.parties[i].inst, put[i] - 1u);
	free(common);
	free(the_one);
	free(put);
}

const struct step step_initialisation = {
	"possible initialisation",
	"initialisation",
	"possible initialisation: a lock is put around the one access without it (against %s)",
	begin,
	removes,
	end
};
