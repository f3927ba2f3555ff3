// An object with its own mutex: every method takes it.
// expect: none a b because under the object's lock
#include "golden.h"
#include <mutex>
#include <thread>
#include <vector>

class Account
{
	mutable std::mutex lock;
	long balance = 0;

      public:
	NOINLINE void add(long n)
	{
		std::lock_guard<std::mutex> guard(lock);
		balance += n; // @a
	}
	NOINLINE long get() const
	{
		std::lock_guard<std::mutex> guard(lock);
		return balance; // @b
	}
};

int main()
{
	Account account;
	std::vector<std::thread> threads;

	for (int i = 0; i < 3; i++)
		threads.emplace_back([&account, i] {
			for (int k = 0; k < 10; k++)
				account.add(account.get() + i);
		});
	for (auto &t : threads)
		t.join();
	printf("%d\n", account.get() != 0);
	return 0;
}
