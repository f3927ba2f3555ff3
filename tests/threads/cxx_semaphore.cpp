/*
 * std::counting_semaphore and binary_semaphore, with try_acquire and try_acquire_for; as cxx_latch, atomics in headers.
 */
// run: varies options-x86_64=--every-access timeout=15 flags="-std=c++20"
#include "threads.h"
#include <chrono>
#include <semaphore>
#include <thread>
#include <vector>

enum { THREADS = 4, ROUNDS = 150 };
static std::counting_semaphore<8> units(2);
static std::binary_semaphore one(1);
static arrivals order;
static unsigned busy[THREADS], late[THREADS];

static void work(unsigned me)
{
	pause_us(500);
	for (int i = 0; i < ROUNDS; i++) {
		if (i % 3 == 0) {
			if (!units.try_acquire()) {
				busy[me]++;
				continue;
			}
		} else if (i % 3 == 1) {
			if (!units.try_acquire_for(std::chrono::microseconds(50))) {
				late[me]++;
				continue;
			}
		} else
			units.acquire();
		one.acquire();
		arrive(&order, me);
		one.release();
		dawdle(5000);
		units.release();
	}
}

int main()
{
	std::vector<std::thread> threads;

	for (unsigned i = 0; i < THREADS; i++)
		threads.emplace_back(work, i);
	for (auto &t : threads)
		t.join();
	print_arrivals("order", &order);
	for (unsigned i = 0; i < THREADS; i++)
		printf("thread %u: turned away %u, late %u\n", i, busy[i], late[i]);
	return 0;
}
