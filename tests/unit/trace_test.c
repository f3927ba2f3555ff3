/*
 * The trace's files: does what goes into a ring come out of the log, and is every
 * damage noticed?
 *
 * What could go wrong: entries that wrap around the ring's end, a packer that dies
 * between writing a chunk and moving the tail (the chunk must not count twice) or
 * inside a chunk (the torn part must be cut), a reader that believes a size, a
 * flipped bit that gives other entries without an error.
 */
#define _GNU_SOURCE
#define XXH_STATIC_LINKING_ONLY
#include <assert.h>
#include <ftw.h>
#include "trace/list.c"
#include "trace/pack.c"
#include "trace/unpack.c"
#include "trace/cut.c"
#include "trace/check.c"

#define CHECK(condition) \
	((condition) ? (void)0 : (fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition), exit(1)))

static char dir[] = "/tmp/trace_test-XXXXXX";
static struct trace_problem problem;
static struct trace_packer *packer;
static uint64_t seed = 88172645463325252ull;

static uint64_t chance(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

/* ---- a writer, as the runtime's ------------------------------------------------------- */

static struct ring_header *header;
enum { WRITTEN_MAX = 32 << 20 };
static uint8_t written[WRITTEN_MAX]; /* everything that was put into this ring */
static uint64_t written_len;

static void make_ring(unsigned image, unsigned slot)
{
	char path[PATH_ROOM + 64];

	snprintf(path, sizeof path, "%s/%u.ring", dir, image);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	CHECK(fd >= 0 && !ftruncate(fd, RING_HEADER + RING_SIZE));
	header = mmap(NULL, RING_HEADER + RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(header != MAP_FAILED);
	close(fd);
	*header = (struct ring_header){
		.magic = RING_MAGIC, .version = TRACE_VERSION, .arch = TRACE_ARCH, .image = image, .slot = slot
	};
	written_len = 0;
}

static void drop_ring(void)
{
	munmap(header, RING_HEADER + RING_SIZE);
	header = NULL;
}

static void put(const struct entry *e)
{
	uint8_t *data = (uint8_t *)header + RING_HEADER;

	CHECK(header->head + e->size - header->tail <= RING_SIZE);
	for (uint32_t i = 0; i < e->size; i++)
		data[(header->head + i) % RING_SIZE] = ((const uint8_t *)e)[i];
	CHECK(written_len + e->size <= WRITTEN_MAX);
	memcpy(written + written_len, e, e->size);
	written_len += e->size;
	header->events++;
	header->head += e->size;
}

static uint64_t room[ENTRY_MAX / 8];

static struct block *first_block(struct entry *e)
{
	return (struct block *)((uint64_t *)(e + 1) + ENTRY_ARGS(e->flags) + (e->flags & ENTRY_TICKETS ? 2 : 0));
}

static void put_start(void)
{
	struct entry *e = (struct entry *)room;

	memset(room, 0, sizeof(struct entry) + sizeof(struct block) + sizeof(struct start_info));
	e->kind = ENTRY_START;
	first_block(e)->kind = BLOCK_START;
	first_block(e)->len = sizeof(struct start_info);
	e->size = sizeof *e + sizeof(struct block) + sizeof(struct start_info);
	put(e);
}

static void put_call(uint32_t len, uint8_t kind, uint8_t flags)
{
	struct entry *e = (struct entry *)room;
	uint32_t padded = (len + 7) & ~7u;

	*e = (struct entry){ .nr = 63, .kind = kind, .flags = flags, .result = len };
	struct block *b = first_block(e);
	for (uint64_t *p = (uint64_t *)(e + 1); p < (uint64_t *)b; p++)
		*p = chance() % 1000;
	*b = (struct block){ .addr = 0x1000, .len = len, .kind = BLOCK_OUT, .arg = 1 };
	memset(b + 1, 0, padded);
	for (uint32_t i = 0; i < len; i++)
		((uint8_t *)(b + 1))[i] = (uint8_t)(chance() % 16);
	e->size = (uint32_t)((uint8_t *)(b + 1) - (uint8_t *)room) + padded;
	put(e);
}

/* One that no level makes smaller. */
static void put_random(uint32_t len)
{
	struct entry *e = (struct entry *)room;

	*e = (struct entry){ .nr = 63, .kind = ENTRY_SYSCALL, .result = len, .size = (uint32_t)sizeof *e + 16 + len };
	*first_block(e) = (struct block){ .addr = 0x1000, .len = len, .kind = BLOCK_OUT, .arg = 1 };
	for (uint64_t *p = (uint64_t *)(first_block(e) + 1); p < (uint64_t *)((uint8_t *)e + e->size); p++)
		*p = chance();
	put(e);
}

/* ---- reading back --------------------------------------------------------------------------- */

/* Reads all entries of a log into *data. 0, or -1 with the problem. */
static int read_back(unsigned image, unsigned slot, const uint8_t **data, uint64_t *len)
{
	static uint8_t back[WRITTEN_MAX];
	struct trace_reader reader;
	const struct entry *e;
	int more;

	*data = back;
	*len = 0;
	if (trace_reader_open(&reader, dir, image, slot, &problem))
		return -1;
	while ((more = trace_read(&reader, &e, &problem)) > 0) {
		CHECK(*len + e->size <= WRITTEN_MAX);
		memcpy(back + *len, e, e->size);
		*len += e->size;
	}
	trace_reader_close(&reader);
	return more;
}

static void expect_written(unsigned image, unsigned slot)
{
	const uint8_t *data;
	uint64_t len;

	if (read_back(image, slot, &data, &len)) {
		fprintf(stderr, "%s\n", problem.text);
		exit(1);
	}
	CHECK(len == written_len && !memcmp(data, written, len));
}

static uint64_t file_size(const char *path)
{
	struct stat st;

	CHECK(!stat(path, &st));
	return (uint64_t)st.st_size;
}

/* ---- the tests ------------------------------------------------------------------------------- */

/* Far more than a ring holds, so that entries wrap around its end. */
static void round_trip(void)
{
	struct trace_ring *ring;

	make_ring(0, 0);
	put_start();
	CHECK((ring = trace_ring_open(dir, 0, &problem)) != NULL);
	for (int i = 0; i < 3000; i++) {
		uint32_t len = (uint32_t)(chance() % (i % 50 ? 3000 : 400000));
		if (header->head - header->tail > RING_SIZE - 500000)
			CHECK(!trace_ring_pack(ring, packer, 1, &problem));
		put_call(len, ENTRY_SYSCALL, 3 | (i % 3 ? 0 : ENTRY_TICKETS));
	}
	header->done = 1;
	CHECK(trace_ring_wants(ring) && header->tail < header->head);
	CHECK(!trace_ring_pack(ring, packer, 3, &problem) && header->tail == header->head);
	CHECK(!trace_ring_finish(ring, packer, 3, &problem) && !trace_ring_remove(ring, &problem));
	trace_ring_close(ring);
	drop_ring();
	expect_written(0, 0);
}

/* Large entries that do not shrink: after the first chunk they are kept as they are, until one is tried again. */
static void stored(void)
{
	struct trace_ring *ring;
	unsigned tried = 0, kept = 0;

	make_ring(9, 0);
	put_start();
	CHECK((ring = trace_ring_open(dir, 9, &problem)) != NULL);
	for (int i = 0; i < 2 * BULK_UNTRIED; i++) {
		put_random(i % 2 ? 5000 : 300000);
		uint64_t before = ring->log_end, raw = header->head - header->tail;
		*(ring->untried ? &kept : &tried) += 1;
		bool plain = ring->untried;
		CHECK(!trace_ring_pack(ring, packer, 1, &problem));
		if (plain)
			CHECK(ring->log_end - before >= raw && ring->log_end - before < raw + raw / 64 + 128);
	}
	CHECK(tried == 2 && kept == 2 * BULK_UNTRIED - 2);
	/* small entries shrink as ever */
	for (int i = 0; i < 1000; i++)
		put_call(40, ENTRY_SYSCALL, 3);
	uint64_t before = ring->log_end, raw = header->head - header->tail;
	CHECK(!trace_ring_pack(ring, packer, 1, &problem) && ring->log_end - before < raw / 2);
	CHECK(!trace_ring_finish(ring, packer, 3, &problem) && !trace_ring_remove(ring, &problem));
	trace_ring_close(ring);
	drop_ring();
	expect_written(9, 0);
}

/* Entries, as many as a reader finds: each is what was written, and has its number. */
static unsigned read_with_gap(unsigned image, unsigned slot, uint64_t kept, uint64_t from)
{
	struct trace_reader reader;
	const struct entry *e;
	unsigned found = 0;
	uint64_t number = 0;

	CHECK(!trace_reader_open(&reader, dir, image, slot, &problem));
	for (uint64_t at = 0; at < written_len; at += ((const struct entry *)(written + at))->size, number++) {
		if (at >= kept && at < from)
			continue;
		CHECK(trace_read(&reader, &e, &problem) == 1 && reader.event == number);
		CHECK(!memcmp(e, written + at, e->size));
		found++;
	}
	CHECK(!trace_read(&reader, &e, &problem));
	trace_reader_close(&reader);
	return found;
}

/* The middle of a log is dropped, and again, while it grows; an event that lies in two chunks is not torn. */
static void dropped(unsigned slot)
{
	unsigned image = 10 + slot;
	struct trace_ring *ring;
	struct trace_log log;
	char path[PATH_ROOM + 64];
	uint64_t kept = 0, from = 0;

	trace_path(path, dir, image, slot);
	make_ring(image, slot);
	if (slot)
		header->image = image;
	else
		put_start();
	CHECK((ring = trace_ring_open(dir, image, &problem)) != NULL);
	for (unsigned i = 0; i < 60; i++) {
		bool torn = i % 5 == 3; /* the next chunk begins with the rest of this event */
		put_call(100 + i, i % 5 == 4 ? ENTRY_MORE : ENTRY_SYSCALL, i % 5 == 4 ? 0 : torn ? ENTRY_CONTINUED : 3);
		CHECK(!trace_ring_pack(ring, packer, 1, &problem));
		if (!i && !slot)
			kept = ring->tail;
		if (i % 20 == 19) {
			uint64_t before = file_size(path);
			CHECK(!trace_ring_cut(ring, ring->tail - 700, &problem) && file_size(path) < before &&
			      file_size(path) == ring->log_end);
			CHECK(!trace_log_open(&log, path, image, slot, &problem) && log.cut && log.kept == kept);
			from = log.gap_end;
			CHECK(from <= ring->tail - 700 && from + 1000 > ring->tail - 700);
			trace_log_close(&log);
			CHECK(!trace_ring_cut(ring, from - 8, &problem)); /* nothing more is dropped */
		}
	}
	CHECK(!trace_ring_finish(ring, packer, 3, &problem) && !trace_ring_remove(ring, &problem));
	trace_ring_close(ring);
	drop_ring();
	CHECK(read_with_gap(image, slot, kept, from) < 12);

	/* each byte of its header counts */
	int fd = open(path, O_RDWR);
	for (unsigned at = 0; at < sizeof(struct log_cut_header); at++) {
		uint8_t byte, other;
		CHECK(pread(fd, &byte, 1, at) == 1);
		other = byte ^ 1;
		CHECK(pwrite(fd, &other, 1, at) == 1 && trace_log_open(&log, path, image, slot, &problem));
		CHECK(pwrite(fd, &byte, 1, at) == 1);
	}
	close(fd);
	CHECK(!unlink(path));
}

/* A writer that waits must be let go. */
static void wakes_writer(void)
{
	struct trace_ring *ring;

	make_ring(1, 0);
	put_start();
	CHECK((ring = trace_ring_open(dir, 1, &problem)) != NULL);
	CHECK(!trace_ring_wants(ring));
	header->waiting = 1;
	CHECK(trace_ring_wants(ring) && !trace_ring_pack(ring, packer, 1, &problem));
	CHECK(!header->waiting && header->tail == header->head);
	trace_ring_close(ring);
	drop_ring();
	CHECK(!trace_finish_rings(dir, packer, 3, &problem));
	expect_written(1, 0);
}

/* The packer died after writing the chunk, before it moved the tail. */
static void duplicate_chunk(void)
{
	struct trace_ring *ring;

	make_ring(2, 0);
	put_start();
	put_call(100, ENTRY_SYSCALL, 3);
	CHECK((ring = trace_ring_open(dir, 2, &problem)) != NULL);
	CHECK(!trace_ring_pack(ring, packer, 1, &problem));
	uint64_t tail = header->tail;
	put_call(200, ENTRY_SYSCALL, 3);
	CHECK(!trace_ring_pack(ring, packer, 1, &problem));
	header->tail = tail;
	put_call(300, ENTRY_SYSCALL, 3);
	trace_ring_close(ring);
	drop_ring();
	CHECK(!trace_finish_rings(dir, packer, 3, &problem));
	expect_written(2, 0);
}

/* The packer died inside a chunk: at each byte of it. */
static void torn_chunk(void)
{
	struct trace_ring *ring;
	char path[PATH_ROOM + 64];

	trace_path(path, dir, 3, 0);
	make_ring(3, 0);
	put_start();
	CHECK((ring = trace_ring_open(dir, 3, &problem)) != NULL);
	CHECK(!trace_ring_pack(ring, packer, 1, &problem));
	uint64_t tail = header->tail, size = file_size(path);
	put_call(100, ENTRY_SYSCALL, 3);
	CHECK(!trace_ring_pack(ring, packer, 1, &problem));
	trace_ring_close(ring);
	for (uint64_t cut = file_size(path) - 1; cut >= size; cut--) {
		header->tail = tail;
		CHECK(!truncate(path, (off_t)cut));
		CHECK((ring = trace_ring_open(dir, 3, &problem)) != NULL);
		CHECK(file_size(path) == size && header->tail == tail);
		trace_ring_close(ring);
	}
	/* cut more than is in the ring: that is damage, and must be said */
	CHECK(!truncate(path, (off_t)size - 1));
	CHECK(!trace_ring_open(dir, 3, &problem) && strstr(problem.text, path));
	CHECK(!truncate(path, 0));
	CHECK(!trace_ring_open(dir, 3, &problem));
	header->tail = 0; /* now the ring has everything */
	CHECK((ring = trace_ring_open(dir, 3, &problem)) != NULL);
	CHECK(!trace_ring_finish(ring, packer, 3, &problem) && !trace_ring_remove(ring, &problem));
	trace_ring_close(ring);
	drop_ring();
	expect_written(3, 0);
}

/* The packer died after the last chunk, before it removed the ring: ENTRY_LAST must not count twice. */
static void duplicate_last(void)
{
	struct trace_ring *ring;
	const uint8_t *data;
	uint64_t len;

	make_ring(7, 0);
	put_start();
	put_call(100, ENTRY_SYSCALL, 3);
	header->front[0] = 42;
	for (int i = 0; i < 3; i++) {
		CHECK((ring = trace_ring_open(dir, 7, &problem)) != NULL);
		CHECK(!trace_ring_finish(ring, packer, 1, &problem));
		trace_ring_close(ring);
		CHECK(!read_back(7, 0, &data, &len) && len == written_len + sizeof(struct entry) + 8);
	}
	const struct entry *last = (const void *)(data + written_len);
	CHECK(last->kind == ENTRY_LAST && last->result == 42 && !memcmp(data, written, written_len));
	drop_ring();
	CHECK(!trace_finish_rings(dir, packer, 3, &problem));
}

/* A ring is used again only when nobody has it in sight, and then it is as good as new. */
static void reuse(void)
{
	struct trace_ring *ring;

	make_ring(8, 0);
	put_start();
	CHECK((ring = trace_ring_open(dir, 8, &problem)) != NULL);
	header->done = RING_DONE;
	CHECK(!trace_ring_finish(ring, packer, 1, &problem) && !trace_ring_reuse(ring));
	header->done = RING_LEFT;
	header->forks = 1;
	CHECK(!trace_ring_reuse(ring));
	header->forks = 0;
	CHECK(trace_ring_reuse(ring) && !trace_ring_ready(ring, &problem) && !header->head && !header->done);
	expect_written(8, 0);
	*header = (struct ring_header){
		.magic = RING_MAGIC, .version = TRACE_VERSION, .arch = TRACE_ARCH, .image = 8, .slot = 1
	};
	written_len = 0;
	put_start();
	put_call(10, ENTRY_SYSCALL, 3);
	CHECK(trace_ring_ready(ring, &problem) == 1 && !trace_ring_finish(ring, packer, 1, &problem));
	expect_written(8, 1);
	CHECK(!trace_ring_remove(ring, &problem));
	trace_ring_close(ring);
	drop_ring();
}

/* The thread died between an entry and its ENTRY_MORE: a reader is told, also if much of the event was packed before, and
   finds how far the thread had come. */
static void cut_event(void)
{
	char path[PATH_ROOM];
	struct trace_list list;
	struct trace_ring *ring;

	make_ring(4, 0);
	put_start();
	put_call(100, ENTRY_SYSCALL, 3 | ENTRY_CONTINUED);
	put_call(100, ENTRY_MORE, 0);
	put_call(100, ENTRY_SYSCALL, 3 | ENTRY_CONTINUED);
	CHECK((ring = trace_ring_open(dir, 4, &problem)) != NULL && !trace_ring_pack(ring, packer, 1, &problem));
	trace_ring_close(ring);
	put_call(100, ENTRY_MORE, ENTRY_CONTINUED);
	CHECK((ring = trace_ring_open(dir, 4, &problem)) != NULL && !trace_ring_pack(ring, packer, 1, &problem));
	trace_ring_close(ring);
	header->front[0] = 42;
	drop_ring();
	CHECK(!trace_finish_rings(dir, packer, 3, &problem));
	CHECK(!trace_list_read(&list, dir, &problem) && !trace_list_measure(&list, dir, &problem));
	CHECK(list.nstreams == 5 && list.streams[4].image == 4 && list.streams[4].events == 7);
	snprintf(path, sizeof path, "%s/raw", dir);
	CHECK(!trace_unpack(dir, &list.streams[4], path, NULL, NULL, &problem));
	const uint8_t *data;
	uint64_t len;
	CHECK(!read_back(4, 0, &data, &len) && len == file_size(path) &&
	      len == written_len + 2 * sizeof(struct entry) + 8);
	const struct entry *cut = (const void *)(data + written_len);
	CHECK(cut->kind == ENTRY_CUT && cut[1].kind == ENTRY_LAST && cut[1].result == 42);
	unlink(path);
	CHECK(!trace_check(dir, &list, NULL, NULL, NULL, &problem));
	list.streams[4].events++;
	CHECK(trace_check(dir, &list, NULL, NULL, NULL, &problem) == -1);
	trace_list_free(&list);
}

/* The program's wild store hit the ring. */
static void damaged_ring(void)
{
	struct trace_ring *ring;

	make_ring(5, 0);
	put_start();
	put_call(100, ENTRY_SYSCALL, 3);
	CHECK((ring = trace_ring_open(dir, 5, &problem)) != NULL);
	uint64_t head = header->head;
	header->head = head + 8;
	CHECK(trace_ring_pack(ring, packer, 1, &problem) == -1 && strstr(problem.text, "5.ring, byte "));
	header->head = head + 2 * RING_SIZE;
	CHECK(trace_ring_pack(ring, packer, 1, &problem) == -1);
	header->head = head;
	CHECK(!trace_ring_finish(ring, packer, 3, &problem) && !trace_ring_remove(ring, &problem));
	trace_ring_close(ring);
	drop_ring();
	expect_written(5, 0);
}

/* Names that only look like ours. */
static void names(void)
{
	unsigned n = 7, m = 7;

	CHECK(trace_is_log("p0.t12.log", &n, &m) && n == 0 && m == 12);
	CHECK(trace_is_log("p4294967295.t0.log", &n, &m) && n == UINT32_MAX && m == 0);
	CHECK(!trace_is_log("p.t0.log", &n, &m) && !trace_is_log("p01.t0.log", &n, &m));
	CHECK(!trace_is_log("p4294967296.t0.log", &n, &m) && !trace_is_log("p+1.t0.log", &n, &m));
	CHECK(!trace_is_log("p1.t0.log ", &n, &m) && !trace_is_log("q1.t0.log", &n, &m) && !trace_is_log("p1", &n, &m));
	CHECK(!trace_is_log("p1.t0.ring", &n, &m) && !trace_is_log("p1.t.log", &n, &m) &&
	      !trace_is_log("p1t0.log", &n, &m));
	CHECK(trace_is_ring("7.ring", &n) && n == 7 && !trace_is_ring("07.ring", &n) && !trace_is_ring("7.log", &n));
}

static void write_whole(const char *path, const uint8_t *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_TRUNC);

	CHECK(fd >= 0 && write(fd, data, len) == (ssize_t)len);
	close(fd);
}

/* Flips, cuts, copies and inserts at random: an error, or the very same entries. A cut at a
   chunk's end leaves a good log, which the sizes in meta.json tell from a whole one. */
static void mutations(void)
{
	char path[PATH_ROOM + 64];
	static uint8_t good[1 << 16], bad[1 << 17];
	struct trace_stream expected = { .image = 6 };
	struct trace_ring *ring;
	unsigned noticed = 0;

	make_ring(6, 0);
	put_start();
	CHECK((ring = trace_ring_open(dir, 6, &problem)) != NULL);
	for (int i = 0; i < 60; i++) {
		put_call((uint32_t)(chance() % 200), ENTRY_SYSCALL, 3 | ENTRY_TICKETS);
		if (i % 20 == 9)
			CHECK(!trace_ring_pack(ring, packer, 1, &problem));
	}
	CHECK(!trace_ring_finish(ring, packer, 3, &problem) && !trace_ring_remove(ring, &problem));
	trace_ring_close(ring);
	expected.raw = header->head;
	expected.events = header->events;
	drop_ring();
	trace_path(path, dir, 6, 0);
	size_t size = file_size(path);
	CHECK(size < sizeof good);
	int fd = open(path, O_RDONLY);
	CHECK(read(fd, good, size) == (ssize_t)size);
	close(fd);
	for (int i = 0; i < 2000; i++) {
		size_t len = size, at = chance() % size, n = 1 + chance() % 64;
		memcpy(bad, good, size);
		switch (chance() % 4) {
		case 0: bad[at] ^= (uint8_t)(1u << chance() % 8); break;
		case 1: len = at; break;
		case 2:
			memmove(bad + at + n, bad + at, size - at);
			len += n;
			break;
		default:
			for (size_t j = at; j < at + n && j < size; j++)
				bad[j] = (uint8_t)chance();
		}
		write_whole(path, bad, len);
		bool same = len == size && !memcmp(good, bad, size);
		int result = trace_unpack(dir, &expected, NULL, NULL, NULL, &problem);
		CHECK(same ? !result : result == -1 && strstr(problem.text, "t0.log"));
		noticed += result != 0;
		/* dump's way in, without the list: never other entries */
		const uint8_t *data;
		uint64_t data_len;
		read_back(6, 0, &data, &data_len);
		CHECK(data_len <= written_len && !memcmp(data, written, data_len));
	}
	CHECK(noticed > 1900);
	write_whole(path, good, size);
	expect_written(6, 0);
}

/* Entries that fit their checksum but are nonsense: sealed by somebody who meant harm. */
static void sealed_nonsense(void)
{
	static uint64_t entry[64], changed[64];
	struct entry *e = (struct entry *)entry;
	struct block *b = (struct block *)(e + 1);

	*e = (struct entry){ .size = 64, .kind = ENTRY_SYSCALL, .flags = 0 };
	*b = (struct block){ .len = 30, .kind = BLOCK_OUT };
	CHECK(!trace_entry_flaw(e, 64, &(struct trace_state){ 0 }));
	CHECK(trace_entry_flaw(e, 56, &(struct trace_state){ 0 }));
	CHECK(trace_entry_flaw(e, 64, &(struct trace_state){ .first_slot = true }));
	CHECK(trace_entry_flaw(e, 64, &(struct trace_state){ .continued = true }));
	for (int i = 0; i < 200000; i++) { /* must not crash; ASan looks at what is read */
		uint64_t *exact = malloc(64);
		memcpy(changed, entry, 64);
		for (int j = 0; j < 3; j++)
			((uint8_t *)changed)[chance() % 32] = (uint8_t)chance();
		memcpy(exact, changed, 64);
		const struct entry *f = (const struct entry *)exact;
		if (!trace_entry_flaw(f, 64, &(struct trace_state){ .begun = true }))
			for (const struct block *p = NULL; (p = trace_next_block(f, p));)
				CHECK((const uint8_t *)(p + 1) + trace_block_data(p) <= (const uint8_t *)f + f->size);
		free(exact);
	}
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)st, (void)kind, (void)where;
	return remove(path);
}

int main(void)
{
	CHECK(mkdtemp(dir) && (packer = trace_packer_new()));
	round_trip();
	wakes_writer();
	duplicate_chunk();
	torn_chunk();
	cut_event();
	damaged_ring();
	duplicate_last();
	reuse();
	stored();
	dropped(0);
	dropped(1);
	names();
	mutations();
	sealed_nonsense();
	trace_packer_free(packer);
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	puts("trace_test: ok");
	return 0;
}
