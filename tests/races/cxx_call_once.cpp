// std::call_once: whoever returns from it sees what the function wrote.
// expect: kept a b because call_once orders them
#include "golden.h"
#include <mutex>
#include <thread>

static std::once_flag once;
static int value;

static NOINLINE int get()
{
	std::call_once(once, [] {
		value = 6; // @a
	});
	return value; // @b
}

int main()
{
	int sums[2] = { 0, 0 };
	std::thread a([&sums] { sums[0] = get(); }), b([&sums] { sums[1] = get(); });

	a.join();
	b.join();
	printf("%d\n", sums[0] + sums[1]);
	return 0;
}
