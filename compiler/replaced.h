/*
 * Functions of libc that call the program back, allocate, lock, or access what is not known before, as code of the
 * program: clang makes bitcode of the files replaced*.c (replaced.bc), the pass links it into a program
 * that calls one of them (replace.c), and then it has hooks like everything else. In libc itself, what they access
 * would be in no order with other threads: nobody may hold memory while they run, or what it is is not known before.
 *
 * __replaced_NAME takes the place of NAME; __theirs_NAME is libc's own.
 */
#ifndef REPLACED_H
#define REPLACED_H
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE __attribute__((noinline)) /* its frame is its own, not its caller's */
#define SMALL 1024			/* bytes on the stack: programs print in handlers of signals */

/* Room for n bytes; NULL: there is none. */
static inline char *room_for(size_t n, char small[SMALL])
{
	return n <= SMALL ? small : malloc(n);
}

static inline void done_with(char *room, const char *small)
{
	if (room != small)
		free(room);
}

/* A copy that is gone when its function is left, also by a thread that is cancelled in there. */
struct room {
	char *at, *small;
};

static inline void end_room(struct room *room)
{
	done_with(room->at, room->small);
}

#define ROOM(name, n, small) __attribute__((cleanup(end_room))) struct room name = { room_for(n, small), small }

/* "2$" in a format: which value it is; 0: there is no number. */
static inline unsigned value_number(const char **p)
{
	size_t digits = strspn(*p, "0123456789");

	if (!digits || digits > 3 || (*p)[digits] != '$')
		return 0;
	unsigned n = (unsigned)atoi(*p);
	*p += digits + 1;
	return n;
}

_Noreturn void __chk_fail(void);
size_t __theirs_fwrite(const void *from, size_t size, size_t count, FILE *file);
#endif
