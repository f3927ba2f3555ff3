// std::vector grows under a lock in one thread and is read without it in the other.
// expect: race f g
#include "golden.h"
#include <mutex>
#include <thread>
#include <vector>

struct Store {
	int sum = 0;
	std::vector<int> values;
};
static std::mutex lock;
static Store store;

static NOINLINE void add(int n)
{
	std::lock_guard<std::mutex> guard(lock);
	store.values.push_back(n);
	store.sum += n; // @f
}

static NOINLINE int look()
{
	return store.sum; // @g
}

int main()
{
	std::thread a([] {
		for (int i = 0; i < 10; i++)
			add(i);
	});
	std::thread b([] {
		for (int i = 0; i < 10; i++)
			add(look());
	});

	a.join();
	b.join();
	printf("%zu\n", store.values.size());
	return 0;
}
