// A unique_lock that is given back before the last access.
// expect: race b b
// expect: kept a because under the lock
#include "golden.h"
#include <mutex>
#include <thread>

static std::mutex lock;
static int first;
static volatile int second;

static void work()
{
	for (int i = 0; i < 20; i++) {
		std::unique_lock<std::mutex> held(lock);
		first++; // @a
		held.unlock();
		second = second + 1; // @b
	}
}

int main()
{
	std::thread a(work), b(work);

	a.join();
	b.join();
	printf("%d %d\n", first, second);
	return 0;
}
