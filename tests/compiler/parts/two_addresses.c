/* Copies of a page onto itself under another address of it, which differs in bits that no claim or word knows: a tag
   (the top byte on aarch64), or else one that faults. Meanwhile threads contest the page. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { COPIES = 300 };
static _Alignas(512) volatile uint64_t page[64];
static _Alignas(512) volatile int over;
static sigjmp_buf back;
static volatile uint64_t size = 200;

static void fault(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

static void *work(void *arg)
{
	uint64_t me = (uint64_t)arg;

	while (!over) {
		page[me]++;
		page[me + 8]++;
		for (int k = 0; k < 100; k++)
			__asm__ volatile("");
	}
	return NULL;
}

int main(void)
{
	pthread_t t[2];

	for (uint64_t i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, work, (void *)(i + 1));
	sigaction(SIGSEGV, &(struct sigaction){ .sa_handler = fault }, NULL);
	for (volatile int n = 0; n < COPIES; n++) {
		for (int k = 0; k < 20; k++)
			page[k] += 3;
		if (!sigsetjmp(back, 1))
			memcpy((void *)((uintptr_t)page | 1ull << 62), (void *)page, size);
	}
	over = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("%d copies\n", COPIES);
	return 0;
}
