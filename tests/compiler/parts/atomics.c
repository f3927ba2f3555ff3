/* Every atomic operation, size and ordering keeps its meaning on both sides of a hook, from many threads too. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

static void print128(const char *name, unsigned __int128 v)
{
	printf("%s %016llx%016llx\n", name, (unsigned long long)(v >> 64), (unsigned long long)v);
}

#define INTEGER(type, name)                                                                                           \
	type cell_##name;                                                                                             \
	static void test_##name(void)                                                                                 \
	{                                                                                                             \
		type *p = &cell_##name, expected;                                                                     \
		unsigned __int128 sum = 0;                                                                            \
		for (int i = 0; i < 4; i++) {                                                                         \
			__atomic_store_n(p, (type)(0x81 + i * 77), __ATOMIC_RELAXED);                                 \
			sum = sum * 31 + __atomic_fetch_add(p, 0x7f, __ATOMIC_RELAXED);                               \
			sum = sum * 31 + __atomic_fetch_sub(p, 3, __ATOMIC_ACQUIRE);                                  \
			sum = sum * 31 + __atomic_fetch_and(p, (type)0xf0f0f0f0f0f7, __ATOMIC_RELEASE);               \
			sum = sum * 31 + __atomic_fetch_or(p, 0x18, __ATOMIC_ACQ_REL);                                \
			sum = sum * 31 + __atomic_fetch_xor(p, 0x55, __ATOMIC_SEQ_CST);                               \
			sum = sum * 31 + __atomic_fetch_nand(p, 0x3c, __ATOMIC_SEQ_CST);                              \
			sum = sum * 31 + __atomic_exchange_n(p, (type)(i - 2), __ATOMIC_ACQ_REL);                     \
			sum = sum * 31 + __atomic_add_fetch(p, 5, __ATOMIC_SEQ_CST);                                  \
			expected = 3;                                                                                 \
			sum = sum * 31 +                                                                              \
			      __atomic_compare_exchange_n(p, &expected, 9, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);    \
			sum = sum * 31 + expected;                                                                    \
			while (!__atomic_compare_exchange_n(p, &expected, (type)(expected + 1), 1, __ATOMIC_ACQUIRE,  \
							    __ATOMIC_ACQUIRE))                                        \
				;                                                                                     \
			sum = sum * 31 + __atomic_load_n(p, __ATOMIC_ACQUIRE) + __atomic_load_n(p, __ATOMIC_SEQ_CST); \
		}                                                                                                     \
		__atomic_store_n(p, 7, __ATOMIC_SEQ_CST);                                                             \
		__atomic_store_n(p, *p + 1, __ATOMIC_RELEASE);                                                        \
		print128(#name, sum);                                                                                 \
	}
INTEGER(uint8_t, u8)
INTEGER(int8_t, i8)
INTEGER(uint16_t, u16)
INTEGER(int32_t, i32)
INTEGER(uint32_t, u32)
INTEGER(int64_t, i64)
INTEGER(unsigned __int128, u128)

/* Smaller and larger, with and without sign. */
int8_t low8;
uint32_t low32;
int64_t low64;

static void test_order(void)
{
	for (int i = -3; i < 4; i++) {
		int a = __atomic_fetch_min(&low8, (int8_t)(i * 40), __ATOMIC_SEQ_CST);
		int b = __atomic_fetch_max(&low8, (int8_t)(i * 33), __ATOMIC_SEQ_CST);
		unsigned c = __atomic_fetch_min(&low32, (uint32_t)(i * 40), __ATOMIC_RELAXED);
		unsigned d = __atomic_fetch_max(&low32, (uint32_t)(i * 33), __ATOMIC_RELAXED);
		long long e = __atomic_fetch_min(&low64, (int64_t)i << 40, __ATOMIC_RELAXED);
		printf("%d %d %u %u %lld\n", a, b, c, d, e);
	}
}

/* No processor adds floating-point numbers atomically: it becomes a loop. */
_Atomic double sum_double;
_Atomic float sum_float;
int *_Atomic pointer;
_Atomic _Bool flag;
struct pair {
	uint64_t low, high;
};
_Atomic struct pair pair;
int numbers[10];

static void test_others(void)
{
	for (int i = 0; i < 10; i++) {
		sum_double += 0.5 + i;
		sum_float -= 0.25f;
	}
	pointer = numbers;
	atomic_fetch_add(&pointer, 3);
	atomic_fetch_sub(&pointer, 1);
	flag = 1;
	_Bool was = atomic_exchange(&flag, 0);
	struct pair old = atomic_load(&pair), next = { 11, 22 };
	_Bool done = atomic_compare_exchange_strong(&pair, &old, next);
	_Bool again = atomic_compare_exchange_strong(&pair, &old, next);
	struct pair now = atomic_load(&pair);
	printf("%g %g %d %d %d %d %llu\n", sum_double, sum_float, (int)(atomic_load(&pointer) - numbers), was, done,
	       again, (unsigned long long)(old.low + now.high));
}

enum { THREADS = 4, ROUNDS = 5000 };
_Atomic long counter;
_Atomic double shared_double;
long by_cas;
unsigned __int128 by_wide_cas;

static void *work(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		counter++;
		shared_double += 1;
		long old = __atomic_load_n(&by_cas, __ATOMIC_RELAXED);
		while (!__atomic_compare_exchange_n(&by_cas, &old, old + 2, 1, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			;
		unsigned __int128 wide = __atomic_load_n(&by_wide_cas, __ATOMIC_RELAXED);
		while (!__atomic_compare_exchange_n(&by_wide_cas, &wide, wide + ((unsigned __int128)1 << 64 | 3), 0,
						    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			;
	}
	return arg;
}

int main(void)
{
	pthread_t threads[THREADS];

	test_u8();
	test_i8();
	test_u16();
	test_i32();
	test_u32();
	test_i64();
	test_u128();
	test_order();
	test_others();
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%ld %g %ld\n", counter, shared_double, by_cas);
	print128("wide", by_wide_cas);
}
