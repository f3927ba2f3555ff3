/*
 * The engine behind the rows: what a call reads and writes goes into its entry
 * when recording, and comes out of it at replay.
 *
 * Outputs: the kernel writes into the ring, where the bytes belong anyway, and
 * they are then copied to the program. So the program's memory changes in one
 * place, under our control, and exactly what the kernel wrote is logged. Outputs
 * with more room than RING_OUTPUT go through a scratch buffer and are cut into
 * several entries if need be.
 */
#include "runtime/runtime.h"
#include <linux/mman.h>
#include <linux/uio.h>

#define RING_OUTPUT (128u << 10)
#define INPUT_ROOM  (24u << 10) /* strings and hashes of one call: five of at most PATH_ROOM */

/* The kernel's struct msghdr. */
struct message {
	uint64_t name;
	uint32_t name_len, pad;
	uint64_t iov, iov_len, control, control_len;
	uint32_t flags, pad2;
};

struct output {
	uint64_t user; /* where the program wants it */
	uint8_t *from; /* where the kernel puts it */
	uint32_t room, arg;
	const struct sys_io *io;
	uint64_t length_user;  /* OUT_LENGTH: where the program keeps the length */
	uint32_t length;       /* OUT_LENGTH: what the kernel made of it */
	struct vector *vector; /* OUT_IOV, OUT_MSG */
};

/* What the kernel gets instead of the program's iovec or message; a call has at most one. */
struct vector {
	struct iovec iov;
	struct message msg;
};

/* ---- the program's memory ------------------------------------------------------- */

long user_strlen(const char *s, size_t max)
{
	size_t n = 0;
	while (n < max) {
		size_t page = MIN(max - n, 4096 - ((uint64_t)(s + n) & 4095));
		if (user_probe(s + n, 1))
			return -EFAULT;
		for (size_t i = 0; i < page; i++)
			if (!s[n + i])
				return (long)(n + i);
		n += page;
	}
	return (long)max;
}

static uint8_t *scratch(struct thread *t, uint64_t n)
{
	if (t->scratch_size >= n)
		return t->scratch;
	if (t->scratch)
		SYS2(__NR_munmap, t->scratch, t->scratch_size);
	n = ALIGN_UP(n, 1 << 20);
	static uint64_t next;
	long r = -EEXIST;
	for (int tries = 0; r == -EEXIST && tries < 64; tries++) {
		uint64_t at = __atomic_fetch_add(&next, n, __ATOMIC_RELAXED) % (MAP_SCRATCH_END - MAP_SCRATCH_BASE - n);
		r = SYS6(__NR_mmap, MAP_SCRATCH_BASE + ALIGN_DOWN(at, 1 << 20), n, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	}
	if (is_error(r))
		cannot("no memory for a system call's buffer of %u bytes", n);
	t->scratch = (uint8_t *)r;
	t->scratch_size = n;
	return t->scratch;
}

/* A very large buffer is given back at once. */
static void scratch_done(struct thread *t)
{
	if (t->scratch_size > (4u << 20)) {
		SYS2(__NR_munmap, t->scratch, t->scratch_size);
		t->scratch = 0;
		t->scratch_size = 0;
	}
}

/* ---- an entry under construction --------------------------------------------------- */

static void begin_entry(struct call *c, size_t room)
{
	c->base = log_reserve(c->t, room);
	c->limit = c->base + room;
	c->at = c->base + sizeof(struct entry);
}

void call_begin(struct call *c)
{
	unsigned nargs = sys_nargs(c->row);
	if (unlikely(c->t->front->chaos))
		chaos_perturb(c->t);
	begin_entry(c, sizeof(struct entry) + 64 + INPUT_ROOM + RING_OUTPUT + IO_MAX * 64);
	uint64_t *at = (uint64_t *)c->at;
	for (unsigned i = 0; i < nargs; i++)
		at[i] = c->args[i];
	c->at += nargs * 8;
	if (!(c->row->flags & SYS_NO_ORDER))
		c->entry_ticket = ticket_take();
}

static void commit_entry(struct call *c, unsigned flags)
{
	struct entry *e = (struct entry *)c->base;
	*e = (struct entry){ .size = (uint32_t)(c->at - c->base),
			     .nr = (uint16_t)c->nr,
			     .kind = c->kind,
			     .flags = (uint8_t)(c->flags | flags),
			     .result = c->result };
	log_commit(c->t, e->size);
}

void entry_begin(struct call *c, enum entry_kind kind)
{
	c->kind = kind;
	c->flags = 0;
	begin_entry(c, ENTRY_MAX / 2);
}

void entry_room(struct call *c, size_t n)
{
	if (c->at + sizeof(struct block) + ALIGN_UP(n, 8) + 64 <= c->limit)
		return;
	/* The entry so far becomes final, and another one continues it. */
	commit_entry(c, ENTRY_CONTINUED);
	entry_begin(c, ENTRY_MORE);
}

void entry_finish(struct call *c)
{
	commit_entry(c, 0);
}

void call_block(struct call *c, enum block_kind kind, unsigned arg, uint64_t addr, uint32_t len, const void *data)
{
	struct block b = { .addr = addr, .len = len, .kind = kind, .arg = (uint8_t)arg };
	uint32_t n = block_data_len(&b);
	ASSERT(c->at + sizeof b + ALIGN_UP(n, 8) <= c->limit);
	/* Data first: it may lie where the header goes. It never lies below its new place. */
	uint8_t *to = c->at + sizeof b;
	if (n && data != to)
		memmove(to, data, n);
	while (n & 7)
		to[n++] = 0;
	memcpy(c->at, &b, sizeof b);
	c->at = to + n;
}

/*
 * Tickets are left out when nobody else was between this thread's last exit and
 * this one. Otherwise everything up to `end` moves up by 16 bytes.
 */
static unsigned add_tickets(struct call *c, uint8_t *end)
{
	if (c->row->flags & SYS_NO_ORDER)
		return 0;
	uint64_t now = __atomic_load_n(&tickets, __ATOMIC_RELAXED);
	bool alone = c->entry_ticket == c->t->ticket && now == c->entry_ticket + 1;
	c->t->ticket = now;
	if (likely(alone))
		return 0;
	insert_tickets((uint64_t *)(c->base + sizeof(struct entry) + 8 * sys_nargs(c->row)), end, c->entry_ticket, now);
	c->at += 16;
	return ENTRY_TICKETS;
}

void call_end(struct call *c)
{
	c->kind = ENTRY_SYSCALL;
	c->flags = (uint8_t)(add_tickets(c, c->at) | sys_nargs(c->row));
	commit_entry(c, 0);
}

/* ---- inputs -------------------------------------------------------------------------- */

static bool hash_iov(const struct iovec *iov, uint64_t count, uint64_t *hash, uint64_t *total)
{
	*hash = 0;
	*total = 0;
	for (uint64_t i = 0; i < count && i < 1024; i++) {
		struct iovec v;
		if (user_copy(&v, iov + i, sizeof v) || user_probe(v.iov_base, v.iov_len))
			return false;
		*hash = hash_bytes(v.iov_base, v.iov_len, *hash);
		*total += v.iov_len;
	}
	return true;
}

/* What a rule's input hashes to; false if it cannot be read (the kernel will say EFAULT). */
static bool hash_input(const struct sys_io *io, const uint64_t args[6], uint64_t *hash, uint64_t *len)
{
	uint64_t p = args[io->arg];
	struct message m;
	switch ((enum io_rule)io->rule) {
	case IN_BYTES: *len = io->size_arg == NO_ARG ? io->unit : io->unit * args[io->size_arg]; break;
	case IN_IOV: return hash_iov((void *)p, args[io->size_arg], hash, len);
	case IN_MSG: return !user_copy(&m, (void *)p, sizeof m) && hash_iov((void *)m.iov, m.iov_len, hash, len);
	default: return false;
	}
	if (*len > UINT32_MAX || user_probe((void *)p, *len))
		return false;
	*hash = hash_bytes((void *)p, *len, 0);
	return true;
}

void call_inputs(struct call *c)
{
	for (int i = 0; i < IO_MAX && c->io[i].rule; i++) {
		const struct sys_io *io = &c->io[i];
		uint64_t p = c->args[io->arg], hash, len;
		if (!p)
			continue;
		if (io->rule == IN_STRING) {
			const char *text = (const char *)c->real[io->arg];
			long n = user_strlen(text, PATH_ROOM);
			if (n >= 0)
				call_block(c, BLOCK_STRING, io->arg, p, (uint32_t)n, text);
		} else if (io->rule <= IN_MSG && hash_input(io, c->real, &hash, &len)) {
			call_block(c, BLOCK_HASH, io->arg, p, (uint32_t)len, &hash);
		}
	}
}

/* ---- outputs, recording ------------------------------------------------------------------ */

static uint64_t iov_total(const struct iovec *iov, uint64_t count)
{
	uint64_t total = 0;
	if (count > 1024)
		return 0; /* the kernel will say EINVAL */
	for (uint64_t i = 0; i < count; i++) {
		struct iovec v;
		if (user_copy(&v, iov + i, sizeof v))
			return 0;
		total += v.iov_len;
	}
	return total;
}

/* How many bytes the kernel may write for this rule; 0: none, or the program's pointer is bad. */
static uint64_t output_room(struct call *c, struct output *o)
{
	const struct sys_io *io = o->io;
	switch ((enum io_rule)io->rule) {
	case OUT_FIXED:
	case OUT_EINTR:
	case INOUT_FIXED: return io->unit;
	case OUT_RESULT:
	case OUT_ARG:
	case INOUT_ARG: return (uint64_t)io->unit * c->args[io->size_arg];
	case OUT_LENGTH:
		o->length_user = c->args[io->size_arg];
		if (!o->length_user || user_copy(&o->length, (void *)o->length_user, 4) || (int32_t)o->length < 0)
			return 0;
		return o->length;
	case OUT_IOV: return iov_total((void *)o->user, c->args[io->size_arg]);
	case OUT_MSG:
		if (user_copy(&o->vector->msg, (void *)o->user, sizeof o->vector->msg))
			return 0;
		return iov_total((void *)o->vector->msg.iov, o->vector->msg.iov_len) +
		       ALIGN_UP(o->vector->msg.name_len, 8) + ALIGN_UP(o->vector->msg.control_len, 8) + 16;
	default: return 0;
	}
}

/* Points the kernel to our copy instead of the program's memory. */
static void redirect(struct call *c, struct output *o)
{
	const struct sys_io *io = o->io;
	switch ((enum io_rule)io->rule) {
	case INOUT_ARG:
	case INOUT_FIXED:
		if (user_copy(o->from, (void *)o->user, o->room))
			return; /* the kernel gets the bad pointer and says EFAULT */
		break;
	case OUT_IOV:
		o->vector->iov = (struct iovec){ o->from, o->room };
		c->real[io->arg] = (uint64_t)&o->vector->iov;
		c->real[io->size_arg] = 1;
		return;
	case OUT_MSG: {
		struct message *m = &o->vector->msg;
		uint8_t *data = o->from;
		uint64_t n = iov_total((void *)m->iov, m->iov_len);
		o->vector->iov = (struct iovec){ data, n };
		data += ALIGN_UP(n, 8);
		struct message real = *m;
		real.iov = (uint64_t)&o->vector->iov;
		real.iov_len = 1;
		real.name = m->name ? (uint64_t)data : 0;
		data += ALIGN_UP(m->name_len, 8);
		real.control = m->control ? (uint64_t)data : 0;
		o->vector->msg = real;
		c->real[io->arg] = (uint64_t)&o->vector->msg;
		return;
	}
	case OUT_LENGTH: c->real[io->size_arg] = (uint64_t)&o->length; break;
	default: break;
	}
	c->real[io->arg] = (uint64_t)o->from;
}

/* Where bytes that call_block() has added last stay until the call is over. It moves what lies in the ring. What does not
   (scratch memory) stays where it is: a ring may have come round before all of it is in there. */
static const void *stays_at(const struct call *c, const uint8_t *from, uint64_t n)
{
	uint64_t at = (uint64_t)from - (uint64_t)c->t->log.data;
	return at < 2 * RING_SIZE ? c->at - ALIGN_UP(n, 8) : from;
}

/* Adds bytes that the kernel wrote, in as many entries as it takes, and gives them to the program. */
static long give(struct call *c, unsigned arg, uint64_t user, const uint8_t *from, uint64_t n)
{
	long r = 0;
	const uint8_t *p = from;
	uint64_t to = user, left = n;
	while (left) {
		uint64_t piece = left, room = (uint64_t)(c->limit - c->at);
		if (room < sizeof(struct block) + ALIGN_UP(left, 8) + 64) {
			if (room < 4096) {
				entry_room(c, 4096);
				continue;
			}
			piece = MIN(left, ALIGN_DOWN(room - sizeof(struct block) - 64, 8));
		}
		call_block(c, BLOCK_OUT, arg, to, (uint32_t)piece, p);
		r |= order_give(c->t, to, stays_at(c, p, piece), piece);
		p += piece;
		to += piece;
		left -= piece;
	}
	return r;
}

static long give_iov(struct call *c, unsigned arg, const struct iovec *iov, uint64_t count, const uint8_t *from,
		     uint64_t n)
{
	for (uint64_t i = 0; i < count && n; i++) {
		struct iovec v;
		if (user_copy(&v, iov + i, sizeof v))
			return -EFAULT;
		uint64_t part = MIN(n, v.iov_len);
		if (give(c, arg, (uint64_t)v.iov_base, from, part))
			return -EFAULT;
		from += part;
		n -= part;
	}
	return 0;
}

/* What recvmsg changed in the header itself: name_len, control_len, flags. */
static long give_message(struct call *c, struct output *o)
{
	struct message theirs, *m = &o->vector->msg;
	if (user_copy(&theirs, (void *)o->user, sizeof theirs))
		return -EFAULT;
	uint64_t n = MIN((uint64_t)c->result, o->vector->iov.iov_len);
	long r = give_iov(c, o->arg, (void *)theirs.iov, theirs.iov_len, o->vector->iov.iov_base, n);
	if (theirs.name)
		r |= give(c, o->arg, theirs.name, (void *)m->name, MIN(m->name_len, theirs.name_len));
	if (theirs.control)
		r |= give(c, o->arg, theirs.control, (void *)m->control, MIN(m->control_len, theirs.control_len));
	theirs.name_len = m->name_len;
	theirs.control_len = m->control_len;
	theirs.flags = m->flags;
	return r | give(c, o->arg, o->user, (uint8_t *)&theirs, sizeof theirs);
}

static uint64_t output_size(const struct call *c, const struct output *o)
{
	if (o->io->rule == OUT_EINTR)
		return c->result == -EINTR ? o->io->unit : 0;
	/* what went in comes back as the kernel left it, whatever the result */
	if (o->io->rule == INOUT_FIXED || o->io->rule == INOUT_ARG)
		return o->room;
	if (c->result < 0)
		return 0;
	switch ((enum io_rule)o->io->rule) {
	case OUT_RESULT: return MIN((uint64_t)c->result * o->io->unit, o->room);
	case OUT_LENGTH: return MIN(o->length, o->room);
	default: return o->room;
	}
}

static long give_output(struct call *c, struct output *o)
{
	const struct sys_io *io = o->io;
	if (io->rule == OUT_IOV)
		return c->result > 0 ? give_iov(c, o->arg, (void *)o->user, c->args[io->size_arg], o->from,
						(uint64_t)c->result) :
				       0;
	if (io->rule == OUT_MSG)
		return c->result >= 0 ? give_message(c, o) : 0;
	uint8_t *before = c->at;
	long r = give(c, o->arg, o->user, o->from, output_size(c, o));
	if (r && io->rule == INOUT_FIXED) {
		/* what cannot be written back (a constant timeout) the kernel leaves alone, too */
		c->at = before;
		r = 0;
	}
	if (io->rule == OUT_LENGTH && c->result >= 0)
		r |= give(c, io->size_arg, o->length_user, (uint8_t *)&o->length, 4);
	return r;
}

/* ---- signal masks of ppoll and its kin ------------------------------------------------------ */

struct mask_copy {
	uint64_t mask;
	uint64_t pair[2]; /* pselect6 passes {mask, size} */
};

static void take_mask(struct call *c, struct mask_copy *m)
{
	uint64_t p = c->args[c->row->mask_arg];
	bool pair = c->nr == __NR_pselect6;
	if (pair && p) {
		if (user_copy(m->pair, (void *)p, sizeof m->pair))
			return;
		p = m->pair[0];
	}
	if (!p || user_copy(&m->mask, (void *)p, 8))
		return;
	c->t->wait_mask = m->mask;
	c->t->waiting = true;
	signals_update_held(c->t);
	m->mask = signals_kernel_mask(m->mask);
	m->pair[0] = (uint64_t)&m->mask;
	c->real[c->row->mask_arg] = pair ? (uint64_t)m->pair : (uint64_t)&m->mask;
}

/* ---- record -------------------------------------------------------------------------------- */

void call_kernel(struct call *c)
{
	if (c->row->flags & SYS_WAITS)
		c->result = gate_wait(&c->t->held, c->nr, c->real);
	else
		c->result = gate(c->nr, (long)c->real[0], (long)c->real[1], (long)c->real[2], (long)c->real[3],
				 (long)c->real[4], (long)c->real[5]);
	c->restart = c->result == GATE_HELD;
}

void touch_output(uint8_t *from, const uint8_t *to)
{
	for (volatile uint8_t *p = from; p < to + 4096; p += 4096)
		*p = *p;
}

/* ---- the general way ------------------------------------------------------------------------------ */

/* Where the outputs go: one after the other in the ring, behind room for their block headers. */
static int place_outputs(struct call *c, struct output *out, struct vector *vector, bool *uses_scratch)
{
	int n = 0;
	uint64_t total = 0;
	*uses_scratch = false;
	for (int i = 0; i < IO_MAX && c->io[i].rule; i++) {
		struct output *o = &out[n];
		*o = (struct output){
			.io = &c->io[i], .arg = c->io[i].arg, .user = c->args[c->io[i].arg], .vector = vector
		};
		if (c->io[i].rule < OUT_FIXED || !o->user)
			continue;
		uint64_t room = output_room(c, o);
		if (!room && o->io->rule != OUT_LENGTH)
			continue;
		if (room > (1ull << 31)) /* the kernel itself transfers less at once */
			room = 1ull << 31;
		o->room = (uint32_t)room;
		/* pieces with headers between them take more room than the kernel's one piece */
		*uses_scratch |= o->io->rule == OUT_IOV || o->io->rule == OUT_MSG;
		total += ALIGN_UP(room, 8) + sizeof(struct block);
		n++;
	}
	*uses_scratch |= total > RING_OUTPUT;
	uint8_t *p = *uses_scratch ? scratch(c->t, total) : c->at;
	for (int i = 0; i < n; i++) {
		out[i].from = p + sizeof(struct block);
		p = out[i].from + ALIGN_UP(out[i].room, 8);
		redirect(c, &out[i]);
	}
	return n;
}

/* A write to a file that is also mapped shared has changed that memory, behind the program's back. */
static void note_patches(struct call *c)
{
	struct shared_file found[SHARED_FILES];
	unsigned n = (c->row->flags & SYS_WRITES) && c->result > 0 ? shared_files_written(c, found) : 0;
	for (unsigned i = 0; i < n; i++) {
		uint64_t at = found[i].addr, left = found[i].len;
		while (left) {
			uint32_t piece = (uint32_t)MIN(left, 65536);
			entry_room(c, piece);
			call_block(c, BLOCK_PATCH, 1, at, piece, (void *)at);
			at += piece;
			left -= piece;
		}
	}
}

static void record(struct call *c)
{
	struct output out[IO_MAX];
	struct vector vector;
	struct mask_copy mask;
	bool uses_scratch;
	call_begin(c);
	call_inputs(c);
	int n = place_outputs(c, out, &vector, &uses_scratch);
	if (c->row->flags & SYS_MASK)
		take_mask(c, &mask);
	uint64_t place = NOT_SHOWN;
	bool shown = (c->row->flags & SYS_WRITES) && shown_class(c->t->process, c->args[0]);
	if (shown)
		place = shown_write(c);
	else
		call_kernel(c);
	if (unlikely(c->restart)) {
		if (shown)
			shown_written();
		c->t->dropped_ticket = c->row->flags & SYS_NO_ORDER ? 0 : c->entry_ticket + 1;
		return; /* the entry was never committed */
	}
	bool in_ring = n && !uses_scratch;
	uint8_t *end = in_ring ? out[n - 1].from + ALIGN_UP(out[n - 1].room, 8) : c->at;
	if (unlikely(c->result == -EFAULT && in_ring))
		touch_output(c->at, end);
	c->kind = ENTRY_SYSCALL;
	c->flags = (uint8_t)(add_tickets(c, end) | sys_nargs(c->row));
	if (unlikely(in_ring && (c->flags & ENTRY_TICKETS)))
		for (int i = 0; i < n; i++)
			out[i].from += 16;
	if (place != NOT_SHOWN)
		call_block(c, BLOCK_SHOWN, shown_class(c->t->process, c->args[0]), place, 0, 0);
	if (unlikely(shared_file_count))
		note_patches(c);
	long fault = 0;
	for (int i = 0; i < n; i++)
		fault |= give_output(c, &out[i]);
	if (unlikely(fault))
		c->result = -EFAULT;
	commit_entry(c, 0);
	if (shown)
		shown_written();
	order_given(c->t);
	if (unlikely(uses_scratch))
		scratch_done(c->t);
}

/* ---- replay ----------------------------------------------------------------------------------- */

static void compare_arguments(struct call *c, const struct entry *e)
{
	if (e->kind != ENTRY_SYSCALL || e->nr != c->nr)
		diverged_call(c, e, "another event was recorded here");
	const uint64_t *recorded = (const uint64_t *)(e + 1);
	for (unsigned i = 0; i < ENTRY_ARGS(e->flags); i++)
		if (recorded[i] != c->args[i])
			diverged_call(c, e, "the arguments differ");
}

static void compare_input(struct call *c, const struct entry *e, const struct block *b)
{
	const void *now = (void *)c->real[b->arg];
	if (b->kind == BLOCK_STRING) {
		if (user_strlen(now, b->len + 1) != (long)b->len || memcmp(now, block_data(b), b->len))
			diverged_call(c, e, "the text passed differs");
		return;
	}
	for (int i = 0; i < IO_MAX && c->io[i].rule; i++) {
		uint64_t hash, len;
		if (c->io[i].arg != b->arg || !hash_input(&c->io[i], c->real, &hash, &len))
			continue;
		if (len != b->len || memcmp(&hash, block_data(b), 8))
			diverged_call(c, e, "the data passed differs");
	}
}

/* Shows what this write sent, from the program's memory. */
static void show(struct call *c, const struct entry *e, const struct block *b)
{
	uint64_t n = (uint64_t)e->result;
	const struct sys_io *io = c->io;
	struct message m;
	const struct iovec *iov = (void *)c->real[1];
	if (io->rule == IN_BYTES) {
		replay_show(c->t, b->addr, b->arg, (void *)c->real[1], n);
		return;
	}
	if (io->rule == IN_MSG && !user_copy(&m, (void *)c->args[1], sizeof m))
		iov = (void *)m.iov;
	/* the pieces of one write are shown together */
	uint8_t *all = scratch(c->t, n);
	uint64_t at = 0;
	for (; at < n; iov++) {
		uint64_t part = MIN(n - at, iov->iov_len);
		memcpy(all + at, iov->iov_base, part);
		at += part;
	}
	replay_show(c->t, b->addr, b->arg, all, n);
}

static void apply(struct call *c, const struct entry *e)
{
	for (const struct block *b = entry_blocks(e); b < entry_end(e); b = block_next(b)) {
		switch ((enum block_kind)b->kind) {
		case BLOCK_PATCH: shared_file_patch(b->addr, block_data(b), b->len); break;
		case BLOCK_OUT:
			if (is_ours(b->addr, b->len))
				cannot("the trace wants to write over Heddle itself: it is damaged");
			if (c->as_access ? order_give(c->t, b->addr, block_data(b), b->len) :
					   user_copy((void *)b->addr, block_data(b), b->len))
				/* at record time the same copy failed: the result says EFAULT */
				if (e->result != -EFAULT)
					diverged_call(c, e, "the memory for its result is gone");
			order_given(c->t);
			break;
		case BLOCK_STRING:
		case BLOCK_HASH: compare_input(c, e, b); break;
		case BLOCK_SHOWN: show(c, e, b); break;
		default: break;
		}
	}
}

/* The tickets that the entry has, or implies. */
static void replay_tickets(struct call *c, const struct entry *e, uint64_t *ticket, uint64_t *now)
{
	const uint64_t *written = (const uint64_t *)(e + 1) + ENTRY_ARGS(e->flags);
	*ticket = e->flags & ENTRY_TICKETS ? written[0] : c->t->ticket;
	*now = e->flags & ENTRY_TICKETS ? written[1] : *ticket + 1;
	c->t->ticket = *now;
}

void call_replay(struct call *c)
{
	const struct entry *e = log_peek(c->t);
	if (!e)
		replay_ended(c->t);
	compare_arguments(c, e);
	c->result = e->result;
	c->entry = e;
	uint64_t ticket, now = 0;
	bool ordered = !(c->row->flags & SYS_NO_ORDER);
	if (ordered)
		replay_tickets(c, e, &ticket, &now);
	if (unlikely(ordered && !one_thread)) {
		/* its results may only be seen when what caused them has begun */
		ticket_enter(ticket);
		c->now = now;
		if (!c->leave_later)
			ticket_leave(c->t, now);
	}
	apply(c, e);
	bool more = e->flags & ENTRY_CONTINUED;
	log_take(c->t);
	while (more) {
		e = log_peek(c->t);
		if (!e)
			replay_ended(c->t);
		apply(c, e);
		more = e->flags & ENTRY_CONTINUED;
		log_take(c->t);
	}
}

void call_run(struct call *c)
{
	if (unlikely(c->t->hooked)) {
		order_take_inputs(c);
		if (replaying)
			signals_deliver(c->t, true); /* one that came after they were taken */
	}
	if (!replaying) {
		record(c);
		return;
	}
	c->as_access = true; /* as record() does it */
	struct mask_copy mask;
	if (c->row->flags & SYS_MASK)
		take_mask(c, &mask); /* a handler that begins after the call starts from it */
	call_replay(c);
	if (c->row->how == SYS_RUN_AGAIN && !is_error(c->result)) {
		long logged = c->result;
		call_kernel(c);
		if (c->result != logged)
			diverged_call(c, c->entry, "run again, it gave another result");
	}
}

void call_answer(struct call *c, long result)
{
	if (replaying) {
		call_replay(c);
		return;
	}
	call_begin(c);
	call_inputs(c);
	c->result = result;
	call_end(c);
}
