// A thread that is created by a function which inline assembler calls.
// expect: race a b
#include <pthread.h>
#include <stdio.h>
static volatile int x;
static pthread_t t;
static void *look(void *arg)
{
	long s = 0;
	(void)arg;
	for (int i = 0; i < 100000; i++)
		s += x; // @a
	return (void *)s;
}
static __attribute__((used, noinline)) void begin(void)
{
	pthread_create(&t, NULL, look, NULL);
}
int main(void)
{
	void *s;
#ifdef __aarch64__
	__asm__ volatile("bl begin" ::
				 : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12",
				   "x13", "x14", "x15", "x16", "x17", "x18", "x30", "cc", "memory");
#else
	__asm__ volatile("leaq -128(%%rsp), %%rsp; pushq %%rbx; movq %%rsp, %%rbx; andq $-16, %%rsp; call begin; "
			 "movq %%rbx, %%rsp; popq %%rbx; leaq 128(%%rsp), %%rsp" ::
				 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "memory");
#endif
	for (int i = 0; i < 100000; i++)
		x = i; // @b
	pthread_join(t, &s);
	printf("%ld\n", (long)s);
	return 0;
}
