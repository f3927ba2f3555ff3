// A pointer is printed as a number, and read by hand.
// expect: race a b
#include "golden.h"

static char text[32];

static __attribute__((noinline)) uintptr_t hex(const char *s)
{
	uintptr_t n = 0;
	for (; *s; s++)
		n = n << 4 | (uintptr_t)(*s <= '9' ? *s - '0' : *s - 'a' + 10);
	return n;
}

static void *work(void *arg)
{
	int *p = (int *)hex(text);
	for (int k = 0; k < 1000; k++) {
		++*p; // @a
		LOOK_AGAIN();
	}
	return arg;
}

int main(void)
{
	pthread_t t;
	int *p = calloc(1, sizeof *p);
	snprintf(text, sizeof text, "%lx", (unsigned long)p);
	pthread_create(&t, NULL, work, NULL);
	for (int k = 0; k < 1000; k++) {
		++*p; // @b
		LOOK_AGAIN();
	}
	pthread_join(t, NULL);
	printf("%d\n", *p);
	return 0;
}
