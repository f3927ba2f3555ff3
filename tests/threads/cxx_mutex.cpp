/*
 * std::thread, mutex, recursive_mutex, timed_mutex, lock_guard, scoped_lock over several mutexes (which tries and backs
 * off), exceptions that unlock. libstdc++ calls pthread functions, some through weak symbols.
 */
// run: varies check flags="-std=c++20"
#include "threads.h"
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

static std::mutex a, b;
static std::recursive_mutex deep;
static std::timed_mutex timed;
static arrivals both, thrown, timed_order;
static unsigned late[4];

static void fail(unsigned me)
{
	std::lock_guard<std::recursive_mutex> outer(deep);
	std::lock_guard<std::recursive_mutex> inner(deep);
	arrive(&thrown, me);
	throw std::runtime_error("unwinds both");
}

static void work(unsigned me)
{
	for (int i = 0; i < 300; i++) {
		if (me % 2) {
			std::scoped_lock lock(a, b);
			arrive(&both, me);
			dawdle(500);
		} else {
			std::scoped_lock lock(b, a);
			arrive(&both, me);
			dawdle(500);
		}
		try {
			fail(me);
		} catch (const std::runtime_error &) {
		}
		std::unique_lock<std::timed_mutex> lock(timed, std::chrono::microseconds(chance(100)));
		if (lock) {
			arrive(&timed_order, me);
			dawdle(2000);
		} else
			late[me]++;
	}
}

int main()
{
	std::vector<std::thread> threads;

	for (unsigned i = 0; i < 4; i++)
		threads.emplace_back(work, i);
	for (auto &t : threads)
		t.join();
	print_arrivals("both", &both);
	print_arrivals("thrown", &thrown);
	print_arrivals("timed", &timed_order);
	for (unsigned i = 0; i < 4; i++)
		printf("thread %u was late %u times\n", i, late[i]);
	return 0;
}
