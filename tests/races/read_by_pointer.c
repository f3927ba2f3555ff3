// A buffer is filled by read(), called by a pointer, while another thread reads it.
// expect: rare a a because the other access is the kernel's
#include <pthread.h>
#include <stdio.h>
#include <fcntl.h>
#include <unistd.h>
static long buffer[4];
static ssize_t (*volatile fill)(int, void *, size_t) = read;
static volatile int done;
static void *work(void *arg)
{
	long sum = 0;
	for (int i = 0; i < 3000; i++) {
		sum ^= buffer[0]; // @a
		__asm__ volatile("" ::: "memory");
		for (volatile int k = 0; k < 30; k++)
			;
	}
	printf("%lx\n", sum);
	return NULL;
}
int main(void)
{
	pthread_t t;
	int fd = open("/dev/urandom", O_RDONLY);
	pthread_create(&t, NULL, work, NULL);
	for (int i = 0; i < 300; i++)
		fill(fd, buffer, sizeof buffer);
	pthread_join(t, NULL);
}
