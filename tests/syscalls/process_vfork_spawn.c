/*
 * Children that share memory with their parent until they exec. What could go
 * wrong: the child's writes (that is how posix_spawn reports errors) lost, the
 * parent running too early, a child that fails to exec and ends.
 */
// run: varies
#include "check.h"
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static pid_t spawn(const char *path, char *const argv[], posix_spawn_file_actions_t *actions, posix_spawnattr_t *attr,
		   int *error)
{
	pid_t pid = -1;
	*error = posix_spawn(&pid, path, actions, attr, argv, environ);
	return pid;
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		say("spawned as %d with %s", getpid(), argv[1]);
		return 9;
	}
	int status, error;
	volatile int shared = 0;
	pid_t pid = vfork();
	CHECK(pid >= 0);
	if (pid == 0) {
		shared = getpid();
		_exit(4);
	}
	CHECK(shared == pid); /* it ran first, in our memory */
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 4);
	say("vfork child %d", pid);

	pid = vfork();
	CHECK(pid >= 0);
	if (pid == 0) {
		execl("/nothing/of/the/kind", "x", (char *)0);
		shared = errno;
		_exit(5);
	}
	CHECK(shared == ENOENT && waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5);

	pid = vfork();
	CHECK(pid >= 0);
	if (pid == 0) {
		execl("/proc/self/exe", argv[0], "vfork", (char *)0);
		_exit(6);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 9);

	char *args[] = { argv[0], "an argument", 0 };
	pid = spawn("/proc/self/exe", args, 0, 0, &error);
	CHECK(error == 0 && waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 9);
	spawn("/nothing/of/the/kind", args, 0, 0, &error);
	CHECK(error == ENOENT);
	spawn("/etc/passwd", args, 0, 0, &error);
	CHECK(error == EACCES);
	FAILS(wait(&status), ECHILD);

	/* Into a pipe, in another group, with default signals. */
	int p[2];
	CHECK(pipe2(p, O_CLOEXEC) == 0);
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t set;
	sigfillset(&set);
	CHECK(posix_spawn_file_actions_init(&actions) == 0 && posix_spawnattr_init(&attr) == 0);
	CHECK(posix_spawn_file_actions_adddup2(&actions, p[1], 1) == 0);
	CHECK(posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK) ==
	      0);
	CHECK(posix_spawnattr_setsigdefault(&attr, &set) == 0);
	pid = spawn("/proc/self/exe", args, &actions, &attr, &error);
	CHECK(error == 0);
	close(p[1]);
	char text[200];
	long n = 0, got;
	while ((got = read(p[0], text + n, sizeof text - (size_t)n)) > 0)
		n += got;
	CHECK(n > 0);
	say("through the pipe: %.*s", (int)n - 1, text);
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 9);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);

	CHECK((status = system("exit 12")) >= 0 && WEXITSTATUS(status) == 12);
	FILE *f = popen("echo from the shell $$", "r");
	CHECK(f && fgets(text, sizeof text, f));
	printf("%s", text);
	CHECK(pclose(f) == 0);
	return done();
}
