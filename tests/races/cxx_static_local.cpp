// A local static: the guard that the compiler puts around it orders its initialisation.
// expect: kept a b because the guard orders them
#include "golden.h"
#include <thread>

struct Table {
	int values[16];
	Table()
	{
		for (int i = 0; i < 16; i++)
			values[i] = i * i; // @a
	}
};

static NOINLINE const Table &table()
{
	static Table t;

	return t;
}

static NOINLINE int look(int i)
{
	return table().values[i]; // @b
}

int main()
{
	int sums[3] = { 0, 0, 0 };
	auto work = [&sums](int id) {
		for (int i = 0; i < 16; i++)
			sums[id] += look(i);
	};
	std::thread a(work, 0), b(work, 1), c(work, 2);

	a.join();
	b.join();
	c.join();
	printf("%d\n", sums[2]);
	return 0;
}
