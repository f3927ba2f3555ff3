// Memory that one thread maps and unmaps, and another then gets at the same address.
// expect: none a because nobody else knows the mapping
#include "golden.h"
#include <sys/mman.h>

static void *work(void *arg)
{
	for (int i = 0; i < 10; i++) {
		volatile char *p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return NULL;
		for (int k = 0; k < 65536; k += 4096)
			p[k] = (char)id_of(arg); // @a
		munmap((void *)p, 65536);
	}
	return NULL;
}

int main(void)
{
	team(4, work);
	return 0;
}
