/*
 * Calls that answer something else than most programs expect: an old value that cannot be written, a file that cannot be
 * mapped, a request with pointers inside, memory that may only be read, the program's own file.
 */
#include "check.h"
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>

static void own_file(void)
{
	char start[4];
	int fd = open("/proc/self/exe", O_RDONLY);

	CHECK(fd >= 0 && read(fd, start, 4) == 4 && !memcmp(start, "\177ELF", 4));
	close(fd);
}

/* glibc passes the pointer on. */
static void old_mask(void)
{
	errno = 0;
	printf("old mask %d", sigprocmask(SIG_BLOCK, NULL, (sigset_t *)8));
	printf(" %s\n", strerror(errno));
}

static void mapped_pipe(void)
{
	int ends[2];

	CHECK(!pipe(ends));
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, ends[0], 0) == MAP_FAILED && errno == ENODEV);
	close(ends[0]);
	close(ends[1]);
}

/* PROCMAP_QUERY, of Linux 6.11: where it is not there, programs read the text. */
static void query_of_maps(void)
{
	uint64_t query[13] = { sizeof query, 0, (uint64_t)query_of_maps };
	char name[256] = "unset";
	uint32_t size = sizeof name;
	int fd = open("/proc/self/maps", O_RDONLY);

	memcpy((char *)query + 80, &size, sizeof size);
	query[11] = (uint64_t)name;
	CHECK(fd >= 0);
	int result = ioctl(fd, _IOC(3, 'f', 17, 104), query);
	CHECK(result == -1 ? !strcmp(name, "unset") : *name == '/');
	close(fd);
}

static void only_to_be_read(void)
{
	int status;
	pid_t child = fork();

	if (!child) {
		int id = shmget(IPC_PRIVATE, 4096, 0600);
		char *p = shmat(id, NULL, SHM_RDONLY);
		shmctl(id, IPC_RMID, NULL);
		*p = 1;
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	printf("a store ends with signal %d\n", WTERMSIG(status));
}

int main(void)
{
	own_file();
	old_mask();
	mapped_pipe();
	query_of_maps();
	only_to_be_read();
	return 0;
}
