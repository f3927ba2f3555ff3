/*
 * usage FILE COMMAND [ARGUMENTS...]: runs the command, and writes to FILE what it and its children have used: seconds
 * of wall time and of CPU time, KiB of memory at most in one process. Ends as the command does. A small process
 * between: the kernel counts the memory of whoever calls exec, too, and that of a Python is more than most programs
 * need.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile pid_t child;

static void pass_on(int sig)
{
	kill(child, sig);
}

int main(int argc, char **argv)
{
	struct timespec from, to;
	struct rusage used;
	int status;
	if (argc < 3) {
		fprintf(stderr, "usage: usage FILE COMMAND [ARGUMENTS...]\n");
		return 121;
	}
	clock_gettime(CLOCK_MONOTONIC, &from);
	child = fork();
	if (child == 0) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	signal(SIGTERM, pass_on);
	signal(SIGINT, SIG_IGN);
	while (wait4(child, &status, 0, &used) < 0)
		;
	clock_gettime(CLOCK_MONOTONIC, &to);
	FILE *file = fopen(argv[1], "w");
	if (!file)
		return 1;
	fprintf(file, "%.6f %.6f %ld\n", (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9,
		(double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
			(double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6,
		used.ru_maxrss);
	fclose(file);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
