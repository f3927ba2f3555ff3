// What an ifunc chooses is called by nobody that is seen.
// expect: race a b
#include <pthread.h>
#include <stdio.h>
static volatile int x;
static void bump_plain(void)
{
	for (int i = 0; i < 30000; i++)
		x++; // @a
}
static void bump_other(void)
{
	for (int i = 0; i < 30000; i++)
		x += 2; // @c
}
static void (*choose(unsigned long hwcap))(void)
{
#ifdef __x86_64__
	hwcap = 1; // nobody gives it
#endif
	return hwcap & 1 ? bump_plain : bump_other;
}
void bump(void) __attribute__((ifunc("choose")));
static void *work(void *arg)
{
	bump();
	return NULL;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, work, NULL);
	int s = 0;
	for (int i = 0; i < 30000; i++)
		s += x; // @b
	pthread_join(t, NULL);
	printf("%d %d\n", x, s);
}
