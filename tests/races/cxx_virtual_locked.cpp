// A virtual function whose base class takes the lock around it.
// expect: kept a b because the caller in the base class has the lock
#include "golden.h"
#include <memory>
#include <mutex>
#include <thread>

static std::mutex lock;
static int total, calls;

struct Shape {
	virtual ~Shape() = default;
	NOINLINE void add(int n)
	{
		std::lock_guard<std::mutex> guard(lock);
		add_locked(n);
	}

      protected:
	virtual void add_locked(int n) = 0;
};
struct Plain : Shape {
	void add_locked(int n) override
	{
		total += n; // @a
	}
};
struct Counting : Shape {
	void add_locked(int) override
	{
		calls++; // @b
	}
};

static void work(Shape *shape)
{
	for (int i = 0; i < 10; i++)
		shape->add(i);
}

int main()
{
	std::unique_ptr<Shape> one(new Plain), two(new Counting);
	std::thread a(work, one.get()), b(work, two.get()), c(work, one.get());

	a.join();
	b.join();
	c.join();
	printf("%d %d\n", total, calls);
	return 0;
}
