/* What a human is told when replay leaves the recording. */
#include "runtime/runtime.h"

static const char *const kind_names[] = {
	[ENTRY_START] = "start",
	[ENTRY_SYSCALL] = "system call",
	[ENTRY_SIGNAL] = "signal",
	[ENTRY_FAULT] = "fault",
	[ENTRY_VFORK] = "vfork",
	[ENTRY_VFORK_END] = "end of vfork",
	[ENTRY_CHECKSUM] = "checksum",
	[ENTRY_MORE] = "more output",
	[ENTRY_CUT] = "the end of the recording, in the middle of a call",
	[ENTRY_COUNTER] = "cycle counter",
	[ENTRY_EDGE] = "order of a lock",
	[ENTRY_SYNC] = "outcome of a lock",
	[ENTRY_LAST] = "end of the thread's operations",
	[ENTRY_THREAD] = "begin of a thread",
	[ENTRY_ORDER] = "order of accesses",
	[ENTRY_VERIFY] = "hash of the values read",
	[ENTRY_FUTEX] = "answer of a futex",
	[ENTRY_PAGES] = "hashes of pages",
};

static void add_call(struct text *out, unsigned nr, const uint64_t *args, unsigned nargs)
{
	const struct sys_row *row = sys_find(nr);
	if (row)
		text_add(out, "%s(", row->name);
	else
		text_add(out, "system call %u(", (unsigned long)nr);
	for (unsigned i = 0; i < nargs; i++)
		text_add(out, args[i] < 4096 ? "%s%u" : "%s%x", i ? ", " : "", args[i]);
	text_add(out, ")");
}

static void add_entry(struct text *out, const struct entry *e)
{
	if (e->kind == ENTRY_SYSCALL) {
		add_call(out, e->nr, (const uint64_t *)(e + 1), ENTRY_ARGS(e->flags));
		text_add(out, " = %d", e->result);
		return;
	}
	text_add(out, "%s", e->kind < COUNT(kind_names) && kind_names[e->kind] ? kind_names[e->kind] : "?");
	if (e->nr)
		text_add(out, " %u", (unsigned long)e->nr);
	text_add(out, " (%x)", e->result);
}

static void registers_by_dwarf(const struct regs *r, uint64_t to[WHERE_REGISTERS])
{
#ifdef __x86_64__
	const uint64_t by_number[WHERE_REGISTERS] = { r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi,
						      r->rbp, r->sp,  r->r8,  r->r9,  r->r10, r->r11,
						      r->r12, r->r13, r->r14, r->r15, r->pc };
	memcpy(to, by_number, sizeof by_number);
#else
	memcpy(to, r->x, sizeof r->x);
	to[31] = r->sp;
#endif
}

bool place_first(void)
{
	uint32_t before = 0;
	return __atomic_compare_exchange_n(&control->where_lock, &before, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* A thread inside a hook, or a function of ours that libheddle.so calls, has called it: its place is behind that
   call. */
static void undo_call(struct place *p)
{
	if (p->pc < MAP_OURS_BASE)
		return;
#ifdef __aarch64__
	p->pc = p->registers[30] - 1; /* of the call, and not of what follows it, which may be another line */
#else
	memcpy(&p->pc, p->stack, 8);
	p->registers[7] += 8; /* rsp */
	p->registers[16] = --p->pc;
#endif
}

void place_fill(struct place *p, const struct thread *t)
{
	p->image = image_number;
	p->slot = t->slot;
	p->event = t->log.events;
	p->pc = t->regs.pc;
	registers_by_dwarf(&t->regs, p->registers);
	p->stack_at = t->regs.sp;
	uint64_t n = 0, piece = 256; /* up to the stack's end, wherever that is */
	while (n + piece <= sizeof p->stack && !user_copy(p->stack + n, (const void *)(t->regs.sp + n), piece))
		n += piece;
	p->stack_len = n;
	undo_call(p);
}

struct place *place_leave(const struct thread *t)
{
	struct place *p = &control->where[control->where_count];
	place_fill(p, t);
	control->where_count++;
	return p;
}

#ifdef __x86_64__
/* Is there a call before it? */
static bool follows_call(uint64_t at)
{
	uint8_t code[7];
	if (at < 4096 || at >= MAP_OURS_BASE || user_copy(code, (const void *)(at - sizeof code), sizeof code))
		return false;
	for (unsigned length = 2; length <= 7; length++) { /* of a register or memory: ff /2 */
		const uint8_t *from = code + sizeof code - length;
		if (from[0] == 0xff && (from[1] >> 3 & 7) == 2)
			return true;
	}
	return code[2] == 0xe8;
}

/* No frame pointers there: what looks like a return address. One that is left over from an earlier call may be among
   them. */
static void stack_frames(uint64_t sp, uint64_t *frames, unsigned room)
{
	enum { WORDS = 64 };
	unsigned n = 0;
	uint64_t word;
	for (unsigned i = 0; i < WORDS && n < room && !user_copy(&word, (const void *)(sp + 8 * i), 8); i++)
		if (follows_call(word))
			frames[n++] = word;
}
#endif

/* Along the frame pointers, which gcc and clang keep on aarch64. */
void regs_frames(const struct thread *t, uint64_t *frames, unsigned room)
{
	frames[0] = t->regs.pc;
#ifdef __x86_64__
	stack_frames(t->regs.sp, frames + 1, room - 1);
#else
	unsigned n = 1;
	uint64_t at[2], frame = t->regs.x[29];
	frames[n++] = t->regs.x[30];
	for (uint64_t below = t->regs.sp; n < room && frame >= below && frame % 8 == 0; frame = at[0]) {
		if (user_copy(at, (const void *)frame, 16) || !at[1])
			break;
		if (at[1] != frames[n - 1])
			frames[n++] = at[1];
		below = frame + 16;
	}
#endif
}

_Noreturn void diverged(struct thread *t, const struct entry *recorded, const char *now)
{
	stop_begin(STOP_DIVERGED);
	TEXT(message, 4096);
	text_add(&message,
		 "replay diverged from the recording\n"
		 "heddle:   process %u (image %u), thread %u, event %u, at pc %x\n",
		 (unsigned long)process_id, (unsigned long)image_number, (unsigned long)t->slot, t->log.events,
		 t->regs.pc);
	text_add(&message, "heddle:   recorded: ");
	if (recorded)
		add_entry(&message, recorded);
	else
		text_add(&message, "nothing more");
	text_add(&message, "\nheddle:   now:      %s\n", now);
	if (!one_thread)
		text_add(&message,
			 "heddle: the program has threads: a data race, or a lock that is not pthread's "
			 "(atomics, raw futexes), is\n"
			 "heddle: the likely cause; an unmodified program does not show their order: "
			 "build it with heddle-cc%s\n",
			 control->every ? "" : ",\nheddle: or record it with --every-access");
	if (__atomic_load_n(&control->inexact, __ATOMIC_RELAXED))
		text_add(&message, "heddle: a signal before this came to code without events (NOT EXACT in the dump); "
				   "its handler\n"
				   "heddle: now ran at another place, which is the likely cause; built with heddle-cc, "
				   "loops have events\n");
	if (control->not_recorded & SHARED_MEMORY)
		text_add(&message,
			 "heddle: processes of this recording share memory that they write to (mmap with MAP_SHARED): "
			 "what one of them\n"
			 "heddle: writes there, the others read without an event, which is the likely cause\n");
	if (control->masks)
		text_add(&message,
			 "heddle: values of the environment are masked in this trace (--mask-env; `heddle stat` names "
			 "them): a program\n"
			 "heddle: that uses one of them now finds '*' there, which is the likely cause\n");
	text_add(&message,
		 "heddle: was the program changed, or does it read something that is not recorded?\n"
		 "heddle: see the events before with: heddle dump --image=%u %s\n",
		 (unsigned long)image_number, control->trace);
	if (place_first())
		place_leave(t);
	stop_tell(STOP_DIVERGED, TEXT_OF(message));
}

_Noreturn void diverged_call(struct call *c, const struct entry *recorded, const char *why)
{
	TEXT(now, 1024);
	add_call(&now, c->nr, c->args, sys_nargs(c->row));
	text_add(&now, ": %s", why);
	diverged(c->t, recorded, TEXT_OF(now));
}
