/*
 * Numbers of std::random_device. What could go wrong: on x86-64 libstdc++ takes them from an instruction, which is no
 * system call and is not recorded.
 */
// run: varies
#include <cstdio>
#include <random>

int main()
{
	std::random_device device;
	std::mt19937 seeded(device());

	for (int i = 0; i < 5; i++)
		std::printf("%u %lu\n", device(), (unsigned long)seeded());
	return 0;
}
