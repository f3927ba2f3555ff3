/* A child that asks for its id in a function of its own: a divergence there has to name that function. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static __attribute__((noinline)) int be_child(void)
{
	int id = getppid();

	__asm__ volatile("" ::: "memory");
	return id > 0 ? 0 : 1;
}

int main(void)
{
	int status;
	pid_t child = fork();

	if (!child)
		_exit(be_child());
	if (waitpid(child, &status, 0) != child || status)
		return 1;
	puts("done");
	return 0;
}
