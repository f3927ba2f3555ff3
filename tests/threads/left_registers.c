/*
 * What a function of libheddle.so leaves in the registers of arguments. What could go wrong: the next variadic function writes
 * them to the program's stack, and a function of the program's that ours calls finds them, other ones at replay than recorded.
 */
// run: varies
#include "threads.h"

/* Keeps what is in them now. Nothing of C comes between the call before and this one. */
uint64_t kept[8];
#ifdef __aarch64__
#define KEEP                                        \
	"	adrp x9, kept\n	add x9, x9, :lo12:kept\n" \
	"	stp xzr, x1, [x9]\n	stp x2, x3, [x9, #16]\n	stp x4, x5, [x9, #32]\n	stp x6, x7, [x9, #48]\n"
#define JUMP "	ret\n"
#define CALL_THEN_KEEP                                           \
	"	stp x29, x30, [sp, #-16]!\n	mov x9, x0\n	mov x0, x1\n" \
	"	blr x9\n" KEEP "	ldp x29, x30, [sp], #16\n	ret\n"
#else
#define KEEP                                                                         \
	"	mov %rdi, kept(%rip)\n	mov %rsi, 8+kept(%rip)\n	mov %rdx, 16+kept(%rip)\n" \
	"	mov %rcx, 24+kept(%rip)\n	mov %r8, 32+kept(%rip)\n	mov %r9, 40+kept(%rip)\n"
#define JUMP "	ret\n"
#define CALL_THEN_KEEP                                                                             \
	"	push %rbp\n	mov %rdi, %rax\n	mov %rsi, %rdi\n	call *%rax\n" KEEP \
	"	pop %rbp\n	ret\n"
#endif
__asm__("	.text\n	.globl callback\ncallback:\n" KEEP JUMP
	"	.globl call_then_keep\ncall_then_keep:\n" CALL_THEN_KEEP);
void callback(void);
void *call_then_keep(void *function, void *argument);

static void told(const char *what)
{
	printf("%s:", what);
	for (unsigned i = 0; i < 8; i++)
		printf(" %lx", (unsigned long)kept[i]);
	putchar('\n');
}

static void *work(void *mutex)
{
	for (unsigned i = 0; i < 200; i++) {
		pthread_mutex_lock(mutex);
		dawdle(100);
		pthread_mutex_unlock(mutex);
	}
	return 0;
}

int main(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_once_t once[4];
	pthread_t thread[2];

	printf("%d\n", getpid()); /* that no second run has */
	for (unsigned i = 0; i < 4; i++) {
		pthread_once(&once[i], callback);
		told("callback");
	}
	for (unsigned i = 0; i < 2; i++)
		CHECK(pthread_create(&thread[i], 0, work, &mutex) == 0);
	for (unsigned i = 0; i < 2; i++)
		CHECK(pthread_join(thread[i], 0) == 0);
	for (unsigned i = 0; i < 20; i++) {
		call_then_keep((void *)pthread_mutex_lock, &mutex);
		told("lock");
		call_then_keep((void *)pthread_mutex_unlock, &mutex);
		told("unlock");
		void *p = call_then_keep((void *)malloc, (void *)(40ul << i));
		told("malloc");
		call_then_keep((void *)free, p);
		told("free");
	}
	return 0;
}
