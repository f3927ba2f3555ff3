// A vector of fixed size: each thread has its own elements.
// expect: kept a because elements are id modulo 4
#include "golden.h"
#include <thread>
#include <vector>

static std::vector<int> values(40);

static NOINLINE void work(int id)
{
	for (size_t i = (size_t)id; i < 40; i += 4)
		values[i] += id; // @a
}

int main()
{
	std::vector<std::thread> threads;

	for (int i = 0; i < 4; i++)
		threads.emplace_back(work, i);
	for (auto &t : threads)
		t.join();
	printf("%d\n", values[3]);
	return 0;
}
