// Assembler puts a function into the table that is run before main(): it creates a thread.
// expect: race a b
#include "golden.h"

static volatile int x;
static pthread_t thread;

static void *work(void *arg)
{
	for (int i = 0; i < 30000; i++)
		x++; // @a
	return arg;
}

__attribute__((used)) void begin(void)
{
	pthread_create(&thread, NULL, work, NULL);
}
__asm__(".pushsection .init_array,\"aw\"; .balign 8; .quad begin; .popsection");

int main(void)
{
	for (int i = 0; i < 30000; i++)
		x++; // @b
	pthread_join(thread, NULL);
	printf("%d\n", x);
	return 0;
}
