/*
 * Functions of libc that call the program back, allocate or lock, as code of the program: clang makes bitcode of this file
 * (replaced.bc), the pass links it into a program that calls one of them (replace.c), and then it has hooks like everything
 * else. In libc itself, what they access would be in no order with other threads: nobody may hold memory while they run.
 *
 * They do what glibc's do: qsort is a merge sort, and so stable, and calls the function for the same pairs. stdio gets
 * copies: __theirs_NAME is libc's own.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE __attribute__((noinline)) /* its frame is its own, not its caller's */

typedef int compare_function(const void *a, const void *b, void *more);
typedef int plain_function(const void *a, const void *b);

void __replaced_qsort(void *base, size_t count, size_t size, plain_function *compare);
void __replaced_qsort_r(void *base, size_t count, size_t size, compare_function *compare, void *more);
void *__replaced_bsearch(const void *key, const void *base, size_t count, size_t size, plain_function *compare);
void *__replaced_lfind(const void *key, const void *base, size_t *count, size_t size, plain_function *compare);
void *__replaced_lsearch(const void *key, void *base, size_t *count, size_t size, plain_function *compare);

char *__replaced_strdup(const char *string);
char *__replaced_strndup(const char *string, size_t most);
LARGE int __replaced_puts(const char *string);
int __theirs_puts(const char *string);
LARGE int __replaced_fputs(const char *string, FILE *file);
int __theirs_fputs(const char *string, FILE *file);
LARGE size_t __replaced_fwrite(const void *from, size_t size, size_t count, FILE *file);
size_t __theirs_fwrite(const void *from, size_t size, size_t count, FILE *file);
LARGE size_t __replaced_fread(void *to, size_t size, size_t count, FILE *file);
size_t __theirs_fread(void *to, size_t size, size_t count, FILE *file);

char *__replaced_room(char *small, size_t room, int n);
size_t __replaced_limit(const char *text, int n);
int __replaced_printf(char *small, char *text, int length, int written);
int __replaced_fprintf(FILE *file, char *small, char *text, int length, int written);
int __replaced_sprintf(char *to, char *small, char *text, int length, int written);
int __replaced_asprintf(char **to, char *small, char *text, int length, int written);
int __replaced_printf_chk(int flag, char *small, char *text, int length, int written);
int __replaced_fprintf_chk(FILE *file, int flag, char *small, char *text, int length, int written);
int __replaced_sprintf_chk(char *to, int flag, size_t room, char *small, char *text, int length, int written);
int __replaced_asprintf_chk(char **to, int flag, char *small, char *text, int length, int written);
_Noreturn void __chk_fail(void);

/* ---- what calls back ---------------------------------------------------------------------------------------------------- */

struct sort {
	size_t size;
	compare_function *compare;
	void *more;
	char *room; /* for all elements */
};

/* One access where one is enough. */
static void move(char *to, const char *from, size_t size)
{
	if (size == 8 && !(((uintptr_t)to | (uintptr_t)from) & 7))
		*(uint64_t *)to = *(const uint64_t *)from;
	else if (size == 4 && !(((uintptr_t)to | (uintptr_t)from) & 3))
		*(uint32_t *)to = *(const uint32_t *)from;
	else
		__builtin_memcpy(to, from, size);
}

/* Both halves are sorted. Together they go to `room`, up to where the rest of the second half stays where it is. */
static void merge(const struct sort *s, char *base, size_t count)
{
	size_t left = count / 2, right = count - left;
	char *a = base, *b = base + left * s->size, *to = s->room;

	while (left && right) {
		char **next = s->compare(a, b, s->more) <= 0 ? &a : &b;
		move(to, *next, s->size);
		to += s->size;
		*next += s->size;
		*(next == &a ? &left : &right) -= 1;
	}
	if (left)
		__builtin_memcpy(to, a, left * s->size);
	if (count > right)
		__builtin_memcpy(base, s->room, (count - right) * s->size);
}

static void sort(const struct sort *s, char *base, size_t count)
{
	if (count < 2)
		return;
	sort(s, base, count / 2);
	sort(s, base + count / 2 * s->size, count - count / 2);
	merge(s, base, count);
}

/* Without memory for a copy: slow, but it ends. */
static void sort_in_place(const struct sort *s, char *base, size_t count)
{
	for (size_t i = 1; i < count; i++)
		for (char *at = base + i * s->size; at > base && s->compare(at - s->size, at, s->more) > 0;
		     at -= s->size)
			for (size_t k = 0; k < s->size; k++) {
				char byte = at[k];
				at[k] = (at - s->size)[k];
				(at - s->size)[k] = byte;
			}
}

void __replaced_qsort_r(void *base, size_t count, size_t size, compare_function *compare, void *more)
{
	char small[1024] __attribute__((aligned(16)));
	size_t bytes;
	struct sort s = { .size = size, .compare = compare, .more = more, .room = small };

	if (__builtin_mul_overflow(count, size, &bytes) || count < 2)
		return;
	if (bytes > sizeof small)
		s.room = malloc(bytes);
	if (s.room)
		sort(&s, base, count);
	else
		sort_in_place(&s, base, count);
	if (s.room != small)
		free(s.room);
}

static int compare_plainly(const void *a, const void *b, void *compare)
{
	return ((plain_function *)compare)(a, b);
}

void __replaced_qsort(void *base, size_t count, size_t size, plain_function *compare)
{
	__replaced_qsort_r(base, count, size, compare_plainly, (void *)compare);
}

void *__replaced_bsearch(const void *key, const void *base, size_t count, size_t size, plain_function *compare)
{
	for (size_t low = 0, high = count; low < high;) {
		size_t middle = (low + high) / 2;
		const char *at = (const char *)base + middle * size;
		int is = compare(key, at);
		if (!is)
			return (void *)at;
		if (is < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

void *__replaced_lfind(const void *key, const void *base, size_t *count, size_t size, plain_function *compare)
{
	const char *at = base;

	for (size_t i = 0, n = *count; i < n; i++, at += size)
		if (!compare(key, at))
			return (void *)at;
	return NULL;
}

void *__replaced_lsearch(const void *key, void *base, size_t *count, size_t size, plain_function *compare)
{
	void *found = __replaced_lfind(key, base, count, size, compare);

	if (found)
		return found;
	found = (char *)base + *count * size;
	__builtin_memcpy(found, key, size);
	++*count;
	return found;
}

/* ---- what allocates ------------------------------------------------------------------------------------------------------ */

/* A string of n characters. Another thread may have made it longer meanwhile, or shorter: as with libc's. */
static char *duplicate(const char *string, size_t n)
{
	char *copy = malloc(n + 1);

	if (!copy)
		return NULL;
	memcpy(copy, string, n);
	copy[n] = 0;
	return copy;
}

char *__replaced_strdup(const char *string)
{
	return duplicate(string, strlen(string));
}

char *__replaced_strndup(const char *string, size_t most)
{
	return duplicate(string, strnlen(string, most));
}

/* ---- stdio -------------------------------------------------------------------------------------------------------------- */

#define SMALL 1024	 /* on the stack */
#define MOST  (1u << 20) /* what is longer is not copied */

/* Room for n bytes; NULL: there is none. */
static char *room_for(size_t n, char small[SMALL])
{
	return n <= SMALL ? small : n <= MOST ? malloc(n) : NULL;
}

static void done_with(char *room, const char *small)
{
	if (room != small)
		free(room);
}

/* A copy of the string, or the string itself if it is too long. */
static const char *copied(const char *string, char small[SMALL])
{
	size_t n = strlen(string) + 1;
	char *copy = room_for(n, small);

	if (!copy)
		return string;
	memcpy(copy, string, n);
	copy[n - 1] = 0;
	return copy;
}

int __replaced_puts(const char *string)
{
	char small[SMALL];
	const char *copy = copied(string, small);
	int result = __theirs_puts(copy);

	if (copy != string)
		done_with((char *)copy, small);
	return result;
}

int __replaced_fputs(const char *string, FILE *file)
{
	char small[SMALL];
	const char *copy = copied(string, small);
	int result = __theirs_fputs(copy, file);

	if (copy != string)
		done_with((char *)copy, small);
	return result;
}

size_t __replaced_fwrite(const void *from, size_t size, size_t count, FILE *file)
{
	char small[SMALL], *copy;
	size_t bytes;

	if (__builtin_mul_overflow(size, count, &bytes) || !(copy = room_for(bytes, small)))
		return __theirs_fwrite(from, size, count, file);
	memcpy(copy, from, bytes);
	count = __theirs_fwrite(copy, size, count, file);
	done_with(copy, small);
	return count;
}

/* By bytes, so that a part of an element comes, too. */
size_t __replaced_fread(void *to, size_t size, size_t count, FILE *file)
{
	char small[SMALL], *copy;
	size_t bytes;

	if (__builtin_mul_overflow(size, count, &bytes) || !bytes || !(copy = room_for(bytes, small)))
		return __theirs_fread(to, size, count, file);
	size_t got = __theirs_fread(copy, 1, bytes, file);
	memcpy(to, copy, got);
	done_with(copy, small);
	return got / size;
}

/* ---- what is left of printf and its kin: formats.c ------------------------------------------------------------------------ */

char *__replaced_room(char *small, size_t room, int n)
{
	return n < 0 ? NULL : small && (size_t)n < room ? small : malloc((size_t)n + 1);
}

size_t __replaced_limit(const char *text, int n)
{
	return text ? (size_t)n + 1 : 0;
}

/* Characters of the text; less than 0: there is none. */
static int in_text(const char *text, int length, int written)
{
	return !text ? -1 : written < length ? written : length;
}

int __replaced_fprintf(FILE *file, char *small, char *text, int length, int written)
{
	int n = in_text(text, length, written);

	if (n > 0 && __theirs_fwrite(text, 1, (size_t)n, file) != (size_t)n)
		n = -1;
	done_with(text, small);
	return n;
}

int __replaced_sprintf(char *to, char *small, char *text, int length, int written)
{
	int n = in_text(text, length, written);

	if (n >= 0)
		memcpy(to, text, (size_t)n + 1);
	done_with(text, small);
	return n;
}

int __replaced_asprintf(char **to, char *small, char *text, int length, int written)
{
	int n = in_text(text, length, written);

	if (n >= 0)
		*to = text;
	else
		done_with(text, small);
	return n;
}

int __replaced_printf(char *small, char *text, int length, int written)
{
	return __replaced_fprintf(stdout, small, text, length, written);
}

int __replaced_printf_chk(int flag, char *small, char *text, int length, int written)
{
	(void)flag;
	return __replaced_fprintf(stdout, small, text, length, written);
}

int __replaced_fprintf_chk(FILE *file, int flag, char *small, char *text, int length, int written)
{
	(void)flag;
	return __replaced_fprintf(file, small, text, length, written);
}

int __replaced_sprintf_chk(char *to, int flag, size_t room, char *small, char *text, int length, int written)
{
	(void)flag;
	if (in_text(text, length, written) >= 0 && (size_t)in_text(text, length, written) >= room)
		__chk_fail();
	return __replaced_sprintf(to, small, text, length, written);
}

int __replaced_asprintf_chk(char **to, int flag, char *small, char *text, int length, int written)
{
	(void)flag;
	return __replaced_asprintf(to, small, text, length, written);
}
