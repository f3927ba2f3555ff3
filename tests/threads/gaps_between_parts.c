/*
 * A program whose parts lie far apart (lld and large pages make such; Chromium is one) asks dlsym() and dlopen() for something.
 * What could go wrong: libheddle.so looks into the caller's object for a place to return to, and takes code for its header.
 */
// run: varies flags="-Wl,-z,max-page-size=0x200000 -Wl,-z,separate-code"
#include "threads.h"
#include <dlfcn.h>
#include <link.h>

static int count_gaps(struct dl_phdr_info *info, size_t size UNUSED, void *gaps)
{
	uint64_t end = 0;

	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		if (part->p_type != PT_LOAD)
			continue;
		*(int *)gaps += end && part->p_vaddr > end + 65536;
		end = part->p_vaddr + part->p_memsz;
	}
	return 1; /* the first is the program */
}

int main(void)
{
	int gaps = 0;

	dl_iterate_phdr(count_gaps, &gaps);
	CHECK(gaps);
	printf("%d\n", getpid());
	for (unsigned i = 0; i < 3; i++) {
		CHECK(dlsym(RTLD_DEFAULT, "puts") && dlsym(RTLD_NEXT, "malloc"));
		void *library = dlopen("libm.so.6", RTLD_NOW);
		CHECK(library && dlsym(library, "cos") && !dlclose(library));
	}
	return 0;
}
