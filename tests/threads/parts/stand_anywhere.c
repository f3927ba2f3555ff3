/*
 * Threads that stand in all kinds of places while the first one makes events: in a loop whose state is in floating-point and vector
 * registers only, in a read, a lock, a condition, a barrier, a semaphore, a join, a sleep, a futex call of the program's own. One has
 * a signal stack and a signal mask of its own. Two kinds of memory: private and shared. What comes of it is printed.
 */
#include "../threads.h"
#include <linux/futex.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { ROUNDS = 40 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, data = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t go = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both;
static sem_t tokens;
static int tube[2], word, on_own_stack;
static unsigned turn, *shared;
static char stack[65536];
static __thread volatile unsigned mine;

/* One wrong bit makes every bit wrong after a hundred steps. */
static double compute(double x, unsigned n)
{
	double a = x / 11, b = x / 13, c = x / 17, d = x / 19;

	for (unsigned i = 0; i < n; i++) {
		a = 3.99 * a * (1 - a);
		b = 3.98 * b * (1 - b);
		c = 3.97 * c * (1 - c);
		d = 3.96 * d * (1 - d);
	}
	return a + b + c + d;
}

static void note(unsigned who, unsigned what)
{
	pthread_mutex_lock(&data);
	shared[0] = shared[0] * 31 + who * 7 + what; /* the order of arrivals */
	pthread_mutex_unlock(&data);
	mine += what;
}

static void on_signal(int sig)
{
	char here;

	on_own_stack += sig == SIGUSR1 && &here > stack && &here < stack + sizeof stack;
}

static void *computes(void *argument)
{
	double sum = 0;

	for (unsigned i = 0; i < ROUNDS / 4; i++) {
		sum += compute(1.5 + ME(argument), 200000 + chance(400000));
		note(ME(argument), i);
	}
	pthread_mutex_lock(&data);
	printf("computed %.17g %u\n", sum, mine);
	pthread_mutex_unlock(&data);
	return NULL;
}

static void *reads(void *argument)
{
	stack_t own = { .ss_sp = stack, .ss_size = sizeof stack };
	sigset_t set;
	char c;

	sigaltstack(&own, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	while (read(tube[0], &c, 1) == 1) {
		note(ME(argument), (unsigned char)c);
		if (c == 5)
			raise(SIGUSR1);
	}
	CHECK(sigaltstack(NULL, &own) == 0 && own.ss_sp == stack);
	pthread_sigmask(SIG_BLOCK, NULL, &set);
	CHECK(sigismember(&set, SIGUSR2));
	/* a frame of the handler holds what calls left in registers, which need not be the same */
	own.ss_flags = SS_DISABLE;
	CHECK(sigaltstack(&own, NULL) == 0);
	memset(stack, 0, sizeof stack);
	return NULL;
}

static void *waits(void *argument)
{
	unsigned seen = 0;

	while (seen < ROUNDS) {
		pthread_mutex_lock(&lock);
		while (turn == seen)
			pthread_cond_wait(&go, &lock);
		seen = turn;
		pthread_mutex_unlock(&lock);
		note(ME(argument), seen);
	}
	return NULL;
}

static void *takes(void *argument)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		sem_wait(&tokens);
		note(ME(argument), i);
		if (i % 8 == 7)
			pthread_barrier_wait(&both);
	}
	return NULL;
}

static void *sleeps(void *argument)
{
	for (unsigned i = 0; i < ROUNDS / 4; i++) {
		pause_us(chance(3000));
		note(ME(argument), i);
		if (i % 2)
			pthread_barrier_wait(&both);
	}
	return NULL;
}

/* A futex call that an unmodified program shows to nobody: woken by the first thread at the end. */
static void *stands(void *argument)
{
	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	note(ME(argument), 1);
	return NULL;
}

static void *joins(void *argument)
{
	pthread_t other;

	CHECK(pthread_create(&other, NULL, computes, argument) == 0);
	pthread_join(other, NULL);
	note(ME(argument), 2);
	return NULL;
}

int main(void)
{
	static void *(*const work[])(void *) = { computes, reads, waits, takes, sleeps, stands, joins };
	pthread_t threads[COUNT(work)];

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED && pipe(tube) == 0 && sem_init(&tokens, 0, 0) == 0);
	pthread_barrier_init(&both, NULL, 2);
	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = on_signal, .sa_flags = SA_ONSTACK }, NULL);
	for (unsigned i = 0; i < COUNT(work); i++)
		CHECK(pthread_create(&threads[i], NULL, work[i], (void *)(uintptr_t)i) == 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		char c = (char)i;
		struct timespec now = after(CLOCK_MONOTONIC, 0);

		CHECK(write(tube[1], &c, 1) == 1);
		pthread_mutex_lock(&lock);
		turn++;
		pthread_cond_signal(&go);
		pthread_mutex_unlock(&lock);
		sem_post(&tokens);
		note(99, (unsigned)now.tv_nsec & 1);
		printf("round %u\n", i);
		fflush(stdout);
		pause_us(chance(500));
	}
	close(tube[1]);
	__atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	for (unsigned i = 0; i < COUNT(work); i++)
		pthread_join(threads[i], NULL);
	printf("all: %u, %d signals, %.17g\n", shared[0], on_own_stack, compute(2, 1000));
	return 0;
}
