/*
 * std::shared_mutex and shared_timed_mutex: many readers, few writers; which version each reader saw is printed.
 */
// run: varies flags="-std=c++20"
#include "threads.h"
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

static std::shared_mutex lock;
static std::shared_timed_mutex timed;
static unsigned version, twin, other;
static unsigned seen[5], busy[5], late[5];
static arrivals writes;

static void work(unsigned me)
{
	pause_us(500);
	for (int i = 0; i < 500; i++) {
		if (me < 2) {
			std::unique_lock<std::shared_mutex> l(lock);
			arrive(&writes, me);
			version++;
			dawdle(500);
			twin++;
		} else if (chance(2)) {
			std::shared_lock<std::shared_mutex> l(lock);
			CHECK(version == twin);
			seen[me] = seen[me] * 31 + version;
			dawdle(500);
		} else if (lock.try_lock_shared()) {
			seen[me] = seen[me] * 31 + version;
			lock.unlock_shared();
		} else
			busy[me]++;
		if (i % 4)
			continue;
		auto soon = std::chrono::microseconds(chance(50));
		if (me < 2 ? timed.try_lock_for(soon) : timed.try_lock_shared_for(soon)) {
			if (me < 2) {
				other++;
				dawdle(3000);
				timed.unlock();
			} else {
				seen[me] = seen[me] * 31 + other;
				timed.unlock_shared();
			}
		} else
			late[me]++;
	}
}

int main()
{
	std::vector<std::thread> threads;

	for (unsigned i = 0; i < 5; i++)
		threads.emplace_back(work, i);
	for (auto &t : threads)
		t.join();
	print_arrivals("writes", &writes);
	for (unsigned i = 0; i < 5; i++)
		printf("thread %u: saw %08x, turned away %u, late %u\n", i, seen[i], busy[i], late[i]);
	return 0;
}
