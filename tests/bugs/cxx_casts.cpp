/*
 * An object is destroyed and made again while others ask what it is (dynamic_cast), and threads are joined while others
 * ask whether they can be. What could go wrong: the pointer to an object's functions, and the id in a std::thread, are
 * read and written inside libstdc++.
 */
// run: fails
#include "bugs.h"
#include <new>
#include <thread>

enum { ROUNDS = 300 };
struct base {
	virtual ~base()
	{
	}
	unsigned value = 1;
};
struct derived : base {
	~derived() override
	{
		value = 2;
	}
	unsigned more = 3;
};
alignas(derived) static char room[sizeof(derived)];
static base *object;
static std::thread workers[2];
static uint64_t seen[TEAM_MAX];
static unsigned other[TEAM_MAX];
static volatile int over;

static void change(unsigned)
{
	for (unsigned i = 0; i < rounds(ROUNDS); i++) {
		object->~base();
		breathe(i);
		object = new (room) derived;
		std::thread &worker = workers[i % 2];
		worker = std::thread([] { sched_yield(); });
		if (i % 3)
			worker.join();
		else
			worker.detach();
	}
	over = 1;
}

static void look(unsigned me)
{
	unsigned turns = 0;

	while (!over) {
		derived *d = dynamic_cast<derived *>(object);
		other[me] += !d;
		note(&seen[me], (d ? 16u : 0u) + 2u * workers[0].joinable() + workers[1].joinable());
		spin(&turns);
	}
}

static void work(unsigned me)
{
	me ? look(me) : change(me);
}

int main(int argc, char **argv)
{
	unsigned all = 0;

	team_size(argc, argv);
	object = new (room) derived;
	team_run(work);
	for (unsigned i = 0; i < team; i++) {
		printf("thread %u saw %016llx\n", i, (unsigned long long)seen[i]);
		all += other[i] + (i && seen[i] != 0);
	}
	return verdict(all, "looks at an object that was just destroyed, or at threads that came and went");
}
