// A std::map under a lock, whatever it does inside.
// expect: none a because under the lock
#include "golden.h"
#include <map>
#include <mutex>
#include <string>
#include <thread>

static std::mutex lock;
static std::map<std::string, int> counts;

static NOINLINE void count(const std::string &word)
{
	std::lock_guard<std::mutex> guard(lock);
	counts[word]++; // @a
}

static void work(int id)
{
	for (int i = 0; i < 10; i++)
		count(std::to_string((id + i) % 5));
}

int main()
{
	std::thread a(work, 1), b(work, 2);

	a.join();
	b.join();
	printf("%zu\n", counts.size());
	return 0;
}
