/*
 * Memory that two processes share, once through a file and once without: what
 * the child writes there its parent must see at replay too, at the right time.
 */
// run: varies known-failure='system calls are not yet ordered between processes'
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	int fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (ftruncate(fd, 4096))
		return 1;
	char *map = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return 2;
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
