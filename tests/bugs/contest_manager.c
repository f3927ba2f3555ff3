/*
 * ConTest "Manager": not atomic. A manager gives blocks of memory back to a list; what is free is counted in a variable of its own, and list
 * and count are each locked, but not together. What could go wrong: between the two, another thread sees a list that does
 * not fit its count; no access races.
 */
// run: fails gallery
// explain: @list before @listed | @counted before @count
#include "bugs.h"

enum { BLOCKS = TEAM_MAX, TURNS = 30 };
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER, count_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned list[BLOCKS], in_list, count;
static unsigned long wrong, waited[TEAM_MAX];

static void prepare(void)
{
	in_list = count = team / 2;
}

static int take(void)
{
	int any, found;

	pthread_mutex_lock(&count_lock); // @count
	any = count > 0;
	count -= any;
	pthread_mutex_unlock(&count_lock);
	if (!any)
		return 0;
	pthread_mutex_lock(&list_lock); // @list
	found = in_list > 0;
	in_list -= found;
	pthread_mutex_unlock(&list_lock);
	if (!found)
		__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
	return found;
}

static void give(void)
{
	pthread_mutex_lock(&count_lock); // @counted
	count++;
	pthread_mutex_unlock(&count_lock);
	pthread_mutex_lock(&list_lock); // @listed
	if (in_list < BLOCKS)
		list[in_list++] = 1;
	pthread_mutex_unlock(&list_lock);
}

static void act(unsigned me)
{
	for (unsigned i = 0; i < rounds(TURNS); i++)
		if (take())
			give();
		else
			waited[me]++;
}

static void judge(void)
{
}

int main(int argc, char **argv)
{
	repeat_size(argc, argv, 20);
	team_repeat(prepare, act, judge);
	for (unsigned i = 0; i < team; i++)
		printf("thread %u went without %lu times\n", i, waited[i]);
	return verdict(wrong, "blocks counted that were not in the list");
}
