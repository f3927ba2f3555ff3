/*
 * What the program passes to a call: logged as text or as a hash, and compared at replay.
 */
#include "runtime/syscalls/capture.h"
#include "runtime/syscalls/parts.h"

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
	struct part part[2];
	switch ((enum io_rule)io->rule) {
	case IN_BYTES: *len = io->size_arg == NO_ARG ? io->unit : io->unit * args[io->size_arg]; break;
	case IN_IOV: return hash_iov((void *)p, args[io->size_arg], hash, len);
	case IN_MSG: return !user_copy(&m, (void *)p, sizeof m) && hash_iov((void *)m.iov, m.iov_len, hash, len);
	default: return false;
	}
	if (*len > UINT32_MAX || user_probe((void *)p, *len))
		return false;
	*hash = 0;
	for (unsigned i = 0, n = parts_of(io->parts, (void *)p, *len, part); i < n; i++)
		*hash = hash_bytes((uint8_t *)p + part[i].at, part[i].size, *hash);
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
			/* the program's, also where the kernel gets another (special_open()) */
			const char *text = (const char *)(c->inputs_taken ? c->inputs : c->args)[io->arg];
			long n = user_strlen(text, PATH_ROOM);
			if (n >= 0)
				call_block(c, BLOCK_STRING, io->arg, p, (uint32_t)n, text);
		} else if (io->rule <= IN_MSG && hash_input(io, c->real, &hash, &len)) {
			call_block(c, BLOCK_HASH, io->arg, p, (uint32_t)len, &hash);
		}
	}
}

void compare_input(struct call *c, const struct entry *e, const struct block *b)
{
	const void *now = (void *)c->real[b->arg];
	if (b->kind == BLOCK_STRING) {
		if (user_strlen(now, MIN(b->len + 1, PATH_ROOM)) != (long)b->len || memcmp(now, block_data(b), b->len))
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

void show_input(struct call *c, const struct entry *e, const struct block *b)
{
	uint64_t n = (uint64_t)e->result;
	const struct sys_io *io = c->io;
	struct message m;
	const struct iovec *iov = (void *)c->real[1];
	if (io->rule == IN_BYTES) {
		replay_show(c->t, b->addr, b->arg, (void *)c->real[1], n);
		return;
	}
	if (io->rule == IN_MSG && !user_copy(&m, (void *)c->real[1], sizeof m))
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
