/*
 * JDK's StringBuffer.append(StringBuffer): the length of the other buffer is asked for under its lock, and its text copied under its lock, in
 * two steps; in between it is cut short, and what is copied lies behind its end. What could go wrong: no access races, all is locked; the
 * order of three critical sections decides.
 */
// run: fails gallery
// explain: @cut before @copy
#include "bugs.h"

enum { ROOM = 64, TURNS = 60 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char text[ROOM];
static unsigned length;
static unsigned long wrong, copied[TEAM_MAX];

static unsigned get_length(void)
{
	pthread_mutex_lock(&lock);
	unsigned n = length;
	pthread_mutex_unlock(&lock);
	return n;
}

static int get_chars(unsigned n, char *to)
{
	int fits;

	pthread_mutex_lock(&lock);
	fits = n <= length;
	memcpy(to, text, n); // @copy
	pthread_mutex_unlock(&lock);
	return fits;
}

static void set_length(unsigned n)
{
	pthread_mutex_lock(&lock);
	memset(text, 0, sizeof text);
	memset(text, 'x', n);
	length = n; // @cut
	pthread_mutex_unlock(&lock);
}

static void work(unsigned me)
{
	char mine[ROOM];

	for (unsigned i = 0; i < rounds(TURNS); i++) {
		if (me == 0) {
			set_length(i % ROOM);
			breathe(i);
			set_length(0);
		} else {
			unsigned n = get_length();
			if (!get_chars(n, mine))
				__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
			copied[me] += n;
		}
	}
}

int main(int argc, char **argv)
{
	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 1; i < team; i++)
		printf("thread %u copied %lu\n", i, copied[i]);
	return verdict(wrong, "copies from behind the end");
}
