/*
 * Threads race on some words, and between two accesses make system calls that wait for one another: each sleeps by a time
 * that lies among the words, passes a token round by pipes, and copies a string. What could go wrong: what a call reads is
 * an access after which the call waits, and others must not wait for what the thread does next; strdup allocates, which is
 * no time to hold its string; a read of more bytes than a ring holds must arrive whole.
 */
#include "bugs.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>

enum { ROUNDS = 60, LARGE = 3 << 19 };
static struct {
	uint64_t words[8];
	struct timespec nap;
	uint32_t token;
	char text[TEAM_MAX][8];
} shared = { .nap = { 0, 1000 } };
static int pipes[TEAM_MAX][2];
static uint64_t seen[TEAM_MAX];

static void pass_on(unsigned me, uint64_t *hash)
{
	uint32_t token;

	if (read(pipes[me][0], &token, sizeof token) != sizeof token)
		abort();
	note(hash, token);
	shared.token += token + me;
	if (write(pipes[(me + 1) % team][1], &shared.token, sizeof shared.token) != sizeof shared.token)
		abort();
}

static void work(unsigned me)
{
	uint64_t hash = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		note(&hash, shared.words[(i + me) % COUNT(shared.words)]++);
		nanosleep(&shared.nap, NULL);
		pass_on(me, &hash);
		shared.nap.tv_nsec = 1000 + (long)(i * me);
		shared.text[me][i % 4] = (char)('a' + hash % 26);
		char *copy = strdup(shared.text[me]);
		note(&hash, strlen(copy));
		free(copy);
	}
	seen[me] = hash;
}

static unsigned char pattern(size_t i)
{
	return (unsigned char)(i * 7 + (i >> 9) + (i >> 17));
}

/* More than a ring holds, there and back. */
static unsigned long large_file(void)
{
	unsigned char *data = malloc(LARGE);
	int fd = memfd_create("large", 0);
	unsigned long wrong = 0;

	for (size_t i = 0; i < LARGE; i++)
		data[i] = pattern(i);
	if (write(fd, data, LARGE) != LARGE)
		abort();
	memset(data, 0, LARGE);
	if (pread(fd, data, LARGE, 0) != LARGE)
		abort();
	for (size_t i = 0; i < LARGE; i++)
		wrong += data[i] != pattern(i);
	close(fd);
	free(data);
	return wrong;
}

int main(int argc, char **argv)
{
	uint32_t first = 1;

	team_size(argc, argv);
	for (unsigned i = 0; i < team; i++)
		if (pipe(pipes[i]))
			abort();
	/* two tokens: somebody is always waiting, and somebody always runs */
	if (write(pipes[0][1], &first, sizeof first) < 0 || write(pipes[team / 2][1], &first, sizeof first) < 0)
		abort();
	team_run(work);
	for (unsigned i = 0; i < team; i++)
		printf("thread %u saw %016llx\n", i, (unsigned long long)seen[i]);
	return verdict(large_file(), "bytes of a large read are wrong");
}
