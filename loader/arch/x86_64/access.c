/*
 * x86-64: the stub of an instruction that accesses memory, and what leads there.
 *
 * A branch has five bytes, most such instructions fewer. The branch then takes the place of its neighbours, too, which
 * run in the stub before it and after it; among them may be others with a stub of their own, which that leads to.
 * Nobody may jump between the replaced ones, so all code of the object is looked at first (stub_look()): where a
 * branch, or a table of branches, leads is a target. A call leaves the program's return address behind, which is then
 * where the replaced ones end. Where no five bytes are found, a byte that traps leads there (patch_trapped()).
 *
 * A debugger's breakpoint is a byte, too: at a function, behind its prologue, or where a call returns. So what a
 * debugger takes for a prologue is not replaced together with what follows.
 *
 * Targets that are not seen in the code: functions that begin there, which .eh_frame tells; landing pads of exceptions,
 * which no instruction falls into, so that no branch can cover one together with what is before it.
 */
#include "loader/arch/arch.h"
#include "loader/arch/x86_64/decode.h"
#include "loader/patch.h"
#include "runtime/atomics/atomics.h"
#include "runtime/runtime.h"

/*
 *  0  mov %rcx, %gs:8          the program's, into its struct regs
 *  9  lea data(%rip), %rcx
 * 16  jmp *(%rcx)
 * 24  data: .quad atomic_entry
 * 32  .quad site
 * 40  the replaced instructions behind it; jmp to what follows
 * 72  the instruction itself; jmp *%gs:running.back
 * 96  the replaced instructions before it; jmp 0
 */
enum { AT_DATA = 24, AT_RETURN = 40, AT_ITSELF = 72, AT_LANDING = 96, TRAP = 0xf4 /* hlt */ };
enum { CALL = 0xe8, IF = 0x70, IF_FAR = 0x80, LEA = 0x8d };

/* ---- where somebody may jump to ---------------------------------------------------------------- */

#define CODE_MOST (8ul << 20) /* bytes; of larger objects all is a target */

static uint8_t targets[CODE_MOST / 8];
static uint64_t code_from, code_to;
static bool code_fixed;

static bool is_target(uint64_t at)
{
	uint64_t n = at - code_from;
	return at < code_from || at >= code_to || n >= CODE_MOST || targets[n / 8] >> n % 8 & 1;
}

static void add_target(uint64_t at)
{
	uint64_t n = at - code_from;
	if (at >= code_from && at < code_to && n < CODE_MOST)
		targets[n / 8] |= (uint8_t)(1 << n % 8);
}

bool stub_look_begin(uint64_t from, uint64_t to, bool fixed)
{
	code_from = from;
	code_to = to;
	code_fixed = fixed;
	memset(targets, 0, MIN((to - from) / 8 + 1, sizeof targets));
	return true;
}

void stub_look_at_address(uint64_t address)
{
	add_target(address);
}

/* Where a branch with a distance leads, conditional or not, a call too; 0: it is none. */
static uint64_t leads_to(const uint8_t *code, const struct instruction *i)
{
	int32_t far;
	bool near = i->map == MAP_ONE &&
		    (i->opcode == JUMP_SHORT || i->opcode >> 4 == IF >> 4 || (i->opcode & 0xfc) == 0xe0);
	bool long_way = i->map == MAP_ONE ? i->opcode == JUMP || i->opcode == CALL :
					    i->map == MAP_0F && !i->vex && !i->evex && i->opcode >> 4 == IF_FAR >> 4;
	uint64_t next = (uint64_t)code + i->length;
	if (near)
		return next + (uint64_t)(int64_t)(int8_t)code[i->length - 1];
	memcpy(&far, code + i->length - 4, 4);
	return long_way ? next + (uint64_t)(int64_t)far : 0;
}

/* What an address that the code computes may be: of code, or of a table of distances from itself to code. Constants may
   lie between the code; what is wrongly taken for a table adds some targets. Is it one with a way to [from, to)? */
static bool look_at_address(uint64_t at, uint64_t from, uint64_t to)
{
	int32_t distance;
	bool any = false;
	add_target(at);
	for (uint64_t n = 0; !user_copy(&distance, (void *)(at + n), 4) && distance; n += 4) {
		uint64_t target = at + (uint64_t)(int64_t)distance;
		if (target < code_from || target >= code_to)
			break;
		add_target(target);
		any |= target >= from && target < to;
	}
	return any;
}

/* May it jump to an address of a table in its own function: by an index, or by a register to which a distance was
   added? Tables of whole addresses are known from the linker's list of these, where there is one. */
static bool is_by_table(const uint8_t *code, const struct instruction *i, bool added)
{
	if (i->map != MAP_ONE || i->opcode != 0xff || OPERAND_REGISTER(code[i->operand_at]) != 4)
		return false;
	return has_memory(code, i) ? is_indexed(code, i) : added || code_fixed;
}

static bool is_nop(const struct instruction *i)
{
	return (i->map == MAP_0F && i->opcode == 0x1f) || (i->map == MAP_ONE && i->opcode == 0x90);
}

static bool falls_through(const struct instruction *i)
{
	return !(i->map == MAP_ONE &&
		 (i->opcode == JUMP || i->opcode == JUMP_SHORT || i->opcode == 0xc2 || i->opcode == 0xc3)) &&
	       !(i->map == MAP_0F && i->opcode == 0x0b);
}

/* endbr64; push %rbp; mov %rsp, %rbp: gdb skips these three. */
static bool is_prologue(const uint8_t *code, const struct instruction *i)
{
	static const uint8_t bytes[][5] = { { 4, 0xf3, 0x0f, 0x1e, 0xfa }, { 1, 0x55 }, { 3, 0x48, 0x89, 0xe5 } };
	for (unsigned n = 0; n < COUNT(bytes); n++)
		if (i->length == bytes[n][0] && !memcmp(code, bytes[n] + 1, i->length))
			return true;
	return false;
}

void stub_look(uint64_t from, uint64_t to)
{
	struct instruction i;
	bool goes_anywhere = false, has_table = false, added = false, prologue = true, falls_in = false;
	const uint8_t *code = (const uint8_t *)from;
	add_target(from);
	for (; decode(code, to - (uint64_t)code, &i); code += i.length) {
		/* what nothing falls into is jumped to, perhaps behind some padding */
		if (!falls_in)
			add_target((uint64_t)code);
		falls_in = falls_through(&i) && (falls_in || !is_nop(&i));
		prologue &= is_prologue(code, &i);
		if (prologue)
			add_target((uint64_t)code + i.length);
		if (leads_to(code, &i))
			add_target(leads_to(code, &i));
		if (i.map == MAP_ONE && i.opcode == LEA && is_pc_relative(code, &i)) {
			int32_t distance;
			memcpy(&distance, code + i.displacement_at, 4);
			has_table |= look_at_address((uint64_t)code + i.length + (uint64_t)(int64_t)distance, from, to);
		}
		goes_anywhere |= is_by_table(code, &i, added);
		added = i.map == MAP_ONE && (i.opcode == 0x01 || i.opcode == 0x03);
	}
	/* where it leads is not known, or what there is: better no branch in place of several instructions */
	bool all = (uint64_t)code < to || (goes_anywhere && (code_fixed || !has_table));
	for (uint64_t at = from; all && at < to; at++)
		add_target(at);
}

/* ---- instructions elsewhere -------------------------------------------------------------------- */

static bool is_call(const struct instruction *i)
{
	return i->map == MAP_ONE && i->opcode == CALL;
}

/* May it run in a stub? Not so what traps there. */
static bool may_move(const uint8_t *code, const struct instruction *i)
{
	uint8_t operation = i->operand_at ? OPERAND_REGISTER(code[i->operand_at]) : 0;
	if (i->address32 || (i->map == MAP_ONE && i->opcode == JUMP && i->rex)) /* that is a patch of a system call */
		return false;
	if (i->map == MAP_0F && !i->vex && !i->evex)
		return i->opcode > 0x0f && i->opcode != 0x31 && i->opcode != 0xa2 && i->opcode != 0xff;
	switch (i->map == MAP_ONE ? i->opcode : 0) {
	case 0xcc ... 0xcf: /* interrupts */
	case 0xe0 ... 0xe7: /* loops, ports */
	case 0xec ... 0xef:
	case 0xf1:
	case 0xf4: return false;
	case 0xc6:
	case 0xc7: return operation == 0; /* or a transaction */
	case 0xf6:
	case 0xf7: return operation < 6;		   /* or a division */
	case 0xff: return operation < 2 || operation == 6; /* or a call, or a jump */
	}
	return true;
}

enum { CALL_SIZE = 20 + JUMP_SIZE };
/* As the call of `target` that returns to `back`, without a change of the flags. */
static unsigned put_call(uint8_t *to, uint64_t target, uint64_t back)
{
	uint8_t bytes[] = { 0x48, 0x8d, 0x64, 0x24, 0xf8,	     /* lea -8(%rsp), %rsp */
			    0xc7, 0x04, 0x24, 0,    0,	  0, 0,	     /* movl $, (%rsp) */
			    0xc7, 0x44, 0x24, 0x04, 0,	  0, 0, 0 }; /* movl $, 4(%rsp) */
	_Static_assert(sizeof bytes + JUMP_SIZE == CALL_SIZE, "moved_size() knows it");
	memcpy(bytes + 8, &back, 4);
	memcpy(bytes + 16, (uint8_t *)&back + 4, 4);
	memcpy(to, bytes, sizeof bytes);
	return sizeof bytes + put_jump(to + sizeof bytes, (uint64_t)to + sizeof bytes, target);
}

/* At most so many bytes. */
static unsigned moved_size(const struct instruction *i)
{
	return is_call(i) ? CALL_SIZE : MAX(i->length, 1 + JUMP_SIZE);
}

/* Returns its bytes there. */
static unsigned put_moved(uint8_t *to, const uint8_t *code, const struct instruction *i)
{
	uint64_t target = leads_to(code, i);
	int32_t distance;
	if (is_call(i))
		return put_call(to, target, (uint64_t)code + i->length);
	if (target) {
		bool always = i->map == MAP_ONE && (i->opcode == JUMP || i->opcode == JUMP_SHORT);
		unsigned n = always ? 0 : 1;
		put_jump(to + n, (uint64_t)to + n, target);
		if (!always) {
			to[0] = 0x0f;
			to[1] = IF_FAR | (i->opcode & 15);
		}
		return n + JUMP_SIZE;
	}
	memcpy(to, code, i->length);
	if (is_pc_relative(to, i)) {
		memcpy(&distance, to + i->displacement_at, 4);
		distance += (int32_t)((uint64_t)code - (uint64_t)to);
		memcpy(to + i->displacement_at, &distance, 4);
	}
	return i->length;
}

/* ---- the stub ---------------------------------------------------------------------------------- */

void stub_write_atomic(uint8_t *at, uint64_t site)
{
	static const uint8_t way_in[18] = {
		0x65, 0x48, 0x89, 0x0c, 0x25, offsetof(struct regs, rcx), 0, 0, 0, 0x48, 0x8d, 0x0d, AT_DATA - 16,
		0,    0,    0,	  0xff, 0x21
	};
	static const uint8_t way_back[8] = { 0x65, 0xff, 0x24, 0x25, offsetof(struct thread, running.back) };
	_Static_assert(offsetof(struct thread, running.back) < 256, "way_back has a byte for it");
	struct instruction i;
	uint64_t entry = (uint64_t)atomic_entry;
	decode((const uint8_t *)site, INSTRUCTION_MOST, &i);
	memset(at, 0xcc, STUB_SIZE);
	memcpy(at, way_in, sizeof way_in);
	memcpy(at + AT_DATA, &entry, 8);
	memcpy(at + AT_DATA + 8, &site, 8);
	put_jump(at + AT_RETURN, (uint64_t)at + AT_RETURN, site + i.length);
	put_moved(at + AT_ITSELF, (const uint8_t *)site, &i);
	memcpy(at + AT_ITSELF + i.length, way_back, sizeof way_back);
}

const uint8_t *stub_atomic_instruction(uint64_t resume)
{
	return (const uint8_t *)(ALIGN_DOWN(resume, STUB_SIZE) + AT_ITSELF);
}

uint64_t stub_atomic_itself(uint64_t resume)
{
	return (uint64_t)stub_atomic_instruction(resume);
}

uint64_t stub_atomic_site(uint64_t pc)
{
	const uint64_t *data = (const uint64_t *)(ALIGN_DOWN(pc, STUB_SIZE) + AT_DATA);
	return data[0] == (uint64_t)atomic_entry && pc % STUB_SIZE == AT_ITSELF ? data[1] : pc;
}

uint64_t stub_atomic_behind(uint64_t stub, uint64_t pc)
{
	uint64_t itself = stub + AT_ITSELF, site = stub_atomic_site(itself);
	bool behind = site != itself && pc == site + instruction_length((const uint8_t *)itself, INSTRUCTION_LOOK);
	return behind ? stub + AT_RETURN : 0;
}

/* ---- the branch to it -------------------------------------------------------------------------- */

/* Instructions that can be replaced together with the one at `site`, from `from` on, to before `to`. Returns where they
   end, or 0. */
static uint64_t extent(uint64_t from, uint64_t site, uint64_t to)
{
	struct instruction i = { 0 };
	uint64_t at = from;
	while (at <= site || at < from + JUMP_SIZE) {
		bool goes_on = at == from || (falls_through(&i) && !is_call(&i) && !is_target(at));
		if (!goes_on || !decode((const uint8_t *)at, to - at, &i) ||
		    !(patch_trapped(at) || may_move((const uint8_t *)at, &i)))
			return 0;
		if (i.locked && is_target(at + 1)) /* who is alone may do without the prefix */
			return 0;
		at += i.length;
	}
	return at;
}

/* The last jump from a stub back to the code. */
static struct {
	uint8_t *jump;
	uint64_t to;
} way_out;

/* The instructions from `at` up to `end` behind one another in the stub, and a jump to `end`; or, before that, to the
   stub of one that accesses memory. False: they do not fit. */
static bool put_until(uint8_t *stub, unsigned n, unsigned room, uint64_t at, uint64_t end, uint64_t jump)
{
	struct instruction i;
	for (room += n; at < end; at += i.length) {
		uint64_t other = patch_trapped(at);
		if (other) {
			jump = other;
			break;
		}
		decode((const uint8_t *)at, end - at, &i);
		if (n + moved_size(&i) + JUMP_SIZE > room)
			return false;
		n += put_moved(stub + n, (const uint8_t *)at, &i);
	}
	put_jump(stub + n, (uint64_t)stub + n, jump);
	if (jump == end) {
		way_out.jump = stub + n;
		way_out.to = end;
	}
	return true;
}

static bool put_group(uint8_t *stub, uint64_t from, uint64_t site, uint64_t end)
{
	for (uint64_t at = site, next; at < end; at = next) {
		uint64_t here = patch_trapped(at);
		next = at + instruction_length((const uint8_t *)at, end - at);
		if (here && !put_until((uint8_t *)here, AT_RETURN, AT_ITSELF - AT_RETURN, next, end, end))
			return false;
	}
	return from == site || put_until(stub, AT_LANDING, STUB_SIZE - AT_LANDING, from, site, (uint64_t)stub);
}

struct lead stub_lead(uint8_t *stub, uint64_t site, uint64_t from, uint64_t to)
{
	enum { BEFORE = 3 }; /* instructions that are looked at */
	uint64_t starts[BEFORE + 1] = { site }, at = from;
	unsigned count = 1;
	while (at < site) {
		memmove(starts + 2, starts + 1, (BEFORE - 1) * sizeof *starts);
		starts[1] = at;
		count = MIN(count + 1, BEFORE + 1);
		at += instruction_length((const uint8_t *)at, to - at);
	}
	for (unsigned n = 0; n < count; n++) {
		uint64_t end = extent(starts[n], site, to);
		if (!end || !put_group(stub, starts[n], site, end))
			continue;
		struct lead lead = { .from = starts[n], .to = end, .size = JUMP_SIZE };
		put_jump(lead.bytes, starts[n], (uint64_t)stub + (n ? AT_LANDING : 0));
		return lead;
	}
	/* who comes from the stub before it need not trap */
	if (way_out.to == site && !is_target(site))
		put_jump(way_out.jump, (uint64_t)way_out.jump, (uint64_t)stub);
	uint64_t after = site + instruction_length((const uint8_t *)site, to - site);
	put_until(stub, AT_RETURN, AT_ITSELF - AT_RETURN, after, after, after);
	return (struct lead){ .from = site, .to = after, .size = 1, .bytes = { TRAP } };
}
