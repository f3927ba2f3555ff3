/*
 * exit() while another thread holds FILEs with flockfile(): libc writes what is in their buffers all the same. What could go
 * wrong: it is lost; or a FILE that was read before is written at another place.
 */
// run: varies status=3
#include "threads.h"
#include <sys/wait.h>

static pthread_barrier_t held;
static FILE *file;

static void *holds(void *unused)
{
	flockfile(stdout);
	flockfile(file);
	printf("%d has stdout\n", getpid());
	CHECK(fgetc(file) == '0' && fgetc(file) == '1' && fputs("ab", file) >= 0);
	pthread_barrier_wait(&held);
	for (;;)
		pause();
	return unused;
}

static void end_beside(int fd)
{
	pthread_t thread;
	CHECK((file = fdopen(fd, "r+")) && pthread_barrier_init(&held, NULL, 2) == 0);
	CHECK(pthread_create(&thread, NULL, holds, NULL) == 0);
	pthread_barrier_wait(&held);
	alarm(30);
	exit(3);
}

int main(void)
{
	static char room[4096];
	char text[100] = "", printed[100] = "", expected[100];
	int status, ends[2];
	FILE *shared = tmpfile();
	CHECK(shared && pwrite(fileno(shared), "0123456789", 10, 0) == 10 && pipe(ends) == 0);
	setvbuf(stdout, room, _IOFBF, sizeof room);
	pid_t child = fork();
	if (!child) {
		CHECK(dup2(ends[1], 1) == 1);
		end_beside(fileno(shared));
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
	snprintf(expected, sizeof expected, "%d has stdout\n", child);
	CHECK(close(ends[1]) == 0 && read(ends[0], printed, 99) >= 0 && !strcmp(printed, expected));
	CHECK(pread(fileno(shared), text, 99, 0) == 10 && !strcmp(text, "01ab456789"));
	printf("%s", printed);
	return WEXITSTATUS(status);
}
