// What a system call writes is an access of its thread.
// expect: rare b c because a run knows no line of a system call
#include "golden.h"
#include <fcntl.h>

static char buffer[64];
static int file;

static void *fill(void *arg)
{
	(void)arg;
	return (void *)read(file, buffer, sizeof buffer); // @b
}

int main(void)
{
	pthread_t t;

	file = open("/dev/zero", O_RDONLY);
	pthread_create(&t, NULL, fill, NULL);
	buffer[7] = 1; // @c
	pthread_join(t, NULL);
	printf("%d\n", buffer[7]);
	close(file);
	return 0;
}
