// A promise hands a value, and what was written before it, to who waits for the future.
// expect: kept a b because the future orders them
#include "golden.h"
#include <future>
#include <thread>

static int side;

int main()
{
	std::promise<int> promise;
	auto future = promise.get_future();
	std::thread t([&promise] {
		side = 4; // @a
		promise.set_value(1);
	});

	int sum = future.get();
	sum += side; // @b
	t.join();
	printf("%d\n", sum);
	return 0;
}
