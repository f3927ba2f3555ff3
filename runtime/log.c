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

#define REPLAY_WINDOW (16ul << 20)

static uint64_t stream_base(const struct thread *t)
{
	return MAP_STREAMS_BASE + t->slot * MAP_STREAM_ROOM;
}

static void stream_path(struct text *path, const char *dir, uint32_t image, const struct thread *t, const char *ending)
{
	text_add(path, "%s/p%u", dir, (unsigned long)image);
	if (ending)
		text_add(path, "/t%u.%s", (unsigned long)t->slot, ending);
}

static _Noreturn void no_ring(const char *path, long error)
{
	cannot("cannot write the trace: %s: error %d\n"
	       "heddle: is the disk full, or the directory gone? Record with -o DIR on another disk",
	       path, -error);
}

static void create_ring(struct thread *t, uint32_t image)
{
	TEXT(dir, PATH_ROOM);
	TEXT(path, PATH_ROOM);
	stream_path(&dir, control->trace, image, t, 0);
	stream_path(&path, control->trace, image, t, "ring");
	long r = SYS3(__NR_mkdirat, AT_FDCWD, TEXT_OF(dir), 0700);
	if (r < 0 && r != -EEXIST)
		no_ring(TEXT_OF(dir), r);
	long fd = file_open(TEXT_OF(path), O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		no_ring(TEXT_OF(path), fd);
	if ((r = SYS2(__NR_ftruncate, fd, RING_HEADER + RING_SIZE)) < 0)
		no_ring(TEXT_OF(path), r);
	uint64_t base = stream_base(t);
	struct front before = t->front ? *t->front : (struct front){ 0 }; /* a forked thread's */
	for (int copy = 0; copy < 2; copy++) {
		uint64_t offset = copy ? RING_HEADER : 0;
		r = SYS6(__NR_mmap, base + (copy ? RING_HEADER + RING_SIZE : 0), RING_HEADER + RING_SIZE - offset,
			 PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, offset);
		if (is_error(r))
			no_ring(TEXT_OF(path), r);
	}
	file_close(fd);
	/* or the first touch of each page would read ahead in a file that is all hole */
	SYS3(__NR_madvise, base, 2 * RING_SIZE + RING_HEADER, MADV_RANDOM);
	struct ring_header *ring = (void *)base;
	*ring = (struct ring_header){
		.version = TRACE_VERSION, .arch = TRACE_ARCH, .image = image, .slot = t->slot, .pid = process_id
	};
	_Static_assert(sizeof(struct front) <= sizeof ring->front, "there is room for it");
	t->front = (struct front *)ring->front;
	*t->front = before;
	t->front->clock = fork_base;
	/* heddle looks at the ring once the magic is there */
	__atomic_store_n(&ring->magic, RING_MAGIC, __ATOMIC_RELEASE);
	t->log = (struct log){ .ring = ring, .data = (uint8_t *)base + RING_HEADER, .room_until = RING_SIZE };
}

static void map_window(struct thread *t, uint64_t from)
{
	TEXT(path, PATH_ROOM);
	stream_path(&path, control->work_dir, image_number, t, "raw");
	long fd = file_open(TEXT_OF(path), O_RDONLY, 0);
	if (fd < 0)
		cannot("cannot read the unpacked stream %s: error %d", TEXT_OF(path), -fd);
	uint64_t start = ALIGN_DOWN(from, 65536);
	uint64_t n = MIN(REPLAY_WINDOW, t->log.size - start);
	long r = SYS6(__NR_mmap, stream_base(t) + RING_HEADER, n, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, start);
	if (is_error(r))
		cannot("cannot map %s: error %d", TEXT_OF(path), -r);
	file_close(fd);
	t->log.data = (uint8_t *)r;
	t->log.window = start;
}

/* Where it was while recording, in the ring's header: libheddle.so keeps its address in the program's memory. */
static void place_front(struct thread *t)
{
	struct ring_header *ring = (struct ring_header *)stream_base(t);
	struct front before = t->front ? *t->front : (struct front){ 0 };
	long r = SYS6(__NR_mmap, ring, RING_HEADER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		      0);
	if (is_error(r))
		cannot("no memory: error %d", -r);
	t->front = (struct front *)ring->front;
	*t->front = before;
	t->front->clock = t->front->done = fork_base;
}

static void open_stream(struct thread *t, uint32_t image)
{
	TEXT(path, PATH_ROOM);
	stream_path(&path, control->work_dir, image, t, "raw");
	t->log = (struct log){ .size = 0 };
	place_front(t);
	t->op_limit = 0;
	long fd = file_open(TEXT_OF(path), O_RDONLY, 0);
	if (fd < 0)
		return; /* killed before its first event: an empty stream */
	long end = SYS3(__NR_lseek, fd, 0, 2 /* SEEK_END */);
	t->log.size = end > 0 ? (uint64_t)end : 0;
	struct entry last = { 0 };
	if (end >= (long)sizeof last)
		file_read(fd, &last, sizeof last, t->log.size - sizeof last);
	file_close(fd);
	/* not an event: how many ops the thread had finished */
	if (last.kind == ENTRY_LAST && last.size == sizeof last) {
		t->op_limit = (uint64_t)last.result;
		t->log.size -= sizeof last;
	}
	if (t->log.size)
		map_window(t, 0);
}

void log_open(struct thread *t, uint32_t image)
{
	if (replaying)
		open_stream(t, image);
	else
		create_ring(t, image);
}

/* ---- recording --------------------------------------------------------------- */

/* heddle moves the ring's older part to the disk and wakes us. If it is gone, recording ends. */
static void wait_for_room(struct thread *t, size_t n)
{
	struct ring_header *ring = t->log.ring;
	while (t->log.head + n - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) > RING_SIZE) {
		__atomic_store_n(&ring->waiting, 1, __ATOMIC_SEQ_CST);
		__atomic_fetch_add(&control->work, 1, __ATOMIC_RELEASE);
		futex_wake(&control->work);
		if (t->log.head + n - __atomic_load_n(&ring->tail, __ATOMIC_SEQ_CST) > RING_SIZE)
			futex_wait(&ring->waiting, 1, 100);
		if (SYS2(__NR_kill, control->heddle_pid, 0) == -ESRCH) {
			SYS1(__NR_exit_group, 122); /* heddle was killed: nobody is left to tell */
			__builtin_trap();
		}
	}
}

static void look_for_room(struct thread *t, size_t n)
{
	wait_for_room(t, n);
	t->log.room_until = __atomic_load_n(&t->log.ring->tail, __ATOMIC_ACQUIRE) + RING_SIZE;
}

void *log_reserve(struct thread *t, size_t n)
{
	/* tail only grows, so the old value errs on the safe side */
	if (unlikely(t->log.head + n > t->log.room_until))
		look_for_room(t, n);
	return t->log.data + t->log.head % RING_SIZE;
}

void log_commit(struct thread *t, size_t n)
{
	struct ring_header *ring = t->log.ring;
	uint64_t before = t->log.head;
	t->log.head += n;
	t->log.events++;
	ring->events = t->log.events;
	__atomic_store_n(&ring->head, t->log.head, __ATOMIC_RELEASE);
	/* wake heddle each time another quarter is full */
	if (unlikely((before ^ t->log.head) & (RING_SIZE / 4))) {
		__atomic_fetch_add(&control->work, 1, __ATOMIC_RELEASE);
		futex_wake(&control->work);
	}
}

void log_done(struct thread *t)
{
	if (!replaying && t->log.ring)
		__atomic_store_n(&t->log.ring->done, 1, __ATOMIC_RELEASE);
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

const struct entry *log_peek(struct thread *t)
{
	struct log *log = &t->log;
	if (log->head >= log->size)
		return 0;
	if (unlikely(log->head - log->window + ENTRY_MAX > REPLAY_WINDOW))
		map_window(t, log->head);
	return (const struct entry *)(log->data + (log->head - log->window));
}

void log_take(struct thread *t)
{
	const struct entry *e = log_peek(t);
	ASSERT(e);
	t->log.head += e->size;
	t->log.events++;
}

const struct block *entry_find(const struct entry *e, enum block_kind kind, int arg)
{
	for (const struct block *b = entry_blocks(e); b < entry_end(e); b = block_next(b))
		if (b->kind == kind && (arg < 0 || b->arg == arg))
			return b;
	return 0;
}
