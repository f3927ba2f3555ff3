/*
 * std::async, promise, packaged_task, shared_future, exceptions through a future, wait_for that is late or not. Inside are
 * a futex and atomics of libstdc++'s own, partly inlined into the program: found as instructions (aarch64). A wait with a time
 * limit must answer as it did.
 */
// run: varies options-x86_64=--every-access timeout=15 no-checksum='libc links the stacks of detached threads in the order in which they end' flags="-std=c++20"
#include "threads.h"
#include <chrono>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

static std::mutex m;
static arrivals order;

static unsigned compute(unsigned me)
{
	dawdle(20000);
	std::lock_guard<std::mutex> lock(m);
	arrive(&order, me);
	if (me % 5 == 4)
		throw std::out_of_range("a fifth of them");
	return order.count * 100 + me;
}

int main()
{
	std::vector<std::future<unsigned>> futures;
	unsigned late = 0, failed = 0, sum = 0;

	for (unsigned i = 0; i < 20; i++) {
		if (i % 2) {
			futures.push_back(std::async(std::launch::async, compute, i));
		} else {
			std::packaged_task<unsigned(unsigned)> task(compute);
			futures.push_back(task.get_future());
			std::thread(std::move(task), i).detach();
		}
	}
	for (auto &f : futures) {
		while (f.wait_for(std::chrono::microseconds(chance(50))) != std::future_status::ready)
			late++;
		try {
			sum = sum * 31 + f.get();
		} catch (const std::out_of_range &) {
			failed++;
		}
	}
	CHECK(failed == 4);
	std::promise<unsigned> promise;
	std::shared_future<unsigned> shared = promise.get_future().share();
	std::vector<std::thread> threads;
	for (unsigned i = 0; i < 4; i++)
		threads.emplace_back([shared, i] {
			unsigned v = shared.get();
			std::lock_guard<std::mutex> lock(m);
			arrive(&order, v + i);
		});
	dawdle(20000);
	promise.set_value(5);
	for (auto &t : threads)
		t.join();
	print_arrivals("order", &order);
	printf("sum %08x, late %u\n", sum, late);
	return 0;
}
