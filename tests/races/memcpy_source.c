// The struct is copied away while another thread writes into it.
// expect: race a b
#include "golden.h"

struct config {
	int level, size;
	char name[48];
};
static struct config shared;

static void *save(void *arg)
{
	memcpy(arg, &shared, sizeof shared); // @a
	return NULL;
}

static void *tune(void *arg)
{
	(void)arg;
	shared.size = 77; // @b
	return NULL;
}

int main(void)
{
	struct config *copy = malloc(sizeof *copy);
	pthread_t a, b;

	pthread_create(&a, NULL, save, copy);
	pthread_create(&b, NULL, tune, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%d\n", copy->size);
	free(copy);
	return 0;
}
