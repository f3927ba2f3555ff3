/* What every file of libheddle.so needs: the calling thread, and libc's own functions. */
#define _GNU_SOURCE
#include "interpose/interpose.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

__thread struct front *self;

struct front *self_find(void)
{
	self = ENTRIES->self();
	self->registers = &libc_shadow;
	return self;
}

void *real_find(const char *name)
{
	void *f = libc_find(name); /* dlsym() itself is wrapped, and counts ops */
	if (!f) {
		fprintf(stderr, "heddle: libc has no %s, which the program calls\n", name);
		abort();
	}
	return f;
}
