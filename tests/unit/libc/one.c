/* A library that asks dlopen and dlsym questions whose answers depend on who asks. See awkward.cpp. */
#define _GNU_SOURCE
#include <dlfcn.h>
const char *whoami(void)
{
	/* the next after this library: two's, not our own again */
	const char *(*next)(void) = (const char *(*)(void))dlsym(RTLD_NEXT, "whoami");
	return next == whoami ? "one itself" : next ? next() : "nobody";
}
int load_two(void)
{
	void *two = dlopen("libtwo_by_runpath.so", RTLD_NOW | RTLD_GLOBAL);
	int (*number)(void) = two ? (int (*)(void))dlsym(two, "number") : 0;
	return number ? number() : 0;
}
