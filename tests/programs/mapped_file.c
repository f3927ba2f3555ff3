/*
 * Maps a file privately, changes it behind the mapping and by later writes,
 * maps it again: each mapping must show at replay what the file held then.
 */
// run: varies
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 10000 };

static void fill(int fd, const char *word)
{
	char text[SIZE];
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	memset(text, '.', sizeof text);
	int n = snprintf(text, sizeof text, "%s %ld", word, t.tv_nsec);
	text[n] = '.';
	if (pwrite(fd, text, sizeof text, 0) != SIZE)
		_exit(2);
}

int main(void)
{
	int fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600);
	fill(fd, "first");
	char *a = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	a[5000] = 'x'; /* its second page is now our own */
	printf("%.20s\n", a);
	fill(fd, "second");
	char *b = mmap(0, SIZE, PROT_READ, MAP_PRIVATE, fd, 0);
	printf("%.20s\n", b);
	munmap(a, SIZE);
	unlink("data");
	printf("%.20s %c\n", b, b[5000]);
	return 0;
}
