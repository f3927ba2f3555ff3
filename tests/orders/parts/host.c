/*
 * Records a workload in one child process and replays it in others. See host.h.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "host_own.h"
#include "weak.h"

const char *const outcome_names[] = { "good", "diverged", "stood still", "crashed" };

struct plan plan;
struct left *left;
uint64_t *memory;
enum host_mode host_mode;
char *complaint;
struct worker *workers;
uint8_t *states;
const struct order_scheme *scheme;
const struct order_ops *ops;

static uint64_t *memory_left; /* final memory: [0] of the recording, [WORDS] of the replay */
static pthread_barrier_t together;
static pthread_t threads[MAX_THREADS];

void *host_map(size_t size, int flags)
{
	void *p = mmap(0, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED) {
		perror("order-stress: mmap");
		exit(2);
	}
	return p;
}

_Noreturn void give_up(int status, const char *format, ...)
{
	static uint32_t once;
	va_list args;

	if (!__atomic_exchange_n(&once, 1, __ATOMIC_SEQ_CST)) {
		va_start(args, format);
		vsnprintf(complaint, 4000, format, args);
		va_end(args);
		_exit(status);
	}
	for (;;)
		pause(); /* the other thread ends the process */
}

struct worker *host_worker(uint32_t slot)
{
	return &workers[slot];
}

void host_open(void)
{
	left = host_map(sizeof *left * MAX_THREADS, MAP_SHARED);
	complaint = host_map(4096, MAP_SHARED);
	memory_left = host_map(2 * WORDS * 8ul, MAP_SHARED);
	memory = mmap((void *)0x2000000000, WORDS * 8ul, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
		      0); /* as programs under Heddle */
	for (unsigned i = 0; i < MAX_THREADS; i++) {
		left[i].log = host_map(LOG_ROOM, MAP_SHARED);
		left[i].values = host_map(VALUES_ROOM, MAP_SHARED);
		left[i].turns = host_map(TURNS_ROOM, MAP_SHARED);
	}
}

void host_plan(const struct plan *p)
{
	plan = *p;
	for (uint32_t i = 0; i < plan.range; i++)
		memory[i] = i * 7 & 0xffff;
}

static void open_log(struct worker *w)
{
	struct left *l = &left[w->order.slot];

	w->limit = host_mode == RECORD ? ~0ull : l->events;
	w->next = l->log;
	if (host_mode == REPLAY)
		next_entry(w);
}

static void close_log(struct worker *w)
{
	struct left *l = &left[w->order.slot];

	if (scheme->claims)
		w->finished = inline_finished(w);

	if (host_mode == REPLAY && w->finished != l->events)
		give_up(CHILD_DIVERGED, "thread %u: %llu events, recorded %llu", w->order.slot,
			(unsigned long long)w->finished, (unsigned long long)l->events);
	if (host_mode == REPLAY && w->hash != l->hash)
		give_up(CHILD_DIVERGED, "thread %u: the values read differ", w->order.slot);
	l->hash = w->hash;
	l->events = w->finished;
	if (host_mode != RECORD)
		return;
	l->entries = w->order.entries;
	l->bytes = w->order.bytes;
	l->sync = w->sync;
}

static void run_workload(struct worker *w)
{
	struct left *l = &left[w->order.slot];
	void (*work)(struct worker *, uint64_t) = host_mode == NATIVE ? workloads[plan.workload].native :
									workloads[plan.workload].hooked;

	if (plan.warm) {
		work(w, plan.warm);
		if (host_mode != NATIVE && scheme->claims)
			inline_pause(w, PAUSE_WAITS);
		if (host_mode != REPLAY) /* there it would be a wait that no scheme knows of */
			pthread_barrier_wait(&together);
	}
	l->warm_bytes = w->order.bytes;
	l->warm_events = host_mode != NATIVE && scheme->claims ? inline_finished(w) : w->finished;
	double cpu = host_now(CLOCK_THREAD_CPUTIME_ID), wall = host_now(CLOCK_MONOTONIC);
	work(w, plan.accesses);
	l->cpu = host_now(CLOCK_THREAD_CPUTIME_ID) - cpu;
	l->wall = host_now(CLOCK_MONOTONIC) - wall;
}

/* A barrier wakes one after the other, so late that the first may be done: who is there looks until all are. */
static void start_together(void)
{
	static uint32_t there;
	unsigned looked = 0;

	pthread_barrier_wait(&together);
	for (__atomic_fetch_add(&there, 1, __ATOMIC_SEQ_CST); __atomic_load_n(&there, __ATOMIC_SEQ_CST) < plan.threads;)
		host_relax(&looked);
}

static void *body(void *arg);

/* The first thread is the parent of all others, with an event for each. */
static void create_others(struct worker *w)
{
	for (unsigned i = 1; i < plan.threads; i++) {
		if (host_mode != NATIVE && ops->create) {
			begins(w);
			ops->create(&w->order, &workers[i].order);
			finish(w, 1);
		}
		if (pthread_create(&threads[i], 0, body, &workers[i]))
			give_up(CHILD_CANNOT, "no thread %u", i);
	}
}

/* Left to the scheduler, two threads may share a processor for all of a short run, and never meet. */
static void stay_on_processor(const struct worker *w)
{
	cpu_set_t all, one;
	int n = -1;

	if (!plan.pinned || sched_getaffinity(getppid(), sizeof all, &all))
		return;
	for (unsigned left_out = w->order.slot % (unsigned)CPU_COUNT(&all) + 1; left_out;)
		left_out -= CPU_ISSET(++n, &all);
	CPU_ZERO(&one);
	CPU_SET(n, &one);
	sched_setaffinity(0, sizeof one, &one);
}

static void *body(void *arg)
{
	struct worker *w = arg;

	stay_on_processor(w);
	if (host_mode != NATIVE)
		open_log(w);
	if (host_mode != NATIVE && scheme->claims)
		inline_begin(w);
	else if (host_mode != NATIVE && ops->begin)
		ops->begin(&w->order);
	if (!w->order.slot)
		create_others(w);
	start_together();
	weak_after(__ATOMIC_ACQUIRE);
	run_workload(w);
	weak_before(__ATOMIC_RELEASE);
	if (host_mode != NATIVE && scheme->claims)
		inline_pause(w, PAUSE_WAITS); /* what its end op does too, and the numbers it leaves out are counted */
	else if (host_mode != NATIVE && ops->end)
		ops->end(&w->order);
	if (host_mode != NATIVE)
		close_log(w);
	return 0;
}

static void set_up(struct worker *w, unsigned slot)
{
	w->order.slot = slot;
	w->order.next_entry = ORDER_NEVER;
	w->ops = ops;
	w->random = xorshift(xorshift((plan.seed + slot * 0x9E3779B97F4A7C15ull) | 1));
	w->chaos = (uint64_t)getpid() << 32 ^ (uint64_t)host_now(CLOCK_REALTIME) ^ slot << 20 ^ 1;
	if (host_mode != NATIVE && scheme->thread_size)
		w->order.own = order_memory(scheme->thread_size);
	inline_set_up(w, host_mode != NATIVE && scheme->claims);
}

static void run_child(void)
{
	workers = host_map(sizeof *workers * MAX_THREADS, MAP_PRIVATE);
	mutexes = host_map(sizeof *mutexes * MUTEXES, MAP_PRIVATE);
	if (host_mode != NATIVE && scheme->state_size)
		states = host_map((size_t)WORDS * scheme->state_size, MAP_PRIVATE);
	for (unsigned i = 0; i < plan.threads; i++)
		set_up(&workers[i], i);
	pthread_barrier_init(&together, 0, plan.threads);
	if (host_mode != NATIVE && ops->open)
		ops->open();
	if (pthread_create(&threads[0], 0, body, &workers[0]))
		give_up(CHILD_CANNOT, "no thread");
	pthread_join(threads[0], 0); /* it has created the others before it did anything else */
	for (unsigned i = 1; i < plan.threads; i++)
		pthread_join(threads[i], 0);
	if (host_mode != NATIVE)
		memcpy(memory_left + (host_mode == REPLAY ? WORDS : 0), memory, plan.range * 8ul);
	fflush(stdout);
	_exit(0);
}

long host_memory;

enum outcome host_run(enum host_mode mode, const struct order_scheme *with)
{
	int status;

	host_mode = mode;
	scheme = order_used = with;
	ops = mode == RECORD ? &with->record : mode == REPLAY ? &with->replay : 0;
	*complaint = 0;
	fflush(stdout);
	pid_t child = fork();
	if (child < 0) {
		perror("order-stress: fork");
		exit(2);
	}
	if (!child) {
		alarm(plan.stall * 30); /* a fault may make it go round for ever: then it is killed, and that is told */
		run_child();
	}
	struct rusage used;
	wait4(child, &status, 0, &used);
	host_memory = used.ru_maxrss;
	if (WIFSIGNALED(status)) {
		snprintf(complaint, 4000, "killed by signal %d", WTERMSIG(status));
		return CRASHED;
	}
	switch (WEXITSTATUS(status)) {
	case 0: return GOOD;
	case CHILD_DIVERGED: return DIVERGED;
	case CHILD_STOOD_STILL: return STOOD_STILL;
	default: return CRASHED;
	}
}

enum outcome host_compare(void)
{
	for (uint32_t i = 0; i < plan.range; i++)
		if (memory_left[i] != memory_left[WORDS + i]) {
			snprintf(complaint, 4000, "word %u is %#llx at the end, recorded %#llx", i,
				 (unsigned long long)memory_left[WORDS + i], (unsigned long long)memory_left[i]);
			return DIVERGED;
		}
	return GOOD;
}
