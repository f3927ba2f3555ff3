/*
 * std::call_once (also when the function throws, and another has to try), and statics inside functions, whose guards are
 * locked by __cxa_guard_acquire: who constructs them differs, and others wait for it.
 */
// run: varies flags="-std=c++20"
#include "threads.h"
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

enum { THREADS = 5, FLAGS = 60 };
static std::once_flag flags[FLAGS], torn;
static unsigned runner[FLAGS];
static thread_local unsigned self;
static unsigned tries;

struct builder {
	unsigned by;
	builder() : by(self)
	{
		dawdle(3000);
	}
};

template <int N> static unsigned built_by()
{
	static builder b;
	return b.by;
}

template <int N> static void build_all(unsigned *by)
{
	*by = built_by<N>();
	if constexpr (N > 0)
		build_all<N - 1>(by + 1);
}

static unsigned seen[THREADS][40];

static void work(unsigned me)
{
	self = me;
	pause_us(500);
	for (unsigned i = 0; i < FLAGS; i++)
		std::call_once(flags[i], [i] {
			dawdle(500);
			runner[i] = self;
		});
	try {
		std::call_once(torn, [] {
			if (++tries < 3)
				throw std::runtime_error("another has to");
		});
	} catch (const std::runtime_error &) {
	}
	build_all<39>(seen[me]);
}

int main()
{
	std::vector<std::thread> threads;
	arrivals ran = {}, built = {};

	for (unsigned i = 0; i < THREADS; i++)
		threads.emplace_back(work, i);
	for (auto &t : threads)
		t.join();
	for (unsigned i = 0; i < FLAGS; i++)
		arrive(&ran, runner[i]);
	for (unsigned i = 0; i < 40; i++) {
		arrive(&built, seen[0][i]);
		for (unsigned k = 1; k < THREADS; k++)
			CHECK(seen[k][i] == seen[0][i]);
	}
	CHECK(tries == 3);
	print_arrivals("runners", &ran);
	print_arrivals("builders", &built);
	return 0;
}
