/*
 * Order violation, as in pbzip2: the main thread takes the queue down when the producer is done, while consumers may still be about to look
 * at it. They go through a null pointer. What could go wrong: the run ends by a signal in one thread while the others are
 * anywhere; the replay must end there, too.
 */
// run: fails gallery
// explain: @destroy before @use
#include "bugs.h"

enum { BLOCKS = 40, ROOM = 64 };
struct queue {
	pthread_mutex_t lock;
	unsigned head, tail, blocks[ROOM];
};
static struct queue only = { .lock = PTHREAD_MUTEX_INITIALIZER }, *queue = &only;
static unsigned long done[TEAM_MAX];
static unsigned all_done;
static uint64_t hash[TEAM_MAX];

static int take(unsigned *block)
{
	struct queue *mine = queue; // @use
	int any;

	pthread_mutex_lock(&mine->lock);
	any = mine->head < mine->tail;
	if (any)
		*block = mine->blocks[mine->head++];
	pthread_mutex_unlock(&mine->lock);
	return any;
}

static void *consume(void *argument)
{
	unsigned me = (unsigned)(uintptr_t)argument, turns = 0, block;

	while (!all_done) {
		if (take(&block)) {
			note(&hash[me], block);
			done[me]++;
		} else {
			spin(&turns);
		}
		LOOK_AGAIN();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t consumers[TEAM_MAX];
	unsigned turns = 0, left = BLOCKS;

	team_size(argc, argv);
	for (unsigned i = 0; i < BLOCKS; i++)
		queue->blocks[queue->tail++] = i;
	for (uintptr_t i = 0; i < team; i++)
		if (pthread_create(&consumers[i], NULL, consume, (void *)i))
			abort();
	while (left) {
		pthread_mutex_lock(&only.lock);
		left = only.tail - only.head;
		pthread_mutex_unlock(&only.lock);
		spin(&turns);
	}
	all_done = 1;
	LOOK_AGAIN();
	queue = NULL; // @destroy
	for (unsigned i = 0; i < team; i++)
		pthread_join(consumers[i], NULL);
	for (unsigned i = 0; i < team; i++)
		printf("thread %u did %lu, %016llx\n", i, done[i], (unsigned long long)hash[i]);
	return verdict(0, "blocks lost");
}
