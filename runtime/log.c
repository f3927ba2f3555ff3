/*
 * A thread's stream, both directions: writing entries into the ring while
 * recording, reading them from the unpacked stream at replay.
 *
 * Recording: the ring file is mapped twice in a row, so that an entry is always
 * contiguous. The thread is the only writer of `head`; heddle is the only writer
 * of `tail`. An entry becomes part of the recording when `head` passes it; the
 * release store orders the entry's bytes before that. A process that dies in the
 * middle of an entry leaves `head` before it.
 */
#include "runtime/runtime.h"
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/stat.h>

#define REPLAY_WINDOW (8ul << 20)

static uint64_t stream_base(const struct thread *t)
{
	return MAP_STREAMS_BASE + t->slot * MAP_STREAM_ROOM;
}

/* ---- a ring of our own -------------------------------------------------------- */

static _Noreturn void no_ring(const char *path, long error)
{
	if (error == -EACCES)
		cannot("cannot write the trace any more: %s: permission denied\n"
		       "heddle: the program has changed its user, and then starts a thread or process; record it as "
		       "that user, or make the trace's directory open to it",
		       path);
	cannot("cannot write the trace: %s: error %d\n"
	       "heddle: is the disk full, or the directory gone? Did the program change its root? Record with -o DIR "
	       "on another disk",
	       path, -error);
}

void log_wake_heddle(void)
{
	__atomic_fetch_add(&control->work, 1, __ATOMIC_RELEASE);
	futex_wake(&control->work);
}

/* heddle was killed: nobody is left to tell. */
static void end_without_heddle(void)
{
	if (SYS2(__NR_kill, control->heddle_pid, 0) != -ESRCH)
		return;
	SYS1(__NR_exit_group, EXIT_CANNOT);
	__builtin_trap();
}

bool log_detach(long error)
{
	if (!control->may_detach)
		return false;
	__atomic_store_n(&control->detach_wanted, (uint32_t)-error, __ATOMIC_RELEASE);
	while (!log_detached()) {
		log_wake_heddle();
		futex_wait(&control->detached, 0, 100);
		end_without_heddle();
	}
	return true;
}

/* Its number, or -1. Acquire: with heddle's release, so that the file is there. */
static long take_spare(void)
{
	for (unsigned i = 0; i < RING_SPARES; i++)
		if (control->spare[i]) {
			uint32_t number = __atomic_exchange_n(&control->spare[i], 0, __ATOMIC_ACQUIRE);
			if (number)
				return (long)number - 1;
		}
	return -1;
}

/* Takes a ring that heddle has made ready; heddle then makes another. */
static uint32_t take_ring(void)
{
	long number = take_spare();
	while (number < 0) {
		__atomic_store_n(&control->ring_wanted, 1, __ATOMIC_SEQ_CST);
		log_wake_heddle();
		if ((number = take_spare()) >= 0)
			break;
		futex_wait(&control->ring_wanted, 1, 100);
		end_without_heddle();
		number = take_spare();
	}
	log_wake_heddle();
	return (uint32_t)number;
}

long log_open_ring(uint32_t number, char path[PATH_ROOM])
{
	struct text to = { path, path + PATH_ROOM - 1 };
	if (number & RING_NAMELESS)
		text_add(&to, "/proc/%u/fd/%u", (unsigned long)control->heddle_pid,
			 (unsigned long)(number & ~RING_NAMELESS));
	else
		text_add(&to, "%s/%u.ring", control->trace, (unsigned long)number);
	return file_open(path, O_RDWR, 0);
}

static void map_ring(uint64_t base, uint32_t number)
{
	char path[PATH_ROOM];
	long fd = log_open_ring(number, path);
	if (fd < 0)
		no_ring(path, fd);
	for (int copy = 0; copy < 2; copy++) {
		uint64_t offset = copy ? RING_HEADER : 0;
		long r = own_map(base + (copy ? RING_HEADER + RING_SIZE : 0), RING_HEADER + RING_SIZE - offset,
				 PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, offset);
		if (is_error(r))
			no_ring(path, r);
	}
	file_close(fd);
	/* or the first touch of each page would read ahead in a file that is all hole */
	SYS3(__NR_madvise, base, 2 * RING_SIZE + RING_HEADER, MADV_RANDOM);
}

static void open_ring(struct thread *t, uint32_t image, struct front before)
{
	uint64_t base = stream_base(t);
	uint32_t number = take_ring();
	map_ring(base, number);
	struct ring_header *ring = (void *)base;
	ring->version = TRACE_VERSION;
	ring->arch = TRACE_ARCH;
	ring->image = image;
	ring->slot = t->slot;
	ring->pid = process_id;
	_Static_assert(sizeof(struct front) <= sizeof ring->front, "there is room for it");
	_Static_assert(offsetof(struct front, clock) == 8 * FRONT_FINISHED &&
			       offsetof(struct front, done) == 8 * FRONT_SHOWN &&
			       offsetof(struct hook_self, events) == 8 * SELF_EVENTS &&
			       offsetof(struct hook_self, polls) == 8 * SELF_POLLS &&
			       offsetof(struct hook_self, begun) == 8 * SELF_BEGUN,
		       "heddle reads these");
	t->front = (struct front *)ring->front;
	*t->front = before;
	t->front->clock = fork_base;
	t->self = (struct hook_self *)((uint8_t *)ring + RING_SELF_AT);
	order_opened(t);
	/* heddle looks at the ring once the magic is there */
	__atomic_store_n(&ring->magic, RING_MAGIC, __ATOMIC_RELEASE);
	t->log = (struct log){
		.ring = ring, .number = number, .data = (uint8_t *)base + RING_HEADER, .room_until = RING_SIZE
	};
}

/* ---- a recorded stream ---------------------------------------------------------- */

static long open_part(const struct thread *t, uint32_t image, const char *kind, int flags)
{
	TEXT(path, PATH_ROOM);
	text_add(&path, "%s/p%u.t%u.%s", control->work_dir, (unsigned long)image, (unsigned long)t->slot, kind);
	return file_open(TEXT_OF(path), flags, 0);
}

/* n bytes of that part, from a multiple of 65536 on. */
static uint8_t *map_part(const struct thread *t, uint32_t image, const char *kind, bool shared, uint64_t at,
			 uint64_t from, uint64_t n)
{
	long fd = open_part(t, image, kind, shared ? O_RDWR : O_RDONLY);
	long r = fd < 0 ? fd :
			  own_map(at, n, shared ? PROT_READ | PROT_WRITE : PROT_READ,
				  (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_FIXED, fd, from);
	if (is_error(r))
		cannot("cannot read the unpacked stream %s/p%u.t%u.%s: error %d", control->work_dir,
		       (unsigned long)image, (unsigned long)t->slot, kind, -r);
	file_close(fd);
	return (uint8_t *)r;
}

static uint64_t first_place(const struct thread *t)
{
	return stream_base(t) + RING_HEADER;
}

#define LATE_ORDER_AT LATE_PIECE /* from the second place on, what is mapped for the order log of a late stream */

static uint64_t second_place(const struct thread *t)
{
	return stream_base(t) + MAP_STREAM_ROOM / 2;
}

/*
 * Windows lie at two places in turn. Who has taken an entry may still look at it, although the next one, at which
 * log_take() looks, needs another window: so the window before stays as it is.
 */
static void map_window(struct thread *t, uint64_t from)
{
	struct log *log = &t->log;
	uint64_t size = log->size; /* as it is now: see log_grown() */
	uint64_t start = ALIGN_DOWN(from, 65536), n = MIN(REPLAY_WINDOW, size - start);
	uint64_t place = first_place(t) + ((uint64_t)log->data == first_place(t) ? REPLAY_WINDOW : 0);
	log->data = map_part(t, image_number, "raw", false, place, start, n);
	log->window = start;
	log->window_end = start + n == size ? size : start + n - ENTRY_MAX;
}

const uint8_t *log_map_second(struct thread *t, uint64_t from, uint64_t n)
{
	return map_part(t, image_number, "raw", false, second_place(t), from, n);
}

/* heddle writes the next entries over those before the ones that have just been read. */
const uint8_t *log_late_next(struct late_stream *late, const uint8_t *windows)
{
	uint32_t given = __atomic_load_n(&late->given, __ATOMIC_RELAXED);
	__atomic_store_n(&late->asked, given + 1, __ATOMIC_RELEASE); /* all that was read is read */
	log_wake_heddle();
	/* acquire: with heddle's release, after the entries */
	while (__atomic_load_n(&late->given, __ATOMIC_ACQUIRE) == given) {
		futex_wait(&late->given, given, 100);
		end_without_heddle();
	}
	return windows + (given + 1) % 2 * LATE_PIECE;
}

static void ask_for_piece(struct thread *t)
{
	struct log *log = &t->log;
	log->data = (uint8_t *)log_late_next(log->late, (const uint8_t *)first_place(t));
	log->window = log->late->from;
	log->window_end = log->late->end;
	if (log->head < log->window || log->head >= log->window_end)
		cannot("the stream goes on at %u, and heddle unpacked %u to %u: the trace has changed meanwhile",
		       log->head, log->window, log->window_end);
}

static void open_late(struct thread *t, uint32_t image)
{
	struct log *log = &t->log;
	log->late = (struct late_stream *)map_part(t, image, "late", true, second_place(t), 0, page_size);
	log->size = log->late->size;
	t->op_limit = log->late->ops;
	__atomic_store_n(&t->event_limit, log->late->accesses, __ATOMIC_RELEASE);
	log->data = map_part(t, image, "window", false, first_place(t), 0, 2 * LATE_PIECE);
	if (log->size)
		ask_for_piece(t);
	order_log_open(t);
}

struct late_stream *log_open_late_order(struct thread *t, const uint8_t **windows)
{
	uint64_t place = second_place(t) + LATE_ORDER_AT;
	if (!t->log.late || !t->log.late->order)
		return 0;
	*windows = map_part(t, image_number, "window-order", false, place + LATE_PIECE, 0, 2 * LATE_PIECE);
	return (struct late_stream *)map_part(t, image_number, "late-order", true, place, 0, page_size);
}

/* Where it was while recording, in the ring's header: libheddle.so keeps its address in the program's memory. */
static void place_front(struct thread *t, struct front before)
{
	struct ring_header *ring = (struct ring_header *)stream_base(t);
	long r = own_map((uint64_t)ring, RING_HEADER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
			 -1, 0);
	if (is_error(r))
		no_memory("the head of a thread's log", r);
	struct front *front = (struct front *)ring->front;
	*front = before;
	front->clock = front->done = fork_base;
	front->free = 0;
	front->waited = NOBODY_WAITS;
	/* release: another thread may already wait for it, and then writes `waited`: nothing may be written over
	   that */
	__atomic_store_n(&t->front, front, __ATOMIC_RELEASE);
	t->self = (struct hook_self *)((uint8_t *)ring + RING_SELF_AT);
	order_opened(t);
}

/* Of a thread that nobody knows yet there is none. */
static bool take_tail(struct thread *t, uint32_t image)
{
	struct follow_tail *tail = log_tail(t);
	long fd = open_part(t, image, "tail", O_RDONLY);
	if (fd < 0)
		return false;
	if (!t->log.tail) {
		long r = own_map((uint64_t)tail, ALIGN_UP(sizeof *tail, page_size), PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		if (is_error(r))
			no_memory("the tail of a thread's log", r);
	}
	t->log.tail = true;
	if (file_read(fd, tail, sizeof *tail, 0) != sizeof *tail)
		cannot("what is known of thread %u cannot be read", (unsigned long)t->slot);
	file_close(fd);
	t->log.size = tail->size;
	t->op_limit = tail->ops;
	t->event_limit = tail->accesses;
	t->poll_limit = tail->polls;
	return true;
}

struct follow_tail *log_tail(const struct thread *t)
{
	return (struct follow_tail *)(stream_base(t) + MAP_STREAM_ROOM - 0x40000);
}

static void take_end(struct thread *t, uint32_t image);

void log_grown(struct thread *t)
{
	struct log *log = &t->log;
	if (control->follow)
		take_tail(t, image_number);
	else
		take_end(t, image_number);
	log->window_end = MIN(log->window_end, log->head);
	t->front->free = 0;
	t->grown = true;
	order_log_grown(t);
}

static void open_stream(struct thread *t, uint32_t image, struct front before)
{
	t->log = (struct log){ .size = 0 };
	t->op_limit = 0;
	t->event_limit =
		~0ull; /* others look when there is a front: until the stream's ends are known it is not over */
	place_front(t, before);
	if (unlikely(control->follow)) {
		t->event_limit = 0;
		if (take_tail(t, image) && t->log.size)
			map_window(t, 0);
		order_log_open(t);
		return;
	}
	long fd = open_part(t, image, "raw", O_RDONLY);
	if (fd < 0) {
		fd = open_part(t, image, "late", O_RDONLY);
		if (fd < 0) {
			t->event_limit = 0;
			return; /* killed before its first event: an empty stream */
		}
		file_close(fd);
		open_late(t, image);
		return;
	}
	file_close(fd);
	take_end(t, image);
	if (t->log.size)
		map_window(t, 0);
	order_log_open(t);
}

/* How long the stream is, and how far the thread had come when it ended. */
static void take_end(struct thread *t, uint32_t image)
{
	long fd = open_part(t, image, "raw", O_RDONLY);
	if (fd < 0)
		return;
	long end = SYS3(__NR_lseek, fd, 0, 2 /* SEEK_END */);
	t->log.size = end > 0 ? (uint64_t)end : 0;
	struct {
		struct entry e;
		uint64_t events;
	} last = { 0 };
	if (end >= (long)sizeof last)
		file_read(fd, &last, sizeof last, t->log.size - sizeof last);
	file_close(fd);
	/* not an event: how many ops and accesses the thread had finished */
	bool told = last.e.kind == ENTRY_LAST && last.e.size == sizeof last;
	t->op_limit = told ? (uint64_t)last.e.result : 0;
	t->log.size -= told ? sizeof last : 0;
	__atomic_store_n(&t->event_limit, told ? last.events : 0, __ATOMIC_RELEASE);
}

void log_open(struct thread *t, uint32_t image)
{
	struct front before = t->front ? *t->front : (struct front){ 0 };
	if (replaying)
		open_stream(t, image, before);
	else
		open_ring(t, image, before);
}

/* ---- fork -------------------------------------------------------------------------- */

/* The child finds its thread's `front` in the parent's ring, until it has copied it into its own. Of other threads'
   rings nobody knows when it stops looking: those are never used again. */
static void count_fork(struct thread *t, uint32_t change)
{
	for (uint32_t slot = 0; slot < thread_highest(); slot++)
		if (thread_of(slot) == t || (!one_thread && thread_of(slot)->log.ring))
			__atomic_fetch_add(&thread_of(slot)->log.ring->forks, change, __ATOMIC_RELEASE);
}

void log_before_fork(struct thread *t)
{
	count_fork(t, 1);
}

void log_fork_failed(struct thread *t)
{
	count_fork(t, ~0u);
}

void log_forked(struct thread *t, uint32_t image)
{
	struct ring_header *parents = t->log.ring;
	struct front before = *t->front;
	/* release: the copy is made before. From here on the mapping may be another's ring, and it is replaced at
	   once. */
	__atomic_fetch_sub(&parents->forks, 1, __ATOMIC_RELEASE);
	open_ring(t, image, before);
}

/* ---- recording --------------------------------------------------------------- */

/* heddle moves the ring's older part to the disk and wakes us. If it is gone, recording ends. */
static void wait_for_room(struct thread *t, size_t n)
{
	struct ring_header *ring = t->log.ring;
	while (t->log.head + n - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) > RING_SIZE) {
		__atomic_store_n(&ring->waiting, 1, __ATOMIC_SEQ_CST);
		log_wake_heddle();
		if (t->log.head + n - __atomic_load_n(&ring->tail, __ATOMIC_SEQ_CST) > RING_SIZE)
			futex_wait(&ring->waiting, 1, 100);
		end_without_heddle();
	}
}

void log_look_for_room(struct thread *t, size_t n)
{
	wait_for_room(t, n);
	t->log.room_until = __atomic_load_n(&t->log.ring->tail, __ATOMIC_ACQUIRE) + RING_SIZE;
}

void insert_tickets(uint64_t *place, uint8_t *end, uint64_t ticket, uint64_t now)
{
	memmove(place + 2, place, (size_t)(end - (uint8_t *)place));
	place[0] = ticket;
	place[1] = now;
}

void log_leave(struct thread *t)
{
	if (replaying)
		return;
	/* a handler that runs from here on must find nothing to log */
	static const uint64_t all = ~0ull;
	SYS4(__NR_rt_sigprocmask, 2 /* SIG_SETMASK */, &all, 0, 8);
	__atomic_store_n(&t->log.ring->done, one_thread ? RING_LEFT : RING_DONE, __ATOMIC_RELEASE);
}

void log_done(struct thread *t)
{
	if (!replaying && t->log.ring)
		__atomic_store_n(&t->log.ring->done, RING_DONE, __ATOMIC_RELEASE);
}

void log_simple(struct thread *t, enum entry_kind kind, unsigned nr, unsigned flags, int64_t result,
		const struct block *block, const void *data)
{
	size_t size = sizeof(struct entry);
	uint32_t n = block ? block_data_len(block) : 0;
	if (block)
		size += sizeof *block + ALIGN_UP(n, 8);
	struct entry *e = log_reserve(t, size);
	*e = (struct entry){
		.size = (uint32_t)size, .nr = (uint16_t)nr, .kind = kind, .flags = (uint8_t)flags, .result = result
	};
	if (block) {
		struct block *b = (struct block *)(e + 1);
		*b = *block;
		memset(b + 1, 0, ALIGN_UP(n, 8));
		memcpy(b + 1, data, n);
	}
	log_commit(t, size);
}

/* ---- replaying ----------------------------------------------------------------- */

bool log_has_accesses(const struct thread *t)
{
	return t->self->events < (t->event_limit & ~1ull);
}

/* The recording goes on: has the thread certainly finished more than it has done here, without an entry? */
static bool has_gone_on(const struct thread *t)
{
	return t->front->clock < t->op_limit || log_has_accesses(t);
}

/* The same, or begun a call; without an entry, as long as that lasts. */
static bool has_begun_more(const struct thread *t)
{
	return has_gone_on(t) || (t->log.tail && log_tail(t)->call > MAX(t->ticket, t->ticket_interrupted));
}

static const struct entry *peek(struct thread *t)
{
	struct log *log = &t->log;
	while (log->head < log->size) {
		if (unlikely(log->head >= log->window_end))
			log->late ? ask_for_piece(t) : map_window(t, log->head);
		const struct entry *e = (const struct entry *)(log->data + (log->head - log->window));
		if (likely(e->kind != ENTRY_ORDER))
			return e;
		log->head += e->size; /* the order log has a window of its own */
		log->events++;
	}
	return 0;
}

/* Others may wait for the call to begin, which may last as long as they make it wait. */
void log_wait_at_call(struct thread *t, bool logged)
{
	while (control->follow && !peek(t) && !(logged ? has_gone_on(t) : has_begun_more(t))) {
		if (!one_thread && t->log.tail && log_tail(t)->call)
			ticket_enter(log_tail(t)->call - 1);
		thread_park(t);
	}
}

/* What is there is asked for last: a checkpoint may stop the thread in between, and there is more then. */
const struct entry *log_peek(struct thread *t)
{
	const struct entry *e = peek(t);
	if (likely(e))
		return e;
	while (unlikely(control->follow) && !peek(t) && !has_begun_more(t))
		thread_park(t);
	return peek(t);
}

bool log_goes_on(struct thread *t)
{
	return t->front->clock < t->op_limit || log_peek(t) || t->self->events < t->event_limit;
}

/* All of these only grow, so who reads them too early finds that it is not over. A thread that was in the middle of an
   access never is: event_limit is odd then. */
bool log_is_over(const struct thread *t)
{
	const struct front *front = __atomic_load_n(&t->front, __ATOMIC_ACQUIRE);
	if (!front || !t->self)
		return false;
	uint64_t limit = __atomic_load_n(&t->event_limit, __ATOMIC_ACQUIRE); /* see open_stream() */
	uint64_t events = __atomic_load_n(&t->self->events, __ATOMIC_ACQUIRE);
	return events >= limit && !(events & 1) && __atomic_load_n(&front->done, __ATOMIC_ACQUIRE) >= t->op_limit &&
	       __atomic_load_n(&t->log.head, __ATOMIC_RELAXED) >= t->log.size;
}

void log_take(struct thread *t)
{
	const struct entry *e = log_peek(t);
	ASSERT(e);
	t->log.head += e->size;
	t->log.events++;
	t->front->free = 0; /* the next op looks at what comes now */
	order_set_until(t);
	if (unlikely(debugged))
		debug_look(t, false);
	if (unlikely(checkpoint_wanted))
		checkpoint_look(t);
}

const struct block *entry_find(const struct entry *e, enum block_kind kind, int arg)
{
	for (const struct block *b = entry_blocks(e); b < entry_end(e); b = block_next(b))
		if (b->kind == kind && (arg < 0 || b->arg == arg))
			return b;
	return 0;
}
