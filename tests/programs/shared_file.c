/*
 * A file that is mapped shared, changed through the mapping by a child and by a
 * write to its descriptor. Both changes must be there at replay, or the mapping
 * is refused by name: never a silent difference.
 */
// run: varies
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	char text[64] = { 0 };
	snprintf(text, sizeof text, "written at %ld", t.tv_nsec);

	int fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (ftruncate(fd, 4096))
		return 1;
	char *map = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return 2;
	if (pwrite(fd, text, sizeof text, 100) != sizeof text)
		return 3;
	printf("%s\n", map + 100);
	if (fork() == 0) {
		snprintf(map + 500, 64, "by the child %d", getpid());
		_exit(0);
	}
	wait(0);
	printf("%s\n", map + 500);
	char *shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (fork() == 0) {
		snprintf(shared, 64, "and again by %d", getpid());
		_exit(0);
	}
	wait(0);
	printf("%s\n", shared);
	return 0;
}
