/*
 * A small key-value server and its clients over the loopback, in one process. The server has a thread for each
 * connection; the table has a lock for each group of keys. Statistics are counted without one, as early memcached did:
 * a race that loses counts. The clients draw from one shared random generator, which nobody locks either: what they ask
 * differs from run to run.
 *
 * The result is right if each counter has been raised as often as clients were told so, and values are whole.
 */
#include "loopback.h"
#include <stddef.h>
#include <string.h>

enum { KEYS = 512, BUCKETS = 128, LOCKS = 16, VALUE = 48, REQUESTS = 600 };
enum { GET = 'g', SET = 's', RAISE = 'r', QUIT = 'q' };

struct message {
	char what;
	char key[15];
	uint64_t number;
	char value[VALUE];
};
struct item {
	struct item *next;
	struct message kept;
};

static struct item *buckets[BUCKETS];
static pthread_mutex_t locks[LOCKS];
static struct {
	unsigned long gets, sets, raises, misses;
} counts;		  /* by all without a lock */
static uint32_t seed = 1; /* by all clients without a lock */
static uint64_t raised[THREADS_MAX], got_hash[THREADS_MAX];
static unsigned broken[THREADS_MAX], requests;

static unsigned bucket_of(const char *key)
{
	unsigned hash = 5381;

	while (*key)
		hash = hash * 33 + (unsigned char)*key++;
	return hash % BUCKETS;
}

/* ---- the server: its table */

static struct item *look_up(unsigned bucket, const char *key, bool make)
{
	struct item *item = buckets[bucket];

	while (item && strcmp(item->kept.key, key))
		item = item->next;
	if (!item && make) {
		item = calloc(1, sizeof *item);
		if (!item)
			die("calloc");
		strcpy(item->kept.key, key);
		item->next = buckets[bucket];
		buckets[bucket] = item;
	}
	return item;
}

static void answer(struct message *m)
{
	unsigned bucket = bucket_of(m->key);
	pthread_mutex_t *lock = &locks[bucket % LOCKS];
	struct item *item;

	pthread_mutex_lock(lock);
	item = look_up(bucket, m->key, m->what != GET);
	if (m->what == SET)
		memcpy(item->kept.value, m->value, VALUE);
	if (m->what == RAISE)
		item->kept.number += m->number;
	if (item) {
		m->number = item->kept.number;
		memcpy(m->value, item->kept.value, VALUE);
	}
	pthread_mutex_unlock(lock);
	LOOK_AGAIN();
	counts.gets += m->what == GET; /* the race */
	counts.sets += m->what == SET;
	counts.raises += m->what == RAISE;
	counts.misses += !item;
	if (!item)
		memset(m->value, 0, VALUE);
}

/* ---- the server: its connections */

static void *serve_one(void *argument)
{
	int fd = (int)(intptr_t)argument;
	struct message m;

	while (recv(fd, &m, sizeof m, MSG_WAITALL) == sizeof m && m.what != QUIT) {
		answer(&m);
		if (send(fd, &m, sizeof m, MSG_NOSIGNAL) != sizeof m)
			break;
	}
	close(fd);
	return NULL;
}

/* ---- the clients */

static uint32_t draw(void)
{
	uint32_t mine = seed * 1664525 + 1013904223;

	LOOK_AGAIN();
	seed = mine; /* the race */
	return mine >> 8;
}

static void ask(int fd, struct message *m)
{
	if (send(fd, m, sizeof *m, MSG_NOSIGNAL) != sizeof *m || recv(fd, m, sizeof *m, MSG_WAITALL) != sizeof *m)
		die("ask");
}

/* A value is one letter, repeated: a mixture of two would show. */
static bool is_whole(const char *value)
{
	for (unsigned i = 1; i < VALUE; i++)
		if (value[i] != value[0])
			return false;
	return true;
}

static void one_request(unsigned me, int fd)
{
	struct message m = { .what = GET };
	uint32_t chance = draw();

	snprintf(m.key, sizeof m.key, "key%u", draw() % KEYS);
	if (chance % 8 == 0) {
		m.what = SET;
		memset(m.value, 'a' + (int)(chance >> 8) % 26, VALUE);
	} else if (chance % 8 < 3) {
		m.what = RAISE;
		m.number = chance % 10;
		raised[me] += m.number;
	}
	ask(fd, &m);
	broken[me] += !is_whole(m.value);
	got_hash[me] = (got_hash[me] ^ m.number ^ (uint64_t)m.value[0] << 32) * 0x9e3779b97f4a7c15ull;
}

static void *work(void *argument)
{
	unsigned me = (unsigned)(uintptr_t)argument;
	struct message quit = { .what = QUIT };
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address))
		die("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	for (unsigned r = 0; r < rounds * requests; r++)
		one_request(me, fd);
	if (send(fd, &quit, sizeof quit, MSG_NOSIGNAL) != sizeof quit)
		die("quit");
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t server;
	uint64_t told = 0, kept = 0;
	unsigned wrong = 0, items = 0;

	options(argc, argv);
	requests = scaled(REQUESTS);
	for (unsigned i = 0; i < LOCKS; i++)
		pthread_mutex_init(&locks[i], NULL);
	listen_here();
	if (pthread_create(&server, NULL, serve, (void *)serve_one))
		die("pthread_create");
	start(work);
	pthread_join(server, NULL);
	for (unsigned t = 0; t < threads; t++) {
		printf("store: client %u saw %016llx\n", t, (unsigned long long)got_hash[t]);
		told += raised[t];
		wrong += broken[t];
	}
	for (unsigned b = 0; b < BUCKETS; b++)
		for (struct item *i = buckets[b]; i; i = i->next, items++)
			kept += i->kept.number;
	printf("store: %u keys, counters sum up to %llu; counted %lu gets, %lu sets, %lu raises, %lu misses\n", items,
	       (unsigned long long)kept, counts.gets, counts.sets, counts.raises, counts.misses);
	if (wrong || told != kept)
		printf("store: WRONG: %u broken values, raised by %llu\n", wrong, (unsigned long long)told);
	return wrong || told != kept;
}
