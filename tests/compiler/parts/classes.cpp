/* C++: exceptions through hooked code (out of loops, constructors, libc's qsort), printing and scanning where there is
   something to clean up, virtual functions, templates and containers,
   std::atomic, threads, static initialisation. */
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static int alive;
struct Counted {
	int n;
	explicit Counted(int v) : n(v)
	{
		if (v == 13)
			throw std::runtime_error("thirteen");
		alive++;
	}
	Counted(const Counted &other) : n(other.n)
	{
		alive++;
	}
	virtual ~Counted()
	{
		alive--;
	}
	virtual int twice() const
	{
		return n * 2;
	}
};
struct More : Counted {
	using Counted::Counted;
	int twice() const override
	{
		return n * 2 + 1;
	}
};

static std::map<std::string, std::vector<int>> table;
static std::atomic<long> sum;
static std::atomic<double> real;
static std::mutex mutex;
static int thrown;

__attribute__((noinline)) static int deep(int n)
{
	Counted here(n);
	char text[20];

	snprintf(text, sizeof text, "%d", n);
	table[text].push_back(n);
	return n ? deep(n - 1) + here.twice() : (throw thrown++, 0);
}

static int compare(const void *a, const void *b)
{
	if (++thrown % 7 == 0)
		throw std::string("out of qsort");
	return *(const int *)a - *(const int *)b;
}

static int &once()
{
	static int value = std::printf("once\n");
	return value;
}

static void work(int n)
{
	for (int i = 0; i < 1000; i++) {
		sum += n;
		real.store(real.load() + 0, std::memory_order_relaxed);
		try {
			if (i % 100 == 0)
				throw i;
		} catch (int v) {
			std::lock_guard<std::mutex> lock(mutex);
			table["caught"].push_back(v);
		}
	}
	once()++;
}

/* What may throw is an invoke here. */
static int print_and_scan(const std::string &from)
{
	Counted local(1);
	std::string text = from + "!";
	char word[32] = "";
	int n = 0;

	std::printf("%s %d %s\n", text.c_str(), local.n,
		    std::sscanf(text.c_str(), "%d %s", &n, word) == 2 ? word : "none");
	return n;
}

int main()
{
	std::vector<std::unique_ptr<Counted>> all;
	int numbers[] = { 5, 3, 9, 1, 7, 2, 8 };

	for (int i = 0; i < 20; i++)
		try {
			all.emplace_back(i % 2 ? new Counted(i) : new More(i));
		} catch (const std::exception &e) {
			std::printf("%s\n", e.what());
		}
	int total = 0;
	for (auto &p : all)
		total += p->twice();
	for (int i = 0; i < 5; i++)
		try {
			deep(i);
		} catch (int v) {
			total += v;
		}
	try {
		std::qsort(numbers, 7, sizeof *numbers, compare);
	} catch (const std::string &s) {
		std::printf("%s\n", s.c_str());
	}
	total += print_and_scan("12 words") + print_and_scan("none");
	std::vector<std::thread> threads;
	for (int i = 0; i < 4; i++)
		threads.emplace_back(work, i);
	for (auto &t : threads)
		t.join();
	std::sort(table["caught"].begin(), table["caught"].end());
	for (auto &[key, values] : table) {
		std::printf("%s", key.c_str());
		for (int v : values)
			std::printf(" %d", v);
		std::printf("\n");
	}
	all.clear();
	std::printf("%d %d %ld %d\n", alive, total, sum.load(), once());
}
