// A queue with a condition variable: elements are moved in and out under the lock, and used without it.
// expect: kept a b because the queue hands them over
#include "golden.h"
#include <condition_variable>
#include <memory>
#include <mutex>
#include <queue>
#include <thread>

struct Job {
	int in, out;
};
static std::mutex lock;
static std::condition_variable changed;
static std::queue<std::unique_ptr<Job>> jobs;

static void produce()
{
	for (int i = 0; i < 10; i++) {
		auto job = std::make_unique<Job>();
		job->in = i; // @a
		std::lock_guard<std::mutex> held(lock);
		jobs.push(std::move(job));
		changed.notify_one();
	}
}

static void consume()
{
	int sum = 0;

	for (int i = 0; i < 10; i++) {
		std::unique_lock<std::mutex> held(lock);
		changed.wait(held, [] { return !jobs.empty(); });
		auto job = std::move(jobs.front());
		jobs.pop();
		held.unlock();
		sum += job->in; // @b
	}
	printf("%d\n", sum);
}

int main()
{
	std::thread a(produce), b(consume);

	a.join();
	b.join();
	return 0;
}
