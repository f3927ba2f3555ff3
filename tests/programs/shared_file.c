/*
 * A file that is mapped shared, changed through the mapping and by a write to its
 * descriptor. Both changes must be there at replay.
 */
// run: varies
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
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
	snprintf(map + 500, 64, "by hand %ld", t.tv_nsec);
	char back[64];
	if (pread(fd, back, sizeof back, 500) != sizeof back)
		return 4;
	printf("%s, read %s\n", map + 500, back);
	return 0;
}
