/*
 * A pool whose tasks make more tasks (a parallel quicksort): which worker does which task differs, the numbers sorted
 * at the end do not. Tasks are allocated by one thread and freed by another; workers wait when there is nothing to do.
 */
// run: varies
#include "threads.h"

enum { WORKERS = 4, NUMBERS = 40000 };
struct task {
	struct task *next;
	unsigned from, to;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct task *tasks;
static unsigned open_tasks, done[WORKERS];
static struct arrivals order;
static uint32_t numbers[NUMBERS];

static void add(unsigned from, unsigned to)
{
	struct task *t = malloc(sizeof *t);

	t->from = from;
	t->to = to;
	pthread_mutex_lock(&lock);
	t->next = tasks;
	tasks = t;
	open_tasks++;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void sort(unsigned from, unsigned to)
{
	if (to - from < 500) {
		qsort(numbers + from, to - from, sizeof *numbers, compare);
		return;
	}
	uint32_t pivot = numbers[from + (to - from) / 2];
	unsigned i = from, j = to - 1;
	for (;; i++, j--) {
		while (numbers[i] < pivot)
			i++;
		while (numbers[j] > pivot)
			j--;
		if (i >= j)
			break;
		uint32_t swap = numbers[i];
		numbers[i] = numbers[j];
		numbers[j] = swap;
	}
	add(from, i);
	add(i, to);
}

static void *work(void *argument)
{
	unsigned me = ME(argument);

	pthread_mutex_lock(&lock);
	while (open_tasks) {
		struct task *t = tasks;
		if (!t) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		tasks = t->next;
		arrive(&order, me);
		done[me]++;
		pthread_mutex_unlock(&lock);
		sort(t->from, t->to);
		free(t);
		pthread_mutex_lock(&lock);
		if (--open_tasks == 0)
			pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < NUMBERS; i++)
		numbers[i] = (uint32_t)i * 2654435761u;
	add(0, NUMBERS);
	crew_start(WORKERS, work);
	crew_join(WORKERS);
	for (int i = 1; i < NUMBERS; i++) {
		CHECK(numbers[i - 1] <= numbers[i]);
		sum = sum * 31 + numbers[i];
	}
	print_arrivals("tasks", &order);
	for (unsigned i = 0; i < WORKERS; i++)
		printf("worker %u did %u\n", i, done[i]);
	printf("sorted %016llx\n", (unsigned long long)sum);
	return 0;
}
