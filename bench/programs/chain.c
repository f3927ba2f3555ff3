/*
 * A chain of blocks with proof of work. Miners try nonces on the newest block; who finds one appends it under a lock
 * and the others begin again. Whether the chain has grown they see by a look without the lock, after some tries: a
 * benign race that costs wasted work. Which thread found which block, the hashes, and how much was wasted differ from
 * run to run.
 *
 * The result is right if each block names the hash of the one before it, and has the zeros that it needs.
 */
#include "kernels.h"
#include <string.h>

enum { BLOCKS_MAX = 1 << 16, PATIENCE = 32, ZEROS = 10 };

struct block {
	uint32_t before[8]; /* hash of the block before */
	uint32_t height, miner;
	uint64_t nonce;
};

static struct block *chain;
static unsigned height, target; /* height is raised under the lock, and looked at without */
static uint32_t tip[8];		/* hash of the newest block */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long tried[THREADS_MAX], late[THREADS_MAX];
static unsigned mined[THREADS_MAX];

/* ---- SHA-256 of one block, which fits into 55 bytes */

static const uint32_t constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2
};

static uint32_t turn(uint32_t x, unsigned by)
{
	return x >> by | x << (32 - by);
}

static void schedule(const struct block *block, uint32_t w[64])
{
	memset(w, 0, 64);
	memcpy(w, block->before, sizeof block->before);
	w[8] = block->height;
	w[9] = block->miner;
	w[10] = (uint32_t)(block->nonce >> 32);
	w[11] = (uint32_t)block->nonce;
	w[12] = 0x80000000;
	w[15] = 48 * 8;
	for (unsigned i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];
		w[i] = w[i - 16] + w[i - 7] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) +
		       (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
	}
}

static void hash(const struct block *block, uint32_t out[8])
{
	static const uint32_t begin[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
	uint32_t w[64], s[8];

	schedule(block, w);
	memcpy(s, begin, sizeof s);
	for (unsigned i = 0; i < 64; i++) {
		uint32_t one = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) +
			       ((s[4] & s[5]) ^ (~s[4] & s[6])) + constants[i] + w[i];
		uint32_t two = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) +
			       ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
		memmove(s + 1, s, 7 * sizeof *s);
		s[4] += one;
		s[0] = one + two;
	}
	for (unsigned i = 0; i < 8; i++)
		out[i] = begin[i] + s[i];
}

static bool has_zeros(const uint32_t h[8])
{
	return h[0] >> (32 - ZEROS) == 0;
}

/* ---- mining */

/* The block that comes next, as this miner would have it. False if there are enough. */
static bool next_block(unsigned me, struct block *block)
{
	bool more;

	pthread_mutex_lock(&lock);
	more = height < target;
	*block = (struct block){ .height = height, .miner = me, .nonce = (uint64_t)me << 40 };
	memcpy(block->before, tip, sizeof tip);
	pthread_mutex_unlock(&lock);
	return more;
}

static void append(unsigned me, const struct block *block, const uint32_t found[8])
{
	pthread_mutex_lock(&lock);
	if (block->height == height && height < target) {
		chain[height] = *block;
		memcpy(tip, found, sizeof tip);
		height++;
		mined[me]++;
	} else {
		late[me]++; /* somebody else was first */
	}
	pthread_mutex_unlock(&lock);
}

/* Try nonces until one fits, or the chain has grown. */
static void mine(unsigned me, struct block *block)
{
	uint32_t found[8];

	for (;;) {
		tried[me]++;
		hash(block, found);
		if (has_zeros(found)) {
			append(me, block, found);
			return;
		}
		block->nonce++;
		LOOK_AGAIN();
		if (block->nonce % PATIENCE == 0 && height != block->height) /* without the lock */
			return;
	}
}

static void *work(void *argument)
{
	unsigned me = (unsigned)(uintptr_t)argument;
	struct block block;

	while (next_block(me, &block))
		mine(me, &block);
	return NULL;
}

static unsigned check(void)
{
	uint32_t before[8] = { 0 }, h[8];
	unsigned wrong = height != target;

	for (unsigned i = 0; i < height; i++) {
		hash(&chain[i], h);
		wrong += memcmp(chain[i].before, before, sizeof before) || !has_zeros(h) || chain[i].height != i;
		memcpy(before, h, sizeof before);
	}
	return wrong + (memcmp(before, tip, sizeof tip) != 0);
}

int main(int argc, char **argv)
{
	unsigned wrong;

	options(argc, argv);
	target = scaled(64) * rounds < BLOCKS_MAX ? scaled(64) * rounds : BLOCKS_MAX;
	chain = allocate((target + 1) * sizeof *chain);
	start(work);
	for (unsigned t = 0; t < threads; t++)
		printf("chain: thread %u mined %u blocks, %lu tries, %lu times too late\n", t, mined[t], tried[t],
		       late[t]);
	wrong = check();
	printf("chain: %u blocks, tip %08x%08x%08x%08x%08x%08x%08x%08x\n", height, tip[0], tip[1], tip[2], tip[3],
	       tip[4], tip[5], tip[6], tip[7]);
	if (wrong)
		printf("chain: WRONG: %u blocks\n", wrong);
	return wrong != 0;
}
