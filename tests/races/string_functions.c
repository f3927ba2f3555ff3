// libc's string functions read and write through pointers.
// expect: race a b
#include "golden.h"

static char name[64] = "nobody";

static void *rename_it(void *arg)
{
	strcpy(name, arg); // @a
	return NULL;
}

static void *measure(void *arg)
{
	(void)arg;
	return (void *)strlen(name); // @b
}

int main(int argc, char **argv)
{
	pthread_t a, b;

	(void)argc;
	pthread_create(&a, NULL, rename_it, argv[0]);
	pthread_create(&b, NULL, measure, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return !*name;
}
