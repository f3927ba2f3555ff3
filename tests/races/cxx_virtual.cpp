// A virtual function: one of the classes does not take the lock.
// expect: race a b
#include "golden.h"
#include <memory>
#include <mutex>
#include <thread>

static std::mutex lock;
static volatile int total;

struct Shape {
	virtual ~Shape() = default;
	virtual void add(int n) = 0;
};
struct Careful : Shape {
	void add(int n) override
	{
		std::lock_guard<std::mutex> guard(lock);
		total = total + n; // @a
	}
};
struct Careless : Shape {
	void add(int n) override
	{
		total = total + n; // @b
	}
};

static void work(Shape *shape)
{
	for (int i = 0; i < 10; i++)
		shape->add(i);
}

int main()
{
	std::unique_ptr<Shape> one(new Careful), two(new Careless);
	std::thread a(work, one.get()), b(work, two.get());

	a.join();
	b.join();
	printf("%d\n", total);
	return 0;
}
