/* Gets random bytes, and has a text, that it never looks at. Prints their addresses. */
#include <pthread.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>

static char before[8192], secret[8192], after[8192];
char unread[8192] = "nobody reads this";

static void *nothing(void *arg)
{
	return arg;
}

static void calls(void)
{
	struct stat st;
	for (int i = 0; i < 500; i++)
		stat("/", &st);
}

int main(void)
{
	pthread_t thread;
	calls();
	if (pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL))
		return 2;
	calls();
	if (getrandom(secret, 64, 0) != 64)
		return 2;
	calls();
	printf("%p %p\n", (void *)secret, (void *)unread);
	return before[0] || after[0];
}
