// Elements are added under a lock, and size() is asked without it.
// expect: race f g
#include "golden.h"
#include <mutex>
#include <thread>
#include <vector>

/* A vector of our own, so that the lines are here. */
template <typename T> class Vector
{
	T *volatile data = nullptr;
	volatile size_t used = 0;
	size_t room = 0;

      public:
	NOINLINE void push_back(const T &t)
	{
		if (used == room) {
			room = room ? room * 2 : 4;
			T *larger = new T[room];
			for (size_t i = 0; i < used; i++)
				larger[i] = data[i];
			data = larger;
		}
		data[used] = t;
		used = used + 1; // @f
	}
	NOINLINE size_t size() const
	{
		return used; // @g
	}
};

static std::mutex lock;
static Vector<int> values;

static void work(int id)
{
	for (int i = 0; i < 10; i++) {
		if (values.size() > 1000)
			return;
		std::lock_guard<std::mutex> guard(lock);
		values.push_back(id);
	}
}

int main()
{
	std::thread a(work, 1), b(work, 2);

	a.join();
	b.join();
	printf("%zu\n", values.size());
	return 0;
}
