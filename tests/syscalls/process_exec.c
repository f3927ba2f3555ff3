/*
 * Becoming another program. What could go wrong: arguments, environment, working
 * directory, descriptors, ignored signals or the mask not handed on; scripts;
 * programs named by a descriptor; errors of exec, after which the old program
 * goes on; the pid changing.
 */
// run: varies
#include "check.h"
#include <sys/wait.h>

static void handler(int sig UNUSED)
{
}

static void chain(int step, char **argv, char **env)
{
	char self[PATH_MAX], next[12];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	CHECK(n > 0);
	self[n] = 0;
	snprintf(next, sizeof next, "%d", step + 1);
	char *args[] = { argv[0], next, argv[2], 0 };
	char *small[] = { "ONLY=this", "STEP=2", 0 };
	int fd;
	say("step %d pid %d", step, getpid());
	CHECK(atoi(argv[2]) == getpid());
	switch (step) {
	case 1:
		signal(SIGUSR1, SIG_IGN);
		signal(SIGUSR2, handler);
		sigset_t set;
		sigemptyset(&set);
		sigaddset(&set, SIGHUP);
		CHECK(sigprocmask(SIG_BLOCK, &set, 0) == 0);
		CHECK(open("/dev/null", O_RDONLY) == 3 && open("/dev/null", O_RDONLY | O_CLOEXEC) == 4);
		CHECK(chdir("/") == 0);
		execve(self, args, small);
		break;
	case 2:
		CHECK(!strcmp(env[0], "ONLY=this") && !strcmp(env[1], "STEP=2") && !env[2]);
		struct sigaction a;
		CHECK(sigaction(SIGUSR1, 0, &a) == 0 && a.sa_handler == SIG_IGN);
		CHECK(sigaction(SIGUSR2, 0, &a) == 0 && a.sa_handler == SIG_DFL);
		CHECK(sigprocmask(SIG_SETMASK, 0, &set) == 0 && sigismember(&set, SIGHUP) &&
		      !sigismember(&set, SIGINT));
		CHECK(fcntl(3, F_GETFD) == 0 && fcntl(4, F_GETFD) == -1);
		char cwd[PATH_MAX];
		CHECK(getcwd(cwd, sizeof cwd) && !strcmp(cwd, "/"));
		close(3);
		fd = open(self, O_RDONLY | O_CLOEXEC);
		CHECK(fd >= 0);
		fexecve(fd, args, env);
		break;
	case 3:
		fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		CHECK(fd >= 0);
		syscall(SYS_execveat, fd, self + 1, args, env, 0);
		break;
	case 4: say("the end of the chain"); exit(21);
	}
	CHECK(!"exec failed");
}

static int status_of(pid_t pid)
{
	int status;
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int main(int argc, char **argv, char **env)
{
	if (argc > 2)
		chain(atoi(argv[1]), argv, env);
	enter_temp();
	pid_t pid = fork();
	if (!pid) {
		char mine[20], exe[40];
		snprintf(mine, sizeof mine, "%d", getpid());
		snprintf(exe, sizeof exe, "/proc/%d/exe", getpid());
		char *args[] = { argv[0], "1", mine, 0 };
		execve(exe, args, env);
		_exit(99);
	}
	CHECK(status_of(pid) == 21);

	/* Errors: the program goes on. */
	char *args[] = { "name", "one", "two words", 0 };
	FAILS(execve("/none", args, env), ENOENT);
	FAILS(execve("/", args, env), EACCES);
	int fd = open("plain", O_CREAT | O_WRONLY, 0644);
	CHECK(fd >= 0 && write(fd, "no program\n", 11) == 11 && close(fd) == 0);
	FAILS(execve("plain", args, env), EACCES);
	CHECK(chmod("plain", 0755) == 0);
	FAILS(execve("plain", args, env), ENOEXEC);
	FAILS(execve("plain/x", args, env), ENOTDIR);
	FAILS(execve("plain", bad_pointer, env), EFAULT);
	fd = open("broken", O_CREAT | O_WRONLY, 0755);
	CHECK(fd >= 0 && write(fd, "#!/none/such -x\n", 16) == 16 && close(fd) == 0);
	FAILS(execve("broken", args, env), ENOENT);
	FAILS(execve("plain", (char *[]){ "x", 0 }, (char *[]){ 0 }), ENOEXEC);

	/* Scripts: one argument after the interpreter, then the script's own name. */
	fd = open("script", O_CREAT | O_WRONLY, 0755);
	const char text[] = "#! /bin/sh -e\necho script $0 has $# arguments: \"$@\", pid $$\nexit 17\n";
	CHECK(fd >= 0 && write(fd, text, sizeof text - 1) == sizeof text - 1 && close(fd) == 0);
	pid = fork();
	if (!pid) {
		execve("./script", args, env);
		_exit(99);
	}
	CHECK(status_of(pid) == 17);
	pid = fork();
	if (!pid) {
		execvp("./plain", args); /* not a program: libc gives it to the shell */
		_exit(99);
	}
	int status = status_of(pid);
	CHECK(status == 127 || status == 2 || status == 99);
	unlink("plain");
	unlink("broken");
	unlink("script");
	leave_temp();
	return done();
}
