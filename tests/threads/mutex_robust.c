/*
 * Threads end while they hold a robust mutex; who is told EOWNERDEAD next differs. The kernel marks
 * such mutexes through the thread's robust list, with ids of its own: at replay the recorded ones must
 * stand there. At the end nobody makes it consistent, and all later ones get ENOTRECOVERABLE.
 */
// run: varies
#include "threads.h"

enum { THREADS = 12 };
static pthread_mutex_t lock, lost;
static struct arrivals heirs, arrivals, failed;
static pthread_mutex_t note = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *argument)
{
	unsigned me = ME(argument);

	for (int i = 0; i < 20; i++) {
		dawdle(3000);
		int r = i % 3 ? pthread_mutex_lock(&lock) : pthread_mutex_trylock(&lock);
		CHECK(r == 0 || r == EOWNERDEAD || r == EBUSY);
		if (r == EBUSY)
			continue;
		arrive(&arrivals, me);
		if (r == EOWNERDEAD) {
			arrive(&heirs, me);
			CHECK(pthread_mutex_consistent(&lock) == 0);
		}
		if (chance(8) == 0)
			return NULL; /* with the lock held */
		CHECK(pthread_mutex_unlock(&lock) == 0);
	}
	return NULL;
}

static void *lose(void *argument)
{
	int r = pthread_mutex_lock(&lost);

	pthread_mutex_lock(&note);
	CHECK(r == 0 || r == EOWNERDEAD || r == ENOTRECOVERABLE);
	arrive(&failed, (r == 0 ? 0u : r == EOWNERDEAD ? 1u : 2u) + 3 * ME(argument));
	pthread_mutex_unlock(&note);
	if (r == EOWNERDEAD)
		pthread_mutex_unlock(&lost); /* not made consistent: lost for ever */
	return NULL;			     /* the first one with the lock held */
}

int main(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	CHECK(pthread_mutex_init(&lock, &attr) == 0 && pthread_mutex_init(&lost, &attr) == 0);
	crew_start(THREADS, work);
	crew_join(THREADS);
	int r = pthread_mutex_lock(&lock);
	CHECK(r == 0 || r == EOWNERDEAD);
	print_arrivals("arrivals", &arrivals);
	print_arrivals("heirs", &heirs);
	printf("main is told %d\n", r);
	/* One after the other: in libc's, those who sleep when it becomes lost sometimes sleep for ever (2 of 100 runs). */
	for (unsigned i = 0; i < 6; i++) {
		CHECK(pthread_create(&crew[i], NULL, lose, (void *)(uintptr_t)i) == 0);
		CHECK(pthread_join(crew[i], NULL) == 0);
	}
	print_arrivals("lost", &failed);
	CHECK(pthread_mutex_lock(&lost) == ENOTRECOVERABLE);
	return 0;
}
