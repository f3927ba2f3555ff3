// A constant that is passed by value: what is passed is no constant.
// expect: race a b
#include "golden.h"

struct settings {
	int size[16];
};
static const struct settings usual = { { 1, 2, 3 } };

static void *work(void *arg)
{
	struct settings *s = arg;
	for (int k = 0; k < 1000; k++) {
		s->size[3]++; // @a
		LOOK_AGAIN();
	}
	return NULL;
}

static __attribute__((noinline)) int run(struct settings s)
{
	pthread_t t;
	pthread_create(&t, NULL, work, &s);
	for (int k = 0; k < 1000; k++) {
		s.size[3]++; // @b
		LOOK_AGAIN();
	}
	pthread_join(t, NULL);
	return s.size[3];
}

int main(void)
{
	printf("%d\n", run(usual));
	return 0;
}
