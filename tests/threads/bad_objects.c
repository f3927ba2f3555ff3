/*
 * Locks, conditions and semaphores at addresses where nothing is: each call faults, as in libc, and the program may catch that. What could go
 * wrong: the runtime works on these objects, too, and a fault there is taken for one of Heddle's own; by the long way, with other
 * threads, the fault is at another instruction than by the short one.
 */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static sigjmp_buf back;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct timespec past = { 1, 0 };
static volatile unsigned long nowhere; /* NULL, but not to the compiler */

static void fault(int sig)
{
	siglongjmp(back, sig);
}

#define MUTEX ((pthread_mutex_t *)nowhere)
#define RW    ((pthread_rwlock_t *)nowhere)
#define SPIN  ((pthread_spinlock_t *)nowhere)
#define SEM   ((sem_t *)nowhere)
#define COND  ((pthread_cond_t *)nowhere)
#define TRY(call)                                                   \
	do {                                                        \
		if (sigsetjmp(back, 1) == 0)                        \
			printf("%s gave %d\n", #call, (int)(call)); \
		else                                                \
			printf("%s faulted\n", #call);              \
	} while (0)

static void all(void)
{
	TRY(pthread_mutex_lock(MUTEX));
	TRY(pthread_mutex_trylock(MUTEX));
	TRY(pthread_mutex_unlock(MUTEX));
	TRY(pthread_mutex_timedlock(MUTEX, &past));
	TRY(pthread_rwlock_rdlock(RW));
	TRY(pthread_rwlock_wrlock(RW));
	TRY(pthread_rwlock_unlock(RW));
	TRY(pthread_spin_lock(SPIN));
	TRY(pthread_spin_unlock(SPIN));
	TRY(pthread_barrier_wait((pthread_barrier_t *)nowhere));
	TRY(sem_wait(SEM));
	TRY(sem_post(SEM));
	TRY(pthread_cond_signal(COND));
	TRY(pthread_cond_broadcast(COND));
	pthread_mutex_lock(&lock);
	TRY(pthread_cond_wait(COND, &lock));
	pthread_mutex_unlock(&lock);
}

static void *again(void *first)
{
	all(); /* where this thread has taken no lock so far */
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	all();
	return first;
}

int main(void)
{
	struct sigaction action;
	pthread_t thread;

	memset(&action, 0, sizeof action);
	action.sa_handler = fault;
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	all();
	for (int i = 0; i < 3; i++) {
		if (pthread_create(&thread, NULL, again, NULL))
			return 1;
		pthread_join(thread, NULL);
	}
	puts("end");
	return 0;
}
