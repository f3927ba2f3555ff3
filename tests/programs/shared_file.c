/*
 * A file that is mapped shared, changed through the mapping and by a write to its
 * descriptor. Both changes must be there at replay. What could go wrong: a write
 * through a descriptor that was a pipe before, and of which the recorder remembers
 * that its writes change no file.
 */
// run: varies
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum way { CLOSE, CLOSE_RANGE, DUP2, DUP3, WAYS };

/* A pipe's descriptor, used as such, that then leads to the file. */
static int becomes_file(int file, enum way way)
{
	int ends[2];
	if (pipe(ends) || write(ends[1], "x", 1) != 1 || write(ends[1], "y", 1) != 1)
		return -1;
	int fd = ends[1];
	if (way == CLOSE && close(fd))
		return -1;
	if (way == CLOSE_RANGE && close_range((unsigned)fd, (unsigned)fd, 0))
		return -1;
	if (way == DUP2 || way == DUP3)
		fd = way == DUP2 ? dup2(file, fd) : dup3(file, fd, O_CLOEXEC);
	else
		fd = fcntl(file, F_DUPFD, fd);
	close(ends[0]);
	return fd == ends[1] ? fd : -1;
}

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
	snprintf(map + 500, 64, "by hand %ld", t.tv_nsec);
	char back[64];
	if (pread(fd, back, sizeof back, 500) != sizeof back)
		return 4;
	printf("%s, read %s\n", map + 500, back);
	for (int way = CLOSE; way < WAYS; way++) {
		int again = becomes_file(fd, way), at = 1000 + 100 * way;
		if (again < 0 || lseek(again, at, SEEK_SET) != at || write(again, text, sizeof text) != sizeof text)
			return 5;
		printf("%s\n", map + at);
		close(again);
	}
	return 0;
}
