// strtok keeps the string: its second token points into it.
// expect: race a b
#include <pthread.h>
#include <stdio.h>
#include <string.h>
static char line[64];
static char *second;
static void *work(void *arg)
{
	int s = 0;
	const char *at = second;
	for (int i = 0; i < 30000; i++) {
		s += at[0]; // @a
		__asm__ volatile("" ::: "memory");
	}
	printf("%d\n", s);
	return NULL;
}
int main(void)
{
	pthread_t t;
	strcpy(line, "one two");
	char *first = strtok(line, " ");
	second = strtok(NULL, " ");
	pthread_create(&t, NULL, work, NULL);
	for (int i = 0; i < 30000; i++) {
		line[4] = (char)i; // @b
		__asm__ volatile("" ::: "memory");
	}
	pthread_join(t, NULL);
	return first == NULL;
}
