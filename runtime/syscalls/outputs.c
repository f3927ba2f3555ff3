/*
 * What the kernel gives to the program.
 *
 * It writes into the ring, where the bytes belong anyway, and they are then copied to
 * the program. So the program's memory changes in one place, under our control, and
 * exactly what the kernel wrote is logged. Outputs with more room than RING_OUTPUT go
 * through a scratch buffer and are cut into several entries if need be.
 */
#include "runtime/syscalls/capture.h"
#include <linux/fcntl.h>
#include <linux/mman.h>

uint8_t *scratch(struct thread *t, uint64_t n)
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
		r = own_map(MAP_SCRATCH_BASE + ALIGN_DOWN(at, 1 << 20), n, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	}
	if (is_error(r))
		cannot("no memory for a system call's buffer of %u bytes", n);
	t->scratch = (uint8_t *)r;
	t->scratch_size = n;
	return t->scratch;
}

/* A very large buffer is given back at once. */
void scratch_done(struct thread *t)
{
	if (t->scratch_size > (4u << 20)) {
		SYS2(__NR_munmap, t->scratch, t->scratch_size);
		t->scratch = 0;
		t->scratch_size = 0;
	}
}

uint64_t usable_room(uint64_t at, uint64_t n)
{
	if (!n || !user_probe((void *)(at + n - 1), 1))
		return n;
	uint64_t end = at;
	while (!user_probe((void *)end, 1))
		end = ALIGN_DOWN(end, 4096) + 4096;
	return end - at;
}

static uint64_t iov_total(const struct iovec *iov, uint64_t count)
{
	uint64_t total = 0;
	if (count > 1024)
		return 0; /* the kernel will say EINVAL */
	for (uint64_t i = 0; i < count; i++) {
		struct iovec v;
		if (user_copy(&v, iov + i, sizeof v))
			return 0;
		uint64_t room = usable_room((uint64_t)v.iov_base, v.iov_len);
		total += room;
		if (room < v.iov_len)
			break;
	}
	return total;
}

/* The array of a message that is received; a copy has it behind the header. */
static const struct iovec *message_iov(const struct output *o, const struct message *m)
{
	return (const struct iovec *)(o->source == o->user ? m->iov : o->source + sizeof *m);
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
		if (io->unit == 1) { /* bytes of a stream: those that find no place stay in it */
			uint64_t room = usable_room(o->user, c->args[io->size_arg]);
			c->real[io->size_arg] = room ? room : c->args[io->size_arg];
			return room;
		}
		/* fall through */
	case OUT_ARG:
	case INOUT_ARG: return (uint64_t)io->unit * c->args[io->size_arg];
	case OUT_LENGTH:
		o->length_user = c->args[io->size_arg];
		if (!o->length_user || user_copy(&o->length, (void *)c->real[io->size_arg], 4) ||
		    (int32_t)o->length < 0)
			return 0;
		return o->user ? o->length : 0;
	case OUT_IOV: return iov_total((void *)o->source, c->args[io->size_arg]);
	case OUT_MSG:
		if (user_copy(&o->vector->msg, (void *)o->source, sizeof o->vector->msg))
			return 0;
		return iov_total(message_iov(o, &o->vector->msg), o->vector->msg.iov_len) +
		       ALIGN_UP(o->vector->msg.name_len, 8) + ALIGN_UP(o->vector->msg.control_len, 8) + 16;
	default: return 0;
	}
}

/* What goes in, as far as it is there: the kernel may need less of it. False: it gets the bad pointer and says
   EFAULT. */
static bool take_before(struct output *o)
{
	uint64_t n = usable_room(o->source, o->room);
	if (!n || user_copy(o->from, (void *)o->source, n)) {
		o->room = 0;
		return false;
	}
	memset(o->from + n, 0, o->room - n);
	memcpy(o->before, o->from, o->room);
	return true;
}

/* What is there before the call: the kernel may leave it so. */
static void take_parts(uint8_t *to, const struct iovec *iov, uint64_t count, uint64_t n)
{
	for (uint64_t i = 0; i < count && n; i++) {
		struct iovec v;
		if (user_copy(&v, iov + i, sizeof v))
			return;
		uint64_t part = MIN(n, v.iov_len);
		user_copy(to, v.iov_base, part);
		to += part;
		n -= part;
	}
}

/* Points the kernel to our copy instead of the program's memory. */
static void redirect(struct call *c, struct output *o)
{
	const struct sys_io *io = o->io;
	switch ((enum io_rule)io->rule) {
	case INOUT_ARG:
	case INOUT_FIXED:
		if (!take_before(o))
			return;
		break;
	case OUT_RESULT:
		if (unlikely(may_discard(c->nr, c->args[3])))
			user_copy(o->from, (void *)o->user, o->room);
		break;
	case OUT_IOV:
		o->vector->iov = (struct iovec){ o->from, o->room };
		c->real[io->arg] = (uint64_t)&o->vector->iov;
		c->real[io->size_arg] = 1;
		return;
	case OUT_MSG: {
		struct message *m = &o->vector->msg;
		uint8_t *data = o->from;
		uint64_t n = iov_total(message_iov(o, m), m->iov_len);
		o->vector->iov = (struct iovec){ data, n };
		if (unlikely(may_discard(c->nr, c->args[2])))
			take_parts(data, message_iov(o, m), m->iov_len, n);
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
	case OUT_LENGTH:
		/* some options of sockets read, too */
		if (c->nr == __NR_getsockopt)
			user_copy(o->from, (void *)o->user, o->room);
		o->length_before = o->length;
		c->real[io->size_arg] = (uint64_t)&o->length;
		break;
	default: break;
	}
	c->real[io->arg] = o->user ? (uint64_t)o->from : 0;
}

/* Where bytes that call_block() has added last stay until the call is over. It moves what lies in the ring. What does
   not (scratch memory) stays where it is: a ring may have come round before all of it is in there. */
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

/* A field that recvmsg changed in the header. */
#define GIVE_FIELD(c, o, m, field) \
	give(c, (o)->arg, (o)->user + offsetof(struct message, field), (const uint8_t *)&(m)->field, sizeof(m)->field)

static long give_message(struct call *c, struct output *o)
{
	struct message theirs, *m = &o->vector->msg;
	if (user_copy(&theirs, (void *)o->source, sizeof theirs))
		return -EFAULT;
	uint64_t n = MIN((uint64_t)c->result, o->vector->iov.iov_len);
	long r = give_iov(c, o->arg, message_iov(o, &theirs), theirs.iov_len, o->vector->iov.iov_base, n);
	if (theirs.name)
		r |= give(c, o->arg, theirs.name, (void *)m->name, MIN(m->name_len, theirs.name_len));
	if (theirs.control)
		r |= give(c, o->arg, theirs.control, (void *)m->control, MIN(m->control_len, theirs.control_len));
	r |= GIVE_FIELD(c, o, m, name_len);
	r |= GIVE_FIELD(c, o, m, control_len);
	return r | GIVE_FIELD(c, o, m, flags);
}

static bool goes_in(const struct sys_io *io)
{
	return io->rule == INOUT_FIXED || io->rule == INOUT_ARG;
}

/*
 * Of what went in, what the kernel has changed, whatever the result: the program may have changed the rest meanwhile
 * (the descriptors that another thread polls), or have something else there (behind the sets of select()). A block
 * costs more than a few bytes that stay as they were.
 */
#define STAY_MOST 5
static long give_changes(struct call *c, const struct output *o)
{
	long r = 0;
	for (uint32_t at = 0; at < o->room;) {
		uint32_t end = at;
		for (uint32_t i = at; i < o->room && i <= end + STAY_MOST; i++)
			if (o->from[i] != o->before[i])
				end = i + 1;
		if (end > at && o->from[at] != o->before[at]) {
			r |= give(c, o->arg, o->user + at, o->from + at, end - at);
			at = end;
		} else {
			at++;
		}
	}
	return r;
}

static uint64_t output_size(const struct call *c, const struct output *o)
{
	if (o->io->rule == OUT_EINTR)
		return c->result == -EINTR ? o->io->unit : 0;
	if (c->result < 0)
		return 0;
	switch ((enum io_rule)o->io->rule) {
	case OUT_RESULT: return MIN((uint64_t)c->result * o->io->unit, o->room);
	case OUT_LENGTH: return MIN(o->length, o->room);
	default: return o->room;
	}
}

long give_output(struct call *c, struct output *o)
{
	const struct sys_io *io = o->io;
	if (io->rule == OUT_IOV)
		return c->result > 0 ? give_iov(c, o->arg, (void *)o->source, c->args[io->size_arg], o->from,
						(uint64_t)c->result) :
				       0;
	if (io->rule == OUT_MSG)
		return c->result >= 0 ? give_message(c, o) : 0;
	uint8_t *before = c->at;
	long r = goes_in(io) ? give_changes(c, o) : give(c, o->arg, o->user, o->from, output_size(c, o));
	if (r && io->rule == INOUT_FIXED) {
		/* what cannot be written back (a constant timeout) the kernel leaves alone, too */
		c->at = before;
		r = 0;
	}
	/* accept() and recvfrom() without a buffer do not look at the length */
	if (io->rule == OUT_LENGTH && ((o->user && c->result >= 0) || o->length != o->length_before))
		r |= give(c, io->size_arg, o->length_user, (uint8_t *)&o->length, 4);
	return r;
}

/* A file may want its bytes at an aligned place: then so must we. */
#define DIRECT 4096
static bool is_direct(const struct call *c, const struct output *o)
{
	return o->io->rule == OUT_RESULT && o->io->unit == 1 && !(o->user % 512) && o->room &&
	       (c->nr == __NR_read || c->nr == __NR_pread64) && SYS2(__NR_fcntl, c->args[0], F_GETFL) & O_DIRECT;
}

/* Where the outputs go: one after the other in the ring, behind room for their block headers. */
int place_outputs(struct call *c, struct output *out, struct vector *vector, bool *uses_scratch)
{
	int n = 0;
	uint64_t total = 0;
	*uses_scratch = false;
	for (int i = 0; i < IO_MAX && c->io[i].rule; i++) {
		struct output *o = &out[n];
		*o = (struct output){
			.io = &c->io[i], .arg = c->io[i].arg, .user = c->args[c->io[i].arg], .vector = vector
		};
		o->source = c->real[o->arg];
		if (c->io[i].rule < OUT_FIXED || (!o->user && o->io->rule != OUT_LENGTH))
			continue;
		uint64_t room = output_room(c, o);
		if (!room && o->io->rule != OUT_LENGTH)
			continue;
		if (room > (1ull << 31)) /* the kernel itself transfers less at once */
			room = 1ull << 31;
		o->room = (uint32_t)room;
		/* pieces with headers between them take more room than the kernel's one piece */
		*uses_scratch |= o->io->rule == OUT_IOV || o->io->rule == OUT_MSG || goes_in(o->io) || is_direct(c, o);
		total += ALIGN_UP(room, 8) + sizeof(struct block) + DIRECT;
		if (goes_in(o->io))
			total += ALIGN_UP(room, 8);
		n++;
	}
	*uses_scratch |= total > RING_OUTPUT;
	uint8_t *p = *uses_scratch ? scratch(c->t, total) : c->at;
	for (int i = 0; i < n; i++) {
		out[i].from = p + sizeof(struct block);
		if (*uses_scratch)
			out[i].from = (uint8_t *)ALIGN_UP((uint64_t)out[i].from, DIRECT);
		p = out[i].from + ALIGN_UP(out[i].room, 8);
		out[i].before = p;
		if (goes_in(out[i].io))
			p += ALIGN_UP(out[i].room, 8);
		redirect(c, &out[i]);
	}
	return n;
}

void apply_output(struct call *c, const struct entry *e, const struct block *b)
{
	if (is_ours(b->addr, b->len))
		damaged("a call that writes over Heddle itself");
	if (c->as_access ? order_give(c->t, b->addr, block_data(b), b->len) :
			   user_copy((void *)b->addr, block_data(b), b->len))
		/* at record time the same copy failed: the result says EFAULT */
		if (e->result != -EFAULT)
			diverged_call(c, e, "the memory for its result is gone");
	order_given(c->t);
}
