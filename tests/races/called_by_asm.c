// A function that is called by inline assembler only.
// expect: race a b
#include <pthread.h>
#include <stdio.h>
static volatile int x;
static __attribute__((used, noinline)) void bump(void)
{
	for (int i = 0; i < 30000; i++)
		x++; // @a
}
static void *work(void *arg)
{
#ifdef __aarch64__
	__asm__ volatile("bl bump" ::
				 : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12",
				   "x13", "x14", "x15", "x16", "x17", "x18", "x30", "cc", "memory");
#else
	__asm__ volatile("leaq -128(%%rsp), %%rsp; pushq %%rbx; movq %%rsp, %%rbx; andq $-16, %%rsp; call bump; "
			 "movq %%rbx, %%rsp; popq %%rbx; leaq 128(%%rsp), %%rsp" ::
				 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "memory");
#endif
	return NULL;
}
int main(void)
{
	pthread_t t;
	int s = 0;
	pthread_create(&t, NULL, work, NULL);
	for (int i = 0; i < 30000; i++)
		s += x; // @b
	pthread_join(t, NULL);
	printf("%d %d\n", x, s);
}
