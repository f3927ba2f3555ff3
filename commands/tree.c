/*
 * The tree of processes that heddle starts: the loader, which becomes the
 * program, and everybody that descends from it. Heddle is their subreaper, so
 * whoever loses its parent becomes heddle's child, and "no child is left" means
 * that the whole tree has ended.
 *
 * Signals that concern heddle stay blocked and are taken one by one with
 * tree_signal(): no handler runs, nothing races. The program starts with the
 * mask and dispositions that heddle was started with.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "commands.h"

/* ---- before the start --------------------------------------------------------------- */

void tree_find_loader(char path[PATH_ROOM])
{
	const char *named = getenv("HEDDLE_LOADER");
	char self[PATH_MAX], guess[PATH_MAX + 64];

	if (named && *named)
		snprintf(guess, sizeof guess, "%s", named);
	else {
		ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
		if (n < 0)
			die("/proc/self/exe: %s; is /proc mounted?", strerror(errno));
		self[n] = 0;
		snprintf(guess, sizeof guess, "%s/../lib/heddle/loader", dirname(self));
	}
	char *real = realpath(guess, NULL);
	if (!real || access(real, X_OK))
		die("%s: the loader is missing or not executable: %s; install heddle again", guess, strerror(errno));
	if (strlen(real) >= PATH_ROOM)
		die("%s: this path is too long", real);
	strcpy(path, real);
	free(real);
}

/* Heddle writes its files however small the program's may be. */
static void lift_file_limit(struct tree *tree)
{
	sigaction(SIGXFSZ, &(struct sigaction){ .sa_handler = SIG_IGN }, &tree->file_action);
	getrlimit(RLIMIT_FSIZE, &tree->file_limit);
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){ tree->file_limit.rlim_max, tree->file_limit.rlim_max });
}

void tree_restore(const struct tree *tree)
{
	sigaction(SIGCHLD, &tree->child, NULL);
	sigprocmask(SIG_SETMASK, &tree->before, NULL);
	setrlimit(RLIMIT_FSIZE, &tree->file_limit);
	sigaction(SIGXFSZ, &tree->file_action, NULL);
}

void tree_prepare(struct tree *tree, const char *dir, enum run_mode mode)
{
	memset(tree, 0, sizeof *tree);
	lift_file_limit(tree);
	snprintf(tree->control_path, sizeof tree->control_path, "%s/control", dir);
	int fd = open(tree->control_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		die("%s: %s", tree->control_path, strerror(errno));
	/* really there, or a full disk would be a SIGBUS in whoever touches it first */
	int error = posix_fallocate(fd, 0, CONTROL_SIZE);
	if (error)
		die("%s: %s", tree->control_path, strerror(error));
	if (flock(fd, LOCK_EX | LOCK_NB))
		die("%s: cannot be locked: %s", tree->control_path, strerror(errno));
	struct control *c = mmap(NULL, CONTROL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (c == MAP_FAILED)
		die("%s: cannot be mapped: %s", tree->control_path, strerror(errno));
	c->magic = CONTROL_MAGIC;
	c->version = TRACE_VERSION;
	c->arch = TRACE_ARCH;
	c->mode = mode;
	c->heddle_pid = (uint32_t)getpid();
	c->next_image = 1; /* the root is 0 */
	c->root_status = ~0u;
	snprintf(c->trace, sizeof c->trace, "%s", dir);
	snprintf(c->work_dir, sizeof c->work_dir, "%s", dir);
	home_find_sites(c);
	tree_find_loader(c->loader);
	tree->control = c;
	tree->control_fd = fd;
}

/* ---- starting ---------------------------------------------------------------------------- */

/* Blocks what tree_signal() will take. What heddle was told to ignore stays ignored. */
static void take_signals(struct tree *tree)
{
	static const int wanted[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2 };
	struct sigaction act;

	sigemptyset(&tree->wanted);
	sigaddset(&tree->wanted, SIGCHLD);
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		if (!sigaction(wanted[i], NULL, &act) && act.sa_handler != SIG_IGN)
			sigaddset(&tree->wanted, wanted[i]);
	sigprocmask(SIG_BLOCK, &tree->wanted, &tree->before);
	/* with SIGCHLD ignored the kernel would throw away how children ended */
	sigaction(SIGCHLD, &(struct sigaction){ .sa_handler = SIG_DFL }, &tree->child);
}

/* In the child: becomes the loader, or tells why not. */
static void become(const struct tree *tree, char **argv, pid_t heddle, int tell)
{
	tree_restore(tree);
	/* the program must not outlive the one who packs its rings, not even kill -9 */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != heddle)
		_exit(EXIT_CANNOT);
	execv(argv[0], argv);
	int error = errno;
	ssize_t told = write(tell, &error, sizeof error);
	_exit(told == sizeof error ? EXIT_CANNOT : EXIT_CANNOT + 1);
}

void tree_start(struct tree *tree, char **argv)
{
	int pipe_fd[2], error = 0;
	pid_t heddle = getpid();

	if (prctl(PR_SET_CHILD_SUBREAPER, 1))
		die("cannot become the parent of orphans (PR_SET_CHILD_SUBREAPER): %s", strerror(errno));
	if (pipe2(pipe_fd, O_CLOEXEC))
		die("pipe: %s", strerror(errno));
	take_signals(tree);
	fflush(NULL);
	tree->root = fork();
	if (tree->root < 0)
		die("fork: %s", strerror(errno));
	if (!tree->root)
		become(tree, argv, heddle, pipe_fd[1]);
	close(pipe_fd[1]);
	ssize_t n;
	while ((n = read(pipe_fd[0], &error, sizeof error)) < 0 && errno == EINTR)
		;
	close(pipe_fd[0]);
	if (n == sizeof error) {
		waitpid(tree->root, NULL, 0);
		die("%s: the loader does not start: %s; `heddle doctor` looks for the reason", argv[0],
		    strerror(error));
	}
}

/* ---- while it runs ------------------------------------------------------------------------- */

bool tree_reap(struct tree *tree)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
		if (pid == __atomic_load_n(&tree->helper, __ATOMIC_ACQUIRE)) {
			tree->helper_status = status;
			__atomic_store_n(&tree->helper, -1, __ATOMIC_RELEASE);
		} else if (pid == tree->root && !tree->root_ended) {
			tree->root_status = status;
			tree->root_ended = true;
		}
	return pid == 0 || (pid < 0 && errno == EINTR);
}

int tree_signal(struct tree *tree, siginfo_t *info, int milliseconds)
{
	struct timespec limit = { .tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000 };
	int sig = sigtimedwait(&tree->wanted, info, &limit);

	return sig > 0 ? sig : 0;
}

void tree_stop(struct control *control, enum stop_kind kind, const char *format, ...)
{
	uint32_t open = 0;
	va_list args;

	if (!__atomic_compare_exchange_n(&control->stop_lock, &open, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	va_start(args, format);
	vsnprintf(control->stop_text, sizeof control->stop_text, format, args);
	va_end(args);
	__atomic_store_n(&control->stop, kind, __ATOMIC_RELEASE); /* the text is there before */
}

void tree_print_stop(const struct control *control)
{
	size_t n = strnlen(control->stop_text, sizeof control->stop_text);

	while (n && control->stop_text[n - 1] == '\n')
		n--;
	note("%.*s", (int)n, control->stop_text);
}

/* ---- everybody ------------------------------------------------------------------------------ */

struct member {
	pid_t pid, parent;
	bool ours;
};

/* What a file /proc/.../stat tells; its name may hold spaces and parentheses. False: it is gone. */
static bool read_stat(const char *path, char *state, int *parent, int *threads)
{
	char text[512];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	const char *after = strrchr(text, ')');
	return after && sscanf(after + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d",
			       state, parent, threads) == 3;
}

/* The parent of a process; -1: it has ended. One whose first thread alone has ended is a zombie with other threads. */
static pid_t parent_of(const char *pid)
{
	char path[300], state;
	int parent, threads;

	snprintf(path, sizeof path, "/proc/%s/stat", pid);
	if (!read_stat(path, &state, &parent, &threads) || state == 'X' || (state == 'Z' && threads <= 1))
		return -1;
	return parent;
}

static struct member *list_processes(size_t *count)
{
	DIR *proc = opendir("/proc");
	struct member *all = NULL;
	struct dirent *item;
	size_t n = 0, room = 0;

	while (proc && (item = readdir(proc))) {
		if (*item->d_name < '1' || *item->d_name > '9')
			continue;
		if (n == room) {
			room = room ? 2 * room : 256;
			all = realloc(all, room * sizeof *all);
			if (!all)
				abort();
		}
		all[n++] = (struct member){ .pid = atoi(item->d_name), .parent = parent_of(item->d_name) };
	}
	if (proc)
		closedir(proc);
	*count = n;
	return all;
}

static bool is_ours(const struct member *all, size_t n, pid_t top, pid_t pid)
{
	if (pid == top)
		return true;
	for (size_t i = 0; i < n; i++)
		if (all[i].pid == pid)
			return all[i].ours;
	return false;
}

/* Calls `each` for all descendants of a process, parents before children, and says how many they are. By parents and
   not by /proc/PID/task/TID/children, which kernels need not have. */
static int for_descendants(pid_t top, void (*each)(pid_t, void *), void *with)
{
	size_t n;
	struct member *all = list_processes(&n);
	bool more = true;
	int count = 0;

	while (more) { /* children may stand before their parents in the list */
		more = false;
		for (size_t i = 0; i < n; i++)
			if (!all[i].ours && all[i].parent > 0 && is_ours(all, n, top, all[i].parent)) {
				all[i].ours = more = true;
				count++;
				if (each)
					each(all[i].pid, with);
			}
	}
	free(all);
	return count;
}

static void kill_one(pid_t pid, void *unused)
{
	(void)unused;
	kill(pid, SIGKILL);
}

void tree_kill(void)
{
	for_descendants(getpid(), kill_one, NULL);
}

void tree_kill_below(pid_t child)
{
	for_descendants(child, kill_one, NULL);
}

int tree_count(void)
{
	return for_descendants(getpid(), NULL, NULL);
}

/* ---- standing still -------------------------------------------------------------------------- */

/* Does no thread of it run code of its own? One that was told to stop does not, either, when it comes out of a sleep
   that nothing interrupts ('D'). */
static bool all_are(pid_t pid, const char *still)
{
	char path[600], state = 0;
	int parent, threads;
	struct dirent *item;
	bool all = true;

	snprintf(path, sizeof path, "/proc/%d/task", pid);
	DIR *tasks = opendir(path);
	while (tasks && all && (item = readdir(tasks))) {
		snprintf(path, sizeof path, "/proc/%d/task/%s/stat", pid, item->d_name);
		all = *item->d_name == '.' || !read_stat(path, &state, &parent, &threads) || strchr(still, state);
	}
	if (tasks)
		closedir(tasks);
	return all;
}

static bool stands_still(pid_t pid, bool told)
{
	return all_are(pid, told ? "TtDZX" : "TtZX");
}

bool tree_sleeps(pid_t pid)
{
	return all_are(pid, "SZX");
}

static bool was_told(const struct tree_still *still, pid_t pid)
{
	for (size_t i = 0; i < still->count; i++)
		if (still->pids[i] == pid)
			return true;
	return false;
}

static void stop_one(pid_t pid, void *with)
{
	struct tree_still *still = with;
	bool told = was_told(still, pid);

	if (stands_still(pid, told))
		return;
	still->moving = true;
	if (told)
		return;
	still->pids = realloc(still->pids, (still->count + 1) * sizeof *still->pids);
	if (!still->pids)
		abort();
	still->pids[still->count++] = pid;
	kill(pid, SIGSTOP);
}

/* A process may have forked after the list was made and before it stood still: so the second quiet look counts. */
void tree_stand_still(struct tree_still *still)
{
	memset(still, 0, sizeof *still);
	for (int tries = 0, quiet = 0; quiet < 2 && tries < 5000; tries++) {
		still->moving = false;
		for_descendants(getpid(), stop_one, still);
		quiet = still->moving ? 0 : quiet + 1;
		if (still->moving)
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}

/* Children first: when its parent looks again, none of them is stopped. */
void tree_go_on(struct tree_still *still)
{
	while (still->count)
		kill(still->pids[--still->count], SIGCONT);
	free(still->pids);
}

/* ---- the end -------------------------------------------------------------------------------- */

void exit_like(const struct tree *tree, int status)
{
	fflush(NULL);
	if (!WIFSIGNALED(status))
		exit(WEXITSTATUS(status));
	/* one core file is enough, and it is the program's */
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	prctl(PR_SET_DUMPABLE, 0); /* core_pattern may name a program, which rlimits do not stop */
	int sig = WTERMSIG(status);
	signal(sig, SIG_DFL);
	sigset_t set = tree->before;
	sigdelset(&set, sig);
	sigprocmask(SIG_SETMASK, &set, NULL);
	kill(getpid(), sig);
	exit(128 + sig);
}
