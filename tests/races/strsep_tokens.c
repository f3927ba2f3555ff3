// What strsep returns lies in the line; the separators, which are constant, and the pointer, which is the thread's own, are not all that it gets.
// expect: race a b
#include "golden.h"

static char line[64] = "a,b,c";

static void *writer(void *arg)
{
	line[2] = 'x'; // @a
	return arg;
}

static void *reader(void *arg)
{
	char *rest = line, *token;
	long sum = 0;

	while ((token = strsep(&rest, ",")))
		sum += *token; // @b
	return (void *)(sum + id_of(arg));
}

int main(void)
{
	pthread_t one, two;

	pthread_create(&one, NULL, writer, NULL);
	pthread_create(&two, NULL, reader, NULL);
	pthread_join(one, NULL);
	pthread_join(two, NULL);
	printf("%s\n", line);
	return 0;
}
