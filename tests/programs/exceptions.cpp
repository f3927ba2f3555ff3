// C++ exceptions unwind through frames by their tables; the vdso is hidden and sites are patched, which must not
// disturb them. Also iostreams, and a hash table whose order hangs on addresses.
// run: varies
#include <chrono>
#include <iostream>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <unordered_set>

static int deep(int n)
{
	std::string local(n * 10, 'x');
	if (n == 0)
		throw std::runtime_error("thrown by " + std::to_string(getpid()));
	return deep(n - 1) + static_cast<int>(local.size());
}

int main()
{
	for (int i = 0; i < 3; i++) {
		try {
			deep(i * 20);
		} catch (const std::exception &e) {
			std::cout << e.what() << '\n';
		}
	}
	std::unordered_set<void *> set;
	for (int i = 0; i < 20; i++)
		set.insert(new char[100]);
	for (void *p : set)
		std::cout << p << ' ';
	std::cout << '\n' << std::chrono::system_clock::now().time_since_epoch().count() << std::endl;
	try {
		deep(-1 + 1);
	} catch (int) {
	} catch (...) {
		std::cerr << "and rethrown\n";
	}
	return 0;
}
