/*
 * What could go wrong in the stubs of libc functions: arguments on the stack or in vector registers lost, a section kept
 * by who has left it through an exception, longjmp, cancellation or pthread_exit, the caller hidden from dlopen and dlsym,
 * a thread kept out of a FILE that natively is free. Prints the same with and without the stubs; "held" is always 0.
 * Arguments: the folder of the helper libraries.
 */
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <err.h>
#include <error.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <locale.h>
#include <pthread.h>
#include <regex.h>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

static unsigned held()
{
	static auto ask = (unsigned (*)())dlsym(RTLD_DEFAULT, "libc_test_held");
	return ask ? ask() : 0;
}

static void say(const char *what, bool right)
{
	fflush(stdout);
	printf("%s %s held %u\n", right ? "ok" : "WRONG", what, held());
	fflush(stdout);
}

/* ---- a FILE whose writes do something awkward */

static enum { PLAIN, THROW, JUMP, EXIT_THREAD, TRACE, SIGNAL } act;
static jmp_buf there;
static int frames_seen;
static std::string written;
static FILE *cookie_file;

static ssize_t cookie_write(void *, const char *text, size_t n)
{
	int what = act;
	act = PLAIN;
	switch (what) {
	case THROW: throw 42;
	case JUMP: longjmp(there, 7);
	case EXIT_THREAD: pthread_exit((void *)11);
	case TRACE: {
		void *at[64];
		frames_seen = backtrace(at, 64);
		break;
	}
	case SIGNAL: raise(SIGUSR1); break;
	}
	written.append(text, n);
	return (ssize_t)n;
}

static FILE *open_cookie()
{
	FILE *f = fopencookie(nullptr, "w", { nullptr, cookie_write, nullptr, nullptr });
	setvbuf(f, nullptr, _IONBF, 0);
	return f;
}

struct Count {
	int &n;
	~Count()
	{
		n++;
	}
};

/* In a thread of its own: glibc forgets to take its cleanup handlers off when an exception passes. */
static void *test_exceptions(void *)
{
	int caught = 0, destroyed = 0;
	for (int i = 0; i < 100; i++) {
		try {
			Count c{ destroyed };
			act = THROW;
			fprintf(cookie_file, "%d", i);
		} catch (int n) {
			caught += n == 42;
		}
	}
	say("exceptions out of fprintf", caught == 100 && destroyed == 100);
	return nullptr;
}

static void test_unwinding()
{
	FILE *f = cookie_file = open_cookie();
	int caught = 0;
	pthread_t thread;
	volatile int jumped = 0;
	for (volatile int i = 0; i < 100; i = i + 1) {
		if (!setjmp(there)) {
			act = JUMP;
			fprintf(f, "%d%s%f", i, "x", 1.5);
		} else {
			jumped = jumped + 1;
		}
	}
	say("longjmp out of fprintf", jumped == 100);

	try {
		dl_iterate_phdr([](struct dl_phdr_info *, size_t, void *) -> int { throw 43; }, nullptr);
	} catch (int n) {
		caught = n;
	}
	say("exception out of dl_iterate_phdr", caught == 43);

	static int numbers[2000];
	try {
		qsort(numbers, 2000, sizeof(int), [](const void *, const void *) -> int { throw 44; });
	} catch (int n) {
		caught = n;
	}
	say("exception out of qsort", caught == 44);

	/* a FILE of its own for each: glibc's lock of one that was left this way is not always free again */
	cookie_file = open_cookie();
	pthread_create(&thread, nullptr, test_exceptions, nullptr);
	pthread_join(thread, nullptr);

	void *result = nullptr;
	cookie_file = open_cookie();
	pthread_create(
		&thread, nullptr,
		[](void *) -> void * {
			act = EXIT_THREAD;
			fprintf(cookie_file, "%s", "never");
			return nullptr;
		},
		nullptr);
	pthread_join(thread, &result);
	say("pthread_exit out of fprintf", result == (void *)11);

	f = cookie_file = open_cookie();
	act = TRACE;
	fprintf(f, "%d", 5);
	say("backtrace through a stub", frames_seen > 4 && frames_seen < 64);

	struct sigaction action = {};
	action.sa_handler = [](int) { fprintf(cookie_file, "<%.1f>", 2.5); };
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &action, nullptr);
	char other_stack[65536]; /* above the functions that the handler interrupts */
	stack_t alt = { other_stack, 0, sizeof other_stack };
	sigaltstack(&alt, nullptr);
	written.clear();
	act = SIGNAL;
	fprintf(f, "%s", "abc");
	say("handler on its own stack inside fprintf", written == "<2.5>abc");
	fclose(f);
}

static void *read_for_ever(void *file)
{
	char line[100];
	fgets(line, sizeof line, (FILE *)file);
	return nullptr;
}

static void test_cancel()
{
	int ends[2];
	pipe(ends);
	FILE *f = fdopen(ends[0], "r");
	pthread_t thread;
	void *result;
	pthread_create(&thread, nullptr, read_for_ever, f);
	usleep(20000);
	pthread_cancel(thread);
	pthread_join(thread, &result);
	say("cancelled in fgets", result == PTHREAD_CANCELED);
	write(ends[1], "line\n", 5);
	char line[100] = "";
	fgets(line, sizeof line, f);
	say("fgets after that", !strcmp(line, "line\n"));
	fclose(f);
}

static void test_arguments()
{
	char text[1000], again[1000];
	FILE *f = fmemopen(text, sizeof text, "w+");
	fprintf(f, "%d %f %s %ld %g %g %g %g %g %g %g %g %g %g %g %d %d %d %d %d %d %d %Lf", 1, 2.5, "three", 4l, 5.5,
		6.5, 7.5, 8.5, 9.5, 10.5, 11.5, 12.5, 13.5, 14.5, 15.5, 16, 17, 18, 19, 20, 21, 22, 23.25l);
	rewind(f);
	sprintf(again, "%d %f %s %ld %g %g %g %g %g %g %g %g %g %g %g %d %d %d %d %d %d %d %Lf", 1, 2.5, "three", 4l,
		5.5, 6.5, 7.5, 8.5, 9.5, 10.5, 11.5, 12.5, 13.5, 14.5, 15.5, 16, 17, 18, 19, 20, 21, 22, 23.25l);
	say("23 arguments", !strcmp(text, again));
	int a, c, d, e, g, h, k;
	double b[12];
	char word[20];
	int n = fscanf(f, "%d %lf %19s %d %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %d %d %d %d %d", &a, &b[0], word,
		       &c, &b[1], &b[2], &b[3], &b[4], &b[5], &b[6], &b[7], &b[8], &b[9], &b[10], &b[11], &d, &e, &g,
		       &h, &k);
	say("20 scanned", n == 20 && b[11] == 15.5 && d == 16 && k == 20 && !strcmp(word, "three"));
	fclose(f);
	srand48(5);
	double first = drand48();
	srand48(5);
	say("result in a vector register", first == drand48() && first > 0 && first < 1);
	time_t when = 86400 * 365;
	struct tm tm;
	gmtime_r(&when, &tm);
	strftime(text, sizeof text, "%Y-%m-%d", &tm);
	say("strftime", !strcmp(text, "1971-01-01"));
	regex_t regex;
	regmatch_t match[2];
	say("regcomp", !regcomp(&regex, "a(b+)c", REG_EXTENDED));
	say("regexec", !regexec(&regex, "xxabbbc", 2, match, 0) && match[1].rm_so == 3 && match[1].rm_eo == 6);
	regfree(&regex);
	setenv("LIBC_TEST", "yes", 1);
	say("getenv", !strcmp(getenv("LIBC_TEST"), "yes"));
	say("strerror", !strcmp(strerror(2), "No such file or directory"));
	FILE *w = open_memstream((char **)&w, new size_t);
	fclose(w);
	errno = 77;
	fputs("", stdout);
	fflush(stdout);
	say("errno stays", errno == 77);
}

static void test_dl(const std::string &folder)
{
	void *one = dlopen((folder + "/libone.so").c_str(), RTLD_NOW | RTLD_GLOBAL);
	say("dlopen", one != nullptr);
	if (!one) {
		puts(dlerror());
		return;
	}
	/* its own folder is in its RUNPATH: works only if dlopen knows who calls */
	auto load = (int (*)())dlsym(one, "load_two");
	say("dlopen by a name that only the caller's RUNPATH finds", load && load() == 2);
	auto next = (const char *(*)())dlsym(one, "whoami");
	printf("next: %s\n", next ? next() : "none");
	void *libc = dlopen("libc.so.6", RTLD_NOW);
	auto put = (int (*)(const char *, FILE *))dlsym(libc, "fputs");
	put("through dlsym\n", stdout);
	say("a wrapped function by dlsym", !dlsym(RTLD_DEFAULT, "libc_test_held") ||
						   put == (int (*)(const char *, FILE *))dlsym(RTLD_DEFAULT, "fputs"));
	say("dlclose", !dlclose(libc));
}

static void *write_fifo(void *path)
{
	FILE *f = fopen((const char *)path, "w");
	fputs("through the pipe\n", f);
	fclose(f);
	return nullptr;
}

static void test_fifo()
{
	char path[] = "/tmp/libc_test_fifo_XXXXXX";
	close(mkstemp(path));
	unlink(path);
	mkfifo(path, 0600);
	pthread_t thread;
	pthread_create(&thread, nullptr, write_fifo, path);
	char line[100] = "";
	FILE *f = fopen(path, "r");
	fgets(line, sizeof line, f);
	fclose(f);
	pthread_join(thread, nullptr);
	unlink(path);
	say("both ends of a named pipe", !strcmp(line, "through the pipe\n"));
	f = popen("echo child", "r");
	fgets(line, sizeof line, f);
	say("popen", !strcmp(line, "child\n") && pclose(f) == 0);
}

static void *hammer(void *file)
{
	for (int i = 0; i < 3000; i++) {
		fprintf((FILE *)file, "%d %s %f\n", i, "line", i * 0.5);
		if (i % 100 == 0)
			fflush(nullptr);
		if (i % 50 == 0) {
			FILE *f = fopen("/dev/null", "w");
			fputc('x', f);
			fclose(f);
		}
		if (i % 30 == 0) {
			flockfile((FILE *)file);
			putc_unlocked('a', (FILE *)file);
			putc('\n', (FILE *)file);
			funlockfile((FILE *)file);
		}
	}
	return nullptr;
}

static void test_hammer()
{
	FILE *f = tmpfile();
	pthread_t threads[4];
	for (auto &t : threads)
		pthread_create(&t, nullptr, hammer, f);
	for (auto &t : threads)
		pthread_join(t, nullptr);
	rewind(f);
	int lines = 0, good = 0;
	char *line = nullptr;
	size_t room = 0;
	while (getline(&line, &room, f) > 0) {
		double d;
		int i;
		lines++;
		good += !strcmp(line, "a\n") || (sscanf(line, "%d line %lf", &i, &d) == 2 && d == i * 0.5);
	}
	say("four threads, one FILE", lines == 4 * 3100 && good == lines);
	fclose(f);
}

static int status_of(void (*child)())
{
	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		dup2(1, 2);
		child();
		_exit(99);
	}
	int status;
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_exits()
{
	say("error(3)", status_of([] { error(3, ENOENT, "%s %g", "message", 1.5); }) == 3);
	say("error(0)", status_of([] { error(0, 0, "%s", "warning"), _exit(5); }) == 5);
	say("err(4)", status_of([] { errno = EACCES, err(4, "%s %d", "x", 1); }) == 4);
	say("errx(6)", status_of([] { errx(6, "%g", 2.5); }) == 6);
	say("exit with a reader blocked in stdin", status_of([] {
							   int ends[2];
							   pipe(ends);
							   dup2(ends[0], 0);
							   pthread_t thread;
							   pthread_create(&thread, nullptr, read_for_ever, stdin);
							   usleep(20000);
							   fputs("still buffered\n", stdout);
							   exit(8);
						   }) == 8);
}

/* In libthree.so, by chance named like a function of libc's that is wrapped. */
extern "C" int hdestroy(int, double);

static void test_foreign()
{
	say("another library's function of that name", hdestroy(20, 2.5) == 50);
}

int main(int, char **argv)
{
	test_foreign();
	test_arguments();
	test_dl(argv[1]);
	test_fifo();
	test_hammer();
	test_exits();
	test_cancel();
	test_unwinding();
	puts("end");
}
