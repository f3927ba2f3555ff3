/* The pages of the program that count when its memory is compared: checksum.c says which. */
#ifndef MEMORY_PAGES_H
#define MEMORY_PAGES_H
#include <stdbool.h>
#include <stdint.h>

struct thread;

/* Calls found() for each, from the byte `from` of it on. registers: also where those of calls under way lie. */
void pages_each(struct thread *t, bool registers, void (*found)(void *arg, uint64_t page, uint64_t from), void *arg);
#endif
