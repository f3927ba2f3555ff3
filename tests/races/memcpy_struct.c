// A copy over the whole struct against a write of one field.
// expect: race a b
#include "golden.h"

struct config {
	int level, size;
	char name[48];
};
static struct config shared, next = { 1, 2, "next" };

static void *replace(void *arg)
{
	memcpy(&shared, arg, sizeof shared); // @a
	return NULL;
}

static void *tune(void *arg)
{
	(void)arg;
	shared.size = 77; // @b
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t a, b;

	(void)argv;
	next.level = argc;
	pthread_create(&a, NULL, replace, &next);
	pthread_create(&b, NULL, tune, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%d %s\n", shared.size, shared.name);
	return 0;
}
