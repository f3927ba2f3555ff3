/*
 * std::latch and std::barrier (C++20) are atomics in headers, with a futex behind: nothing of them is a function of a
 * library. They are found as instructions (aarch64), and the waits behind them must end at replay although who wakes may
 * come too early. Who ran the completion, and what was seen after each phase, is printed.
 */
// run: varies options-x86_64=--every-access timeout=15 flags="-std=c++20"
#include "threads.h"
#include <barrier>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

enum { THREADS = 4, PHASES = 100 };
static std::latch start(THREADS), done(THREADS);
static thread_local unsigned self;
static arrivals completions, order;
static std::mutex m;
static unsigned cells[THREADS];

struct completion {
	void operator()() noexcept
	{
		arrive(&completions, self);
	}
};
static std::barrier phases(THREADS, completion());

static void work(unsigned me)
{
	self = me;
	start.arrive_and_wait();
	for (unsigned i = 0; i < PHASES; i++) {
		cells[me] = i;
		dawdle(20000);
		phases.arrive_and_wait();
		for (unsigned k = 0; k < THREADS; k++)
			CHECK(cells[k] == i);
		phases.arrive_and_wait();
	}
	{
		std::lock_guard<std::mutex> lock(m);
		arrive(&order, me);
	}
	done.count_down();
}

int main()
{
	std::vector<std::thread> threads;

	for (unsigned i = 0; i < THREADS; i++)
		threads.emplace_back(work, i);
	done.wait();
	{
		std::lock_guard<std::mutex> lock(m);
		print_arrivals("completions", &completions);
		print_arrivals("order", &order);
	}
	for (auto &t : threads)
		t.join();
	return 0;
}
