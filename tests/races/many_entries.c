// More kinds of threads than classes.
// expect: race a b
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define TEN(X, n)  X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7) X(n##8) X(n##9)
#define SEVENTY(X) TEN(X, 1) TEN(X, 2) TEN(X, 3) TEN(X, 4) TEN(X, 5) TEN(X, 6) TEN(X, 7)

static volatile int x;
static volatile int other[80];
static void *first(void *arg)
{
	int s = 0;
	for (int i = 0; i < 30000; i++)
		s += x; // @b
	other[0] = s;
	return NULL;
}
#define FUNCTION(n)                  \
	static void *f##n(void *arg) \
	{                            \
		other[n] = n;        \
		return NULL;         \
	}
SEVENTY(FUNCTION)
static void *last(void *arg)
{
	for (int i = 0; i < 30000; i++)
		x++; // @a
	return NULL;
}
int main(void)
{
	pthread_t t[80], a, b;
	pthread_create(&a, NULL, first, NULL);
#define CREATE(n) pthread_create(&t[n], NULL, f##n, NULL);
	SEVENTY(CREATE)
	pthread_create(&b, NULL, last, NULL);
	pthread_join(a, NULL);
	for (int i = 10; i < 80; i++)
		pthread_join(t[i], NULL);
	pthread_join(b, NULL);
	printf("%d %d\n", x, other[0]);
}
