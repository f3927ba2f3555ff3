// A lambda that captures a local variable by reference.
// expect: race a a
#include "golden.h"
#include <thread>

int main()
{
	volatile int count = 0;
	auto work = [&count] {
		for (int i = 0; i < 20; i++)
			count = count + 1; // @a
	};
	std::thread a(work), b(work);

	a.join();
	b.join();
	printf("%d\n", count);
	return 0;
}
