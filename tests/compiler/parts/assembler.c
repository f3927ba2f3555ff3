/* Inline assembler with memory operands, with pointers in registers, and with none. */
#include <stdint.h>
#include <stdio.h>

int cell = 5;
long numbers[4] = { 1, 2, 3, 4 };
uint64_t word;

#if defined __aarch64__
__attribute__((noinline)) static int add(int *p, int n)
{
	int old, next, failed;

	__asm__ volatile("1: ldaxr %w0, %3\n\tadd %w1, %w0, %w4\n\tstlxr %w2, %w1, %3\n\tcbnz %w2, 1b"
			 : "=&r"(old), "=&r"(next), "=&r"(failed), "+Q"(*p)
			 : "r"(n));
	return old;
}
__attribute__((noinline)) static long load(const long *p)
{
	long v;
	__asm__ volatile("ldr %0, [%1]" : "=r"(v) : "r"(p) : "memory");
	return v;
}
__attribute__((noinline)) static void store(uint64_t *p, uint64_t v)
{
	__asm__("str %1, %0" : "=m"(*p) : "r"(v));
}
#elif defined __x86_64__
__attribute__((noinline)) static int add(int *p, int n)
{
	__asm__ volatile("lock xaddl %0, %1" : "+r"(n), "+m"(*p));
	return n;
}
__attribute__((noinline)) static long load(const long *p)
{
	long v;
	__asm__ volatile("movq (%1), %0" : "=r"(v) : "r"(p) : "memory");
	return v;
}
__attribute__((noinline)) static void store(uint64_t *p, uint64_t v)
{
	__asm__("movq %1, %0" : "=m"(*p) : "r"(v));
}
#endif

int main(void)
{
	int local = 9;

	printf("%d %d %d\n", add(&cell, 7), cell, add(&local, 1) + local);
	for (int i = 0; i < 4; i++) {
		__asm__ volatile("" : : : "memory");
		word += (uint64_t)load(&numbers[i]);
	}
	store(&word, word * 2);
	printf("%llu\n", (unsigned long long)word);
}
