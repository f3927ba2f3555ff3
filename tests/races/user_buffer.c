// libc leaves pointers into a buffer in a structure: another thread follows them while the buffer is cleared.
// expect: race a b
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
static struct passwd user;
static char buffer[4096];
static void *look(void *arg)
{
	long s = 0;
	(void)arg;
	for (int i = 0; i < 100000; i++)
		s += *(volatile char *)user.pw_name; // @a
	return (void *)s;
}
int main(void)
{
	struct passwd *found;
	pthread_t t;
	void *s;
	if (getpwnam_r("root", &user, buffer, sizeof buffer, &found) || !found)
		return 1;
	pthread_create(&t, NULL, look, NULL);
	for (int n = 0; n < 1000; n++)
		for (unsigned i = 0; i < 64; i++)
			((volatile char *)buffer)[i] = (char)n; // @b
	pthread_join(t, &s);
	printf("%ld\n", (long)s);
	return 0;
}
