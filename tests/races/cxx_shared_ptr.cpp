// A shared_ptr: the last owner reads and destroys what the others wrote.
// expect: kept w r because the reference count orders them
#include "golden.h"
#include <memory>
#include <thread>

struct Parts {
	int part[2] = { 0, 0 };
	static int sum;
	NOINLINE void set(int i)
	{
		part[i] = i + 1; // @w
	}
	~Parts()
	{
		sum = part[0] + part[1]; // @r
	}
};
int Parts::sum;

int main()
{
	auto parts = std::make_shared<Parts>();
	std::thread a([p = parts]() mutable {
		p->set(0);
		p.reset();
	});
	std::thread b([p = parts]() mutable {
		p->set(1);
		p.reset();
	});

	parts.reset();
	a.join();
	b.join();
	printf("%d\n", Parts::sum);
	return 0;
}
