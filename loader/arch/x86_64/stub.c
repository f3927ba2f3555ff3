/*
 * x86-64: the stub of a system call site, and the jump that leads there.
 *
 * `syscall` has two bytes, a jump that reaches a stub has five. Two ways:
 *
 * after   The instruction behind the call has at least four bytes and works
 *         anywhere (mostly cmp $-4095, %rax): the jump replaces both, and the
 *         stub runs that instruction on the way back. Other code may well jump to
 *         the replaced instruction, as glibc does in four places, and handlers
 *         return there. So the jump gets a prefix byte, which puts the lowest byte
 *         of its distance at that address, and leads to the place in the stub for
 *         which that byte is no instruction: who comes there raises SIGILL, and
 *         patch_continue() sends it to the stub.
 * before  `mov $number, %eax` stands shortly before the call: the jump replaces
 *         that, and the call stays. Who jumps to the call itself traps again.
 *
 * So each way is right no matter who jumps where (and when: write_among_others()
 * in patch.c), but a breakpoint of a debugger's at the instruction after the call would
 * be written into the jump: there only the second way is taken. Sites that allow neither keep
 * trapping (in glibc 2.36: 6 of 526). The pc that a handler sees is that of a native run, in all cases.
 */
#include "loader/arch/arch.h"
#include "loader/arch/x86_64/decode.h"
#include "runtime/base/base.h"
#include "runtime/runtime.h"
#include <asm/prctl.h>
#include <linux/uio.h>

_Static_assert(offsetof(struct thread, regs) == 0 && offsetof(struct regs, rdi) == 56 &&
		       offsetof(struct regs, r15) == 120 && offsetof(struct regs, sp) == 128 &&
		       offsetof(struct regs, pc) == 136 && offsetof(struct regs, flags) == 144 &&
		       offsetof(struct thread, stack) == 152 && offsetof(struct thread, resume) == 160 &&
		       offsetof(struct thread, front) == 176 && offsetof(struct thread, running) == 184,
	       "entry.S knows these");
_Static_assert(MAP_RUNTIME_STACKS % MAP_RUNTIME_STACK_ROOM == 0 && MAP_RUNTIME_STACK_ROOM == 0x100000 &&
		       THREAD_STRUCT_AT == 0xc0000,
	       "entry.S knows these, too");

const uint64_t stub_reach = 0x7f000000; /* a jump reaches 2 GiB */

/*
 *  0  lea data(%rip), %rcx
 *  7  jmp *(%rcx)
 *  9  a mark: no patch is tried again
 * 16  data: .quad syscall_entry
 * 24  .quad site
 * 32  the replaced instruction, if any; jmp to what follows it
 * 64  where the site's jump leads: jmp 0 at some place, or mov $number, %eax ...; jmp 0
 */
enum {
	AT_MARK = 9,
	AT_DATA = 16,
	AT_TAIL = 32,
	AT_LANDING = 64,
	PREFIX = 0x48, /* means nothing to a jump */
	BETWEEN = 24,  /* bytes between the mov and the call that are looked at */
	GIVEN_UP = 1,
	NUMBER_OF_RT_SIGRETURN = 15,
};

/*
 * Reads code near a site. This runs in a signal handler, where a fault would
 * end the process: so the kernel reads, and says what is not there. Returns the
 * number of bytes from the beginning of the range.
 */
static unsigned read_code(uint8_t *to, uint64_t from, unsigned n, uint64_t site)
{
	struct iovec local = { to, n }, remote = { (void *)from, n };
	long r = SYS6(__NR_process_vm_readv, SYS0(__NR_gettid), &local, 1, &remote, 1, 0);
	if (r == -ENOSYS || r == -EPERM) {
		/* what lies in the page of the site can be read, since it has just run */
		uint64_t page = ALIGN_DOWN(site, 4096);
		r = from >= page && from + n <= page + 4096 && !user_copy(to, (void *)from, n) ? n : 0;
	}
	return r > 0 ? (unsigned)r : 0;
}

static void put_tail(uint8_t *stub, uint64_t site, const uint8_t *insn, unsigned n)
{
	if (n)
		memcpy(stub + AT_TAIL, insn, n);
	put_jump(stub + AT_TAIL + n, (uint64_t)stub + AT_TAIL + n, site + SYSCALL_SIZE + n);
}

bool stub_is_site(uint64_t address)
{
	uint8_t there[2];
	return read_code(there, address, 2, address) == 2 && there[0] == 0x0f && there[1] == 0x05;
}

void stub_write(uint8_t *at, uint64_t site)
{
	static const uint8_t way_in[9] = { 0x48, 0x8d, 0x0d, AT_DATA - 7, 0, 0, 0, 0xff, 0x21 };
	if (!stub_is_site(site))
		cannot("the program makes a 32-bit system call at %x, which cannot be recorded", site);
	memset(at, 0xcc, STUB_SIZE);
	memcpy(at, way_in, sizeof way_in);
	uint64_t entry = (uint64_t)syscall_entry;
	memcpy(at + AT_DATA, &entry, 8);
	memcpy(at + AT_DATA + 8, &site, 8);
	put_tail(at, site, 0, 0);
}

/* ---- instructions that may run elsewhere ------------------------------------------ */

/* Is its memory on the stack: by rsp or rbp, without an index? */
static bool is_on_stack(const uint8_t *p, const struct instruction *i)
{
	const uint8_t *operand = p + i->operand_at;
	unsigned base = OPERAND_BASE(operand[OPERAND_BASE(operand[0]) == BASE_INDEXED]);
	bool none = OPERAND_MODE(operand[0]) == 0 && base == BASE_NONE;
	return (base == 4 || base == 5) && !(i->rex & 1) && !is_indexed(p, i) && !none;
}

/* Does it the same anywhere, goes on to the next one, and faults at most for want of stack? */
static bool is_simple(const uint8_t *p, const struct instruction *i)
{
	bool touches = true;
	if (i->vex || i->evex || i->short16 || i->address32 || i->repeat || i->locked || i->segment)
		return false;
	switch (i->map << 8 | i->opcode) {
	case 0x50 ... 0x5f: /* push, pop */
	case 0x90:	    /* nop */
	case 0x98:
	case 0x99:	    /* cdqe, cqo */
	case 0xb0 ... 0xbf: /* mov $, register */
	case 0x05:
	case 0x0d:
	case 0x24:
	case 0x25:
	case 0x2d:
	case 0x35:
	case 0x3c:
	case 0x3d:
	case 0xa8:
	case 0xa9: return true; /* arithmetic $, %eax or %al */
	case 0x8d:
	case 0x11f: touches = false; break; /* lea, nop */
	case 0x00 ... 0x03:
	case 0x08 ... 0x0b:
	case 0x20 ... 0x23:
	case 0x28 ... 0x2b:
	case 0x30 ... 0x33:
	case 0x38 ... 0x3b: /* arithmetic */
	case 0x63:	    /* movslq */
	case 0x69:
	case 0x6b: /* imul */
	case 0x80:
	case 0x81:
	case 0x83:	    /* arithmetic $ */
	case 0x84 ... 0x85: /* test */
	case 0x88 ... 0x8b: /* mov */
	case 0xc0:
	case 0xc1:
	case 0xd1:
	case 0xd3:	      /* shifts */
	case 0x140 ... 0x14f: /* cmov */
	case 0x190 ... 0x19f: /* set */
	case 0x1af:	      /* imul */
	case 0x1b6:
	case 0x1b7:
	case 0x1be:
	case 0x1bf: break; /* movzx, movsx */
	case 0xc6:
	case 0xc7:
		if (OPERAND_REGISTER(p[i->operand_at]))
			return false;
		break; /* mov $ */
	default: return false;
	}
	return !has_memory(p, i) || (!is_pc_relative(p, i) && (!touches || is_on_stack(p, i)));
}

/* Its length, or 0 if it is not simple. p holds at least INSTRUCTION_MOST bytes. */
static unsigned simple_length(const uint8_t *p)
{
	struct instruction i;
	return decode(p, INSTRUCTION_MOST, &i) && is_simple(p, &i) ? i.length : 0;
}

/* ---- after --------------------------------------------------------------------------- */

/* Bytes that are no instruction in 64-bit mode, whatever follows. */
static bool faults(uint8_t byte)
{
	switch (byte) {
	case 0x06 ... 0x07:
	case 0x0e:
	case 0x16 ... 0x17:
	case 0x1e ... 0x1f:
	case 0x27:
	case 0x2f:
	case 0x37:
	case 0x3f:
	case 0x60 ... 0x61:
	case 0x82:
	case 0x9a:
	case 0xce:
	case 0xd4:
	case 0xd6:
	case 0xea: return true;
	}
	return false;
}

static unsigned patch_after(uint8_t *stub, uint64_t site, const uint8_t *code, uint8_t *bytes)
{
	unsigned n = simple_length(code + SYSCALL_SIZE);
	if (n < 4)
		return 0;
	/* no gap between such bytes is wider than 52: a place is always found */
	for (unsigned at = AT_LANDING; at + 2 <= STUB_SIZE; at++) {
		put_jump(bytes + 1, site + 1, (uint64_t)stub + at);
		if (!faults(bytes[2]))
			continue;
		bytes[0] = PREFIX;
		stub[at] = JUMP_SHORT;
		stub[at + 1] = (uint8_t) - (at + 2);
		put_tail(stub, site, code + SYSCALL_SIZE, n);
		return 6;
	}
	return 0;
}

uint64_t stub_tail(const uint8_t *stub, uint64_t site)
{
	uint8_t there[6];
	int32_t distance;
	if (user_copy(there, (void *)site, sizeof there))
		return 0;
	memcpy(&distance, there + 2, 4);
	uint64_t to = site + sizeof there + (uint64_t)(int64_t)distance;
	bool ours = there[0] == PREFIX && there[1] == JUMP && to - (uint64_t)stub < STUB_SIZE;
	return ours ? (uint64_t)stub + AT_TAIL : 0;
}

bool stub_is_jump(uint64_t pc)
{
	uint8_t there[2];
	return !user_copy(there, (void *)pc, sizeof there) &&
	       (there[0] == JUMP || (there[0] == PREFIX && there[1] == JUMP));
}

/* ---- before -------------------------------------------------------------------------- */

/* Does p[0], which looks like mov $, %eax, belong to an instruction that begins earlier? */
static bool may_be_inside(const uint8_t *p)
{
	/* prefixes make it another register or size; 0f makes it another operation */
	if ((p[-1] & 0xf0) == 0x40 || p[-1] == 0x66 || p[-1] == 0x0f)
		return true;
	/* operation $, -72(register), with and without an index byte */
	for (int i = 2; i <= 3; i++) {
		uint8_t op = p[-i], operand = p[1 - i];
		bool with_index = i == 3;
		if ((op == 0xc7 || op == 0x81 || op == 0x69 || op == 0xf7) && operand >> 6 == 1 &&
		    ((operand & 7) == 4) == with_index)
			return true;
	}
	return false;
}

/* Length of the mov of `nr` to rax at p, or 0. */
static unsigned number_length(const uint8_t *p, uint32_t nr)
{
	uint32_t immediate;
	if (p[0] == 0xb8 && !may_be_inside(p)) {
		memcpy(&immediate, p + 1, 4);
		return immediate == nr ? 5 : 0;
	}
	if (p[0] == 0x48 && p[1] == 0xc7 && p[2] == 0xc0) {
		memcpy(&immediate, p + 3, 4);
		return immediate == nr ? 7 : 0;
	}
	return 0;
}

/* Do simple instructions lead from p to `end`? */
static bool leads_to(const uint8_t *p, const uint8_t *end)
{
	while (p < end) {
		unsigned n = simple_length(p);
		if (!n)
			return false;
		p += n;
	}
	return p == end;
}

/* `code`: the bytes up to the call, with room to look beyond. */
static unsigned patch_before(uint8_t *stub, uint64_t site, uint32_t nr, const uint8_t *code, unsigned before,
			     uint8_t *bytes, uint64_t *where)
{
	for (unsigned d = 5; d <= 7 + BETWEEN && d + 3 <= before; d++) {
		const uint8_t *p = code + before - d;
		unsigned n = number_length(p, nr);
		if (!n || n > d || !leads_to(p + n, code + before))
			continue;
		memcpy(stub + AT_LANDING, p, d);
		stub[AT_LANDING + d] = JUMP_SHORT;
		stub[AT_LANDING + d + 1] = (uint8_t) - (AT_LANDING + d + 2);
		*where = site - d;
		return put_jump(bytes, *where, (uint64_t)stub + AT_LANDING);
	}
	return 0;
}
_Static_assert(AT_LANDING + 7 + BETWEEN + 2 <= STUB_SIZE, "what was before the call fits");
_Static_assert(AT_TAIL + INSTRUCTION_MOST + 5 <= AT_LANDING, "what was after it fits");

/* ---- both ------------------------------------------------------------------------------ */

unsigned stub_patch(uint8_t *stub, uint64_t site, uint64_t nr, uint8_t bytes[16], uint64_t *where)
{
	enum { BEFORE = BETWEEN + 16, AFTER = SYSCALL_SIZE + INSTRUCTION_MOST };
	uint8_t code[BEFORE + AFTER + INSTRUCTION_MOST], *call = code + BEFORE;
	unsigned before = BEFORE, in_page = (unsigned)MIN(BEFORE, site & 4095);
	memset(code, 0xcc, sizeof code);
	/* unwinders know the end of a handler by its bytes */
	if (nr == NUMBER_OF_RT_SIGRETURN || stub[AT_MARK] == GIVEN_UP)
		return 0;
	if (read_code(call, site, AFTER, site) < AFTER)
		read_code(call, site, (unsigned)MIN(AFTER, 4096 - (site & 4095)), site);
	if (read_code(call - before, site - before, before, site) < before)
		before = read_code(call - in_page, site - in_page, in_page, site);
	if (call[0] != 0x0f || call[1] != 0x05)
		return 0;
	put_tail(stub, site, 0, 0); /* there may have been other code at this address */
	*where = site;
	/* a debugger puts breakpoints on the instruction after a call, which must be there for them */
	unsigned n = debug_wanted() ? 0 : patch_after(stub, site, call, bytes);
	if (n)
		return n;
	/* from now on the way back fits any code, and the site that traps again is one that is jumped to */
	stub[AT_MARK] = GIVEN_UP;
	return patch_before(stub, site, (uint32_t)nr, call - before, before, bytes, where);
}

void stub_push_frame(const struct regs *r, uint64_t sp)
{
	/* nothing of ours lies on the program's stack */
	(void)r;
	(void)sp;
}

void flush_code(void *from, size_t n)
{
	/* the processor sees to it */
	(void)from;
	(void)n;
}

void arch_thread_start(struct thread *t)
{
	SYS2(__NR_arch_prctl, ARCH_SET_GS, t);
}

uint64_t arch_thread_pointer(void)
{
	uint64_t at = 0;
	SYS2(__NR_arch_prctl, ARCH_GET_FS, &at);
	return at;
}
