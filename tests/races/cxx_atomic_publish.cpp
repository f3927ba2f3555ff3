// A pointer that is published with a sequentially consistent atomic.
// expect: kept a b because the atomic pointer orders them
#include "golden.h"
#include <atomic>
#include <thread>

struct Message {
	int text[4];
};
static std::atomic<Message *> box;

int main()
{
	std::thread sender([] {
		Message *m = new Message;
		for (int i = 0; i < 4; i++)
			m->text[i] = i; // @a
		box = m;
	});
	std::thread receiver([] {
		Message *m;
		unsigned turns = 0;
		while (!(m = box))
			patience(&turns);
		printf("%d\n", m->text[3]); // @b
		delete m;
	});

	sender.join();
	receiver.join();
	return 0;
}
