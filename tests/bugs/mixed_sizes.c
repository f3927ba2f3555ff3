/*
 * Mixed sizes: 24 bytes that all threads read and write in ones, twos, fours and eights, wherever they lie, plain and
 * atomic. What could go wrong: two accesses conflict if a single byte does; one that lies over two words has two orders
 * to keep; a byte's write must not bring back its neighbours.
 */
// run: check
#include "bugs.h"

enum { ROUNDS = 1500, SIZE = 24 };
static _Alignas(16) unsigned char bytes[SIZE];
static uint64_t seen[TEAM_MAX];

#define EACH_SIZE(X) X(uint8_t) X(uint16_t) X(uint32_t) X(uint64_t)
#define ACCESS(type)                                                                                        \
	static uint64_t access_##type(uint32_t pick, uint64_t value)                                        \
	{                                                                                                   \
		unsigned char *at = bytes + pick % (SIZE - sizeof(type) + 1);                               \
		type *aligned = (type *)(void *)(bytes + pick / 64 % (SIZE / sizeof(type)) * sizeof(type)); \
		type v = (type)value;                                                                       \
		switch (pick >> 16 & 3) {                                                                   \
		case 0: memcpy(at, &v, sizeof v); return 0;                                                 \
		case 1: return __atomic_fetch_xor(aligned, v, __ATOMIC_SEQ_CST);                            \
		case 2: return __atomic_exchange_n(aligned, v, __ATOMIC_RELAXED);                           \
		default: memcpy(&v, at, sizeof v); return v;                                                \
		}                                                                                           \
	}
EACH_SIZE(ACCESS)
#define NAME(type) access_##type,
static uint64_t (*const accesses[])(uint32_t, uint64_t) = { EACH_SIZE(NAME) };

static void work(unsigned me)
{
	uint32_t state = me + 1;
	uint64_t hash = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint32_t pick = draw(&state);
		note(&hash, accesses[pick >> 20 & 3](pick, draw(&state) * 0x100000001ull));
		breathe(i);
	}
	seen[me] = hash;
}

int main(int argc, char **argv)
{
	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 0; i < team; i++)
		printf("thread %u saw %016llx\n", i, (unsigned long long)seen[i]);
	for (unsigned i = 0; i < SIZE; i++)
		printf("%02x", bytes[i]);
	printf("\n");
	return 0;
}
