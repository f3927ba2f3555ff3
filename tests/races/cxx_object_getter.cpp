// An object with its own mutex, but the getter does not take it.
// expect: race a b
#include "golden.h"
#include <mutex>
#include <thread>
#include <vector>

class Account
{
	std::mutex lock;
	volatile long balance = 0;

      public:
	NOINLINE void add(long n)
	{
		std::lock_guard<std::mutex> guard(lock);
		balance = balance + n; // @a
	}
	NOINLINE long get() const
	{
		return balance; // @b
	}
};

int main()
{
	Account account;
	std::vector<std::thread> threads;

	for (int i = 0; i < 3; i++)
		threads.emplace_back([&account, i] {
			for (int k = 0; k < 10; k++) {
				account.add(i);
				account.get();
			}
		});
	for (auto &t : threads)
		t.join();
	printf("%ld\n", account.get());
	return 0;
}
