/*
 * The looks of --paranoid (runtime/memory/paranoid.c) at a few pages of our own, with stand-ins for the log: recorded, then replayed
 * with the same pages, and with one that was changed behind the program's back.
 * What could go wrong: a page that changes at replay only is not in the log; one that changed in the recording only is; pages
 * come and go; the changes of one look do not fit into one entry.
 */
#define _GNU_SOURCE
#include "runtime/memory/paranoid.c"
#include "runtime/base/hash.c"
#include "runtime/base/text.c"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT	 40 /* pages */
#define LOOKS	 6
#define AN_ENTRY 8 /* changes that fit into an entry */

bool replaying, memory_torn, one_thread = true;
static _Alignas(PAGE) uint8_t arena[COUNT][PAGE];
static _Alignas(8) uint8_t bytes[1 << 20]; /* of the log */
static struct thread thread;
static uint64_t position, end;
static unsigned entry_count;
static char told[256];
static jmp_buf stopped;

#define EXPECT(condition) \
	((condition) ? (void)0 : (fprintf(stderr, "paranoid_test:%d: %s (%s)\n", __LINE__, #condition, told), exit(1)))

/* ---- stand-ins ---------------------------------------------------------------------------------------------------------- */

bool thread_is_last(void)
{
	return true;
}
void thread_wait_for_all_cleared(void)
{
}
void wait_a_little(unsigned *round)
{
	++*round;
}

void entry_begin(struct call *c, enum entry_kind kind)
{
	c->kind = (uint8_t)kind;
	c->base = bytes + end;
	c->at = c->base + sizeof(struct entry);
}
static void commit(struct call *c, unsigned flags)
{
	*(struct entry *)c->base =
		(struct entry){ .size = (uint32_t)(c->at - c->base), .kind = c->kind, .flags = (uint8_t)flags };
	end = (uint64_t)(c->at - bytes);
	entry_count++;
}
void entry_room(struct call *c, size_t n)
{
	if (c->at + sizeof(struct block) + n <= c->base + sizeof(struct entry) + AN_ENTRY * (sizeof(struct block) + 8))
		return;
	commit(c, ENTRY_CONTINUED);
	entry_begin(c, ENTRY_MORE);
}
void entry_finish(struct call *c)
{
	commit(c, 0);
}
void call_block(struct call *c, enum block_kind kind, unsigned arg, uint64_t addr, uint32_t len, const void *data)
{
	*(struct block *)c->at = (struct block){ .addr = addr, .len = len, .kind = kind, .arg = (uint8_t)arg };
	memcpy(c->at + sizeof(struct block), data, 8);
	c->at += sizeof(struct block) + 8;
}

const struct entry *log_peek(struct thread *t)
{
	(void)t;
	return position < end ? (const struct entry *)(bytes + position) : NULL;
}
void log_take(struct thread *t)
{
	position += log_peek(t)->size;
	t->log.events++;
}
_Noreturn void replay_ended(struct thread *t)
{
	(void)t;
	longjmp(stopped, 2);
}
_Noreturn void diverged(struct thread *t, const struct entry *recorded, const char *now)
{
	(void)t, (void)recorded;
	snprintf(told, sizeof told, "%s", now);
	longjmp(stopped, 1);
}

/* A page that is all zero does not count; the last one is a stack whose pointer is in its middle. */
void pages_each(struct thread *t, bool registers, void (*found)(void *arg, uint64_t page, uint64_t from), void *arg)
{
	(void)t, (void)registers;
	for (int i = 0; i < COUNT; i++) {
		uint8_t any = 0;
		for (int j = 0; j < PAGE; j++)
			any |= arena[i][j];
		if (any)
			found(arg, (uint64_t)arena[i], (uint64_t)arena[i] + (i == COUNT - 1 ? PAGE / 2 : 0));
	}
}

/* ---- the program -------------------------------------------------------------------------------------------------------- */

static void program(int step)
{
	if (step == 0)
		memset(arena, 7, sizeof arena / 2); /* more pages than an entry holds; the others are zero */
	arena[step][100] = 9;
	arena[COUNT - 1][PAGE - 1] = (uint8_t)(step + 1);
	if (step == 2)
		memset(arena[10], 0, PAGE);
	if (step == 3)
		arena[30][0] = 1;
}

/* Runs it; before the look `at`, disturb() changes something. The answer: 0, or 1: diverged at look `*when`. */
static int run(int at, void (*disturb)(void), int *when)
{
	static volatile int step;
	memset(arena, 0, sizeof arena);
	counts[0] = counts[1] = 0;
	calls = after = last_event = 0;
	position = thread.log.events = 0;
	told[0] = 0;
	if (!replaying)
		end = entry_count = 0;
	int how = setjmp(stopped);
	for (step = how ? LOOKS : 0; step < LOOKS; step++) {
		*when = step;
		program(step);
		if (step == at)
			disturb();
		paranoid_look(&thread, __NR_exit_group);
	}
	return how;
}

static void nothing(void)
{
}
static void change_unwritten(void)
{
	arena[15][5] ^= 1;
}
static void change_written(void)
{
	arena[3][100] ^= 1;
}
static void undo_written(void)
{
	arena[3][100] = 7;
}
static void fill_empty(void)
{
	arena[25][5] = 1;
}
static void empty_full(void)
{
	memset(arena[12], 0, PAGE);
}
static void change_stack(void)
{
	arena[COUNT - 1][PAGE - 8] = 5;
}
static void below_stack(void)
{
	arena[COUNT - 1][3] = 5;
}

static void noticed(void (*disturb)(void), int page, const char *how)
{
	int when = -1;
	TEXT(expected, 200);
	text_add(&expected, "the page at %x %s; at event ", (uint64_t)arena[page], how);
	EXPECT(run(3, disturb, &when) == 1 && when == 3);
	EXPECT(!strncmp(told, TEXT_OF(expected), strlen(TEXT_OF(expected))));
}

int main(void)
{
	int when;
	EXPECT(run(-1, nothing, &when) == 0);
	EXPECT(entry_count > LOOKS + 1); /* the first look is in several pieces */
	replaying = true;
	EXPECT(run(-1, nothing, &when) == 0 && position == end);
	EXPECT(run(3, below_stack, &when) == 0);
	noticed(change_unwritten, 15, "has changed, and had not");
	noticed(change_written, 3, "is another than it was");
	noticed(undo_written, 3, "has not changed, and had");
	noticed(fill_empty, 25, "has changed, and had not");
	noticed(empty_full, 12, "has changed, and had not");
	noticed(change_stack, COUNT - 1, "is another than it was");
	/* the first look has none before it */
	EXPECT(run(0, change_unwritten, &when) == 1 && when == 0 && !strchr(told, ';'));
	/* a log that ends within a look */
	end = ((struct entry *)bytes)->size;
	EXPECT(run(-1, nothing, &when) == 2);
	puts("paranoid_test: fine");
	return 0;
}
