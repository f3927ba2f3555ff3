/*
 * C++: exceptions thrown by what a race left behind, through frames with destructors, under a spin lock of atomics, with
 * shared pointers. What could go wrong: unwinding passes through frames with hooks; a reference count decides who runs a
 * destructor; std::atomic is inlined code.
 */
// run: fails
#include "bugs.h"
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

enum { ROUNDS = 200 };
static std::atomic_flag locked = ATOMIC_FLAG_INIT;
static std::vector<unsigned> arrivals;
static std::shared_ptr<std::string> words[4];
static std::atomic<unsigned> destroyed;
static unsigned long balance;
static unsigned caught[TEAM_MAX];

struct Lock {
	unsigned turns = 0;
	Lock()
	{
		while (locked.test_and_set(std::memory_order_acquire))
			spin(&turns);
	}
	~Lock()
	{
		locked.clear(std::memory_order_release);
	}
};

struct Tell {
	unsigned me;
	~Tell()
	{
		destroyed.fetch_add(me + 1, std::memory_order_relaxed);
	}
};

static __attribute__((noinline)) void step(unsigned me, unsigned i)
{
	Tell tell{ me };
	unsigned long before = balance; /* not under the lock: the bug */
	breathe(i);
	balance = before + 1;
	breathe(i + 40);
	unsigned long after = balance;
	if (after != before + 1)
		throw std::runtime_error(std::to_string(after - before));
	Lock lock;
	arrivals.push_back(me * 1000 + i);
	if (!words[i % 4] || i % 16 == me)
		words[i % 4] = std::make_shared<std::string>(std::to_string(i) + " of " + std::to_string(me));
	if (words[i % 4]->size() % 4 == 3 && arrivals.size() % 32 == 0)
		throw std::out_of_range(*words[i % 4]);
}

static void work(unsigned me)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		try {
			step(me, i);
		} catch (const std::out_of_range &e) {
			balance += (unsigned long)e.what()[0];
		} catch (const std::exception &e) {
			caught[me]++;
		}
	}
}

int main(int argc, char **argv)
{
	uint64_t order = 0;
	unsigned sum = 0;

	team_size(argc, argv);
	team_run(work);
	for (unsigned a : arrivals)
		note(&order, a);
	for (auto &w : words)
		printf("last: %s\n", w ? w->c_str() : "none");
	for (unsigned i = 0; i < team; i++) {
		printf("thread %u caught %u\n", i, caught[i]);
		sum += caught[i];
	}
	printf("order %016llx, %zu arrivals, destroyed %u, balance %lu\n", (unsigned long long)order, arrivals.size(),
	       destroyed.load(), balance);
	return verdict(sum, "exceptions by a race");
}
