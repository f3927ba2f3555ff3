// The lock of an element is made anew by who uses it next.
// expect: race a a
#include "golden.h"

static struct element {
	pthread_spinlock_t lock;
	int value;
} elements[8];

static void *work(void *arg)
{
	for (int i = 0; i < 100; i++) {
		struct element *e = &elements[(i + id_of(arg)) % 8];
		if (i % 10 == 0)
			pthread_spin_init(&e->lock, 0);
		pthread_spin_lock(&e->lock); /* who sleeps there when it is made anew may sleep for ever */
		e->value--;		     // @a
		pthread_spin_unlock(&e->lock);
	}
	return say_done(0);
}

int main(void)
{
	for (int i = 0; i < 8; i++)
		pthread_spin_init(&elements[i].lock, 0);
	team_for_a_while(4, work);
	printf("%d\n", elements[5].value);
	return 0;
}
