/*
 * std::condition_variable and condition_variable_any, with wait, wait_for, wait_until and notify; notify_all_at_thread_exit.
 * wait_for uses pthread_cond_clockwait.
 */
// run: varies flags="-std=c++20"
#include "threads.h"
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

static std::mutex m;
static std::condition_variable ready;
static std::condition_variable_any any;
static arrivals order;
static unsigned tokens, late, over;

static void work(unsigned me)
{
	std::unique_lock<std::mutex> lock(m);
	while (!over) {
		auto is_there = [] { return tokens || over; };
		bool got = true;
		if (me == 0)
			ready.wait(lock, is_there);
		else if (me == 1)
			got = ready.wait_for(lock, std::chrono::microseconds(chance(100)), is_there);
		else
			got = any.wait_until(lock,
					     std::chrono::system_clock::now() + std::chrono::microseconds(chance(100)),
					     is_there);
		late += !got;
		if (got && tokens) {
			tokens--;
			arrive(&order, me);
		}
	}
	if (me == 0)
		std::notify_all_at_thread_exit(ready, std::move(lock));
}

int main()
{
	std::vector<std::thread> threads;

	for (unsigned i = 0; i < 3; i++)
		threads.emplace_back(work, i);
	for (int i = 0; i < 300; i++) {
		{
			std::lock_guard<std::mutex> lock(m);
			tokens++;
		}
		ready.notify_one();
		any.notify_one();
		dawdle(10000);
	}
	{
		std::lock_guard<std::mutex> lock(m);
		over = 1;
	}
	ready.notify_all();
	any.notify_all();
	for (auto &t : threads)
		t.join();
	print_arrivals("order", &order);
	printf("late %u, left %u\n", late, tokens);
	return 0;
}
