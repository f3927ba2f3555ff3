/*
 * prctl() that changes how instructions work: the length of vectors, tags in addresses, shadow stacks. What could go wrong:
 * a replay that takes the answer from the log, and goes on with the instructions as they were; a status that the kernel
 * writes, and that is taken for a value. Where the processor has nothing of it, all say so.
 */
// run: same
#include "check.h"
#include <sys/prctl.h>

enum { SVE_SET_VL = 50, SVE_GET_VL = 51, SET_TAGGED = 55, GET_TAGGED = 56, GET_STACK = 74, SET_STACK = 75 };

#ifdef __aarch64__
static long vector_length(void)
{
	long n;
	__asm__ volatile(".arch_extension sve\n\trdvl %0, #1" : "=r"(n));
	return n;
}

/* The kernel takes a tagged pointer only if it was told to. */
static const char *tagged(const char *text)
{
	return (const char *)((uintptr_t)text | (uintptr_t)0x2a << 56);
}
#else
static long vector_length(void)
{
	return 0;
}

static const char *tagged(const char *text)
{
	return text;
}
#endif

static void vectors(void)
{
	if (prctl(SVE_GET_VL) < 0) {
		FAILS(prctl(SVE_SET_VL, 16), EINVAL);
		return;
	}
	say("vectors of %ld bytes", vector_length());
	CHECK(prctl(SVE_SET_VL, 16) >= 0);
	say("then of %ld", vector_length());
}

static void tags(void)
{
	char *page = malloc(4096);

	if (prctl(SET_TAGGED, 1, 0, 0, 0) == 0)
		CHECK(prctl(GET_TAGGED, 0, 0, 0, 0) == 1);
	else
		CHECK(errno == EINVAL);
	strcpy(page, "/");
	say("%s a directory", access(tagged(page), R_OK) ? "not" : "indeed");
	free(page);
}

static void shadow_stacks(void)
{
	uint64_t status = 0x5a5a5a5a5a5a5a5a;

	if (prctl(GET_STACK, &status, 0, 0, 0) == 0)
		CHECK(status != 0x5a5a5a5a5a5a5a5a);
	else
		CHECK(errno == EINVAL && status == 0x5a5a5a5a5a5a5a5a);
	FAILS(prctl(SET_STACK, 1ul << 40, 0, 0, 0), EINVAL);
}

int main(void)
{
	vectors();
	tags();
	shadow_stacks();
	return done();
}
