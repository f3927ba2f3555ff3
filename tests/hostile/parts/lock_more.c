/* Takes one lock more, as the last thing it does, if the value of OURS is masked: in this process, a child, or another program. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int last_lock(void)
{
	const char *ours = getenv("OURS");

	if (ours && *ours == '*') {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	return 3;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int status = 0;

	if (!strcmp(how, "here"))
		_exit(last_lock());
	pid_t child = fork();
	if (!child && !strcmp(how, "exec"))
		execl("/proc/self/exe", argv[0], "here", NULL);
	if (!child)
		_exit(last_lock());
	waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}
