/*
 * Which descriptors reach the stdout and stderr that heddle was started with.
 *
 * Followed through dup, close and exec, because what is written there is shown
 * again at replay. Descriptors above the table are taken as "no".
 */
#include "runtime/runtime.h"
#include <linux/fcntl.h>
#include <linux/limits.h>
#include <linux/poll.h>
#include <linux/stat.h>

unsigned shown_class(const struct process *p, uint64_t fd)
{
	return fd < COUNT(p->shown) ? p->shown[fd] : 0;
}

void shown_set(struct process *p, uint64_t fd, unsigned class)
{
	if (fd >= COUNT(p->shown))
		return;
	p->shown[fd] = (uint8_t) class;
	p->kinds[fd] = FD_UNKNOWN; /* it leads to something else from now on: see shared_files.c */
}

void shown_list(const struct process *p, struct text *out)
{
	const char *comma = "";
	for (unsigned long fd = 0; fd < COUNT(p->shown); fd++) {
		if (!p->shown[fd] || SYS2(__NR_fcntl, fd, F_GETFD) != 0)
			continue;
		text_add(out, "%s%u:%u", comma, fd, (unsigned long)p->shown[fd]);
		comma = ",";
	}
}

void shown_parse(struct process *p, const char *list)
{
	while (*list) {
		uint64_t fd = parse_number(&list);
		if (*list != ':')
			return;
		list++;
		uint64_t class = parse_number(&list);
		if (class != FD_CLOSE)
			shown_set(p, fd, (unsigned)class);
		if (*list == ',')
			list++;
	}
}

/* ---- the order of writes ------------------------------------------------------ */

/*
 * Several processes or threads may write to the same pipe at once, and the order in which
 * the bytes arrive is part of the recording. So {write; take a place} is done
 * under one lock of the whole tree, but only when the write cannot block: the
 * reader may be waiting for another process first. A write that may block (more
 * than PIPE_BUF, or a full pipe) is not atomic anyway, and takes its place after.
 */
static void lock(void)
{
	uint32_t me = (uint32_t)SYS0(__NR_getpid); /* not process_id: a vfork child is another */
	for (;;) {
		uint32_t owner = 0;
		if (__atomic_compare_exchange_n(&control->show_lock, &owner, me, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return;
		futex_wait(&control->show_lock, owner, 10);
		/* killed while it had the lock: its write is done or not, and its place is not taken */
		if (SYS2(__NR_kill, owner, 0) == -ESRCH &&
		    __atomic_compare_exchange_n(&control->show_lock, &owner, me, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return;
	}
}

static void unlock(void)
{
	__atomic_store_n(&control->show_lock, 0, __ATOMIC_RELEASE);
	futex_wake(&control->show_lock);
}

static bool cannot_block(const struct call *c)
{
	struct pollfd p = { .fd = (int)c->args[0], .events = POLLOUT };
	struct statx st;
	struct {
		long sec, nsec;
	} now = { 0, 0 };
	memset(&st, 0, sizeof st);
	SYS5(__NR_statx, c->args[0], "", AT_EMPTY_PATH, STATX_TYPE, &st);
	if ((st.stx_mode & S_IFMT) == S_IFREG)
		return true;
	if (c->io[0].rule != IN_BYTES || c->args[2] > PIPE_BUF)
		return false;
	return SYS5(__NR_ppoll, &p, 1, &now, 0, 8) == 1 && (p.revents & POLLOUT);
}

static uint64_t take_place(const struct call *c)
{
	if (c->restart || c->result <= 0)
		return NOT_SHOWN;
	return __atomic_fetch_add(&control->shown, 1, __ATOMIC_RELAXED);
}

/*
 * A process that ends by itself (exit, a fault, a signal) ends while other threads write. What has reached stdout or
 * stderr must be in the trace, too, or replay would show less. So who ends the process says so, and waits for writes
 * that have begun until their entries are complete; others wait for the end. Only a kill -9 may come in between. A
 * write that does not come to its end (the reader is slow) is lost after a second, as it would be without heddle.
 */
#define ENDING (1u << 31)
static uint32_t writing; /* such writes that are under way, and ENDING */

static void begin_writing(void)
{
	/* seq_cst: in one order with shown_end(), so one of the two sees the other */
	uint32_t never = 0;
	if (!(__atomic_fetch_add(&writing, 1, __ATOMIC_SEQ_CST) & ENDING))
		return;
	shown_written();
	for (;;)
		futex_wait(&never, 0, 1000);
}

void shown_written(void)
{
	/* release: the entry is complete */
	__atomic_fetch_sub(&writing, 1, __ATOMIC_RELEASE);
}

void shown_end(void)
{
	__atomic_fetch_or(&writing, ENDING, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 10000 && __atomic_load_n(&writing, __ATOMIC_ACQUIRE) != ENDING; i++)
		nap(100000);
}

void shown_forked(void)
{
	writing = 0;
}

uint64_t shown_write(struct call *c)
{
	begin_writing();
	bool alone = one_thread && __atomic_load_n(&control->processes, __ATOMIC_RELAXED) == 1;
	if (alone || !cannot_block(c)) {
		call_kernel(c);
		return take_place(c);
	}
	lock();
	/* somebody else may have filled the pipe before we had the lock */
	bool still = cannot_block(c);
	if (!still)
		unlock();
	call_kernel(c);
	uint64_t place = take_place(c);
	if (still)
		unlock();
	return place;
}
