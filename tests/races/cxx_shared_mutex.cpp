// A shared_mutex: read under the shared side, written under the other.
// expect: none a b because readers exclude writers
#include "golden.h"
#include <mutex>
#include <shared_mutex>
#include <thread>

static std::shared_mutex lock;
static int shared;

static void write_it()
{
	for (int i = 0; i < 10; i++) {
		std::unique_lock<std::shared_mutex> held(lock);
		shared++; // @a
	}
}

static void read_it()
{
	int sum = 0;

	for (int i = 0; i < 10; i++) {
		std::shared_lock<std::shared_mutex> held(lock);
		sum += shared; // @b
	}
	printf("%d\n", sum >= 0);
}

int main()
{
	std::thread a(write_it), b(read_it), c(read_it);

	a.join();
	b.join();
	c.join();
	return 0;
}
