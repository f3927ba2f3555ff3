/* What calls back, what allocates, and what takes addresses of the net. As glibc's: qsort is a merge sort, and so
   stable, and calls the function for the same pairs. */
#include "compiler/replaced.h"
#include <arpa/inet.h>

typedef int compare_function(const void *a, const void *b, void *more);
typedef int plain_function(const void *a, const void *b);

void __replaced_qsort(void *base, size_t count, size_t size, plain_function *compare);
void __replaced_qsort_r(void *base, size_t count, size_t size, compare_function *compare, void *more);
void *__replaced_bsearch(const void *key, const void *base, size_t count, size_t size, plain_function *compare);
void *__replaced_lfind(const void *key, const void *base, size_t *count, size_t size, plain_function *compare);
void *__replaced_lsearch(const void *key, void *base, size_t *count, size_t size, plain_function *compare);
char *__replaced_strdup(const char *string);
char *__replaced_strndup(const char *string, size_t most);
const char *__replaced_inet_ntop(int family, const void *address, char *text, socklen_t size);
int __replaced_inet_pton(int family, const char *text, void *address);
const char *__theirs_inet_ntop(int family, const void *address, char *text, socklen_t size);
int __theirs_inet_pton(int family, const char *text, void *address);

/* ---- what calls back --------------------------------------------------------------------------------------------- */

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

/* ---- what allocates ---------------------------------------------------------------------------------------------- */

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

/* ---- addresses of the net: how long they are, the family says ---------------------------------------------------- */

static size_t address_size(int family)
{
	return family == AF_INET ? sizeof(struct in_addr) : family == AF_INET6 ? sizeof(struct in6_addr) : 0;
}

const char *__replaced_inet_ntop(int family, const void *address, char *text, socklen_t size)
{
	uint8_t copy[sizeof(struct in6_addr)] = { 0 };

	memcpy(copy, address, address_size(family));
	return __theirs_inet_ntop(family, copy, text, size);
}

int __replaced_inet_pton(int family, const char *text, void *address)
{
	uint8_t copy[sizeof(struct in6_addr)];
	int result = __theirs_inet_pton(family, text, copy);

	if (result > 0)
		memcpy(address, copy, address_size(family));
	return result;
}
