/*
 * System calls leave the vector registers alone: also those whose large output is copied to the program by our own code,
 * and those where that copy ends in the middle, because the buffer does.
 */
// run: same
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __aarch64__
#define REGISTERS 8
static long read_with(int fd, void *to, unsigned long n, const unsigned char in[][16], unsigned char out[][16])
{
	register long x0 __asm__("x0") = fd;
	register void *x1 __asm__("x1") = to;
	register unsigned long x2 __asm__("x2") = n;
	register long x8 __asm__("x8") = SYS_read;
	register const void *x3 __asm__("x3") = in;
	register void *x4 __asm__("x4") = out;
	__asm__ volatile(
		"ldp q0, q1, [x3]\n\tldp q2, q3, [x3, #32]\n\tldp q4, q5, [x3, #64]\n\tldp q6, q7, [x3, #96]\n\t"
		"svc #0\n\t"
		"stp q0, q1, [x4]\n\tstp q2, q3, [x4, #32]\n\tstp q4, q5, [x4, #64]\n\tstp q6, q7, [x4, #96]"
		: "+r"(x0)
		: "r"(x1), "r"(x2), "r"(x8), "r"(x3), "r"(x4)
		: "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7");
	return x0;
}
#else
#define REGISTERS 2
static long read_with(int fd, void *to, unsigned long n, const unsigned char in[][16], unsigned char out[][16])
{
	long result;
	__asm__ volatile("movdqu (%5), %%xmm0\n\tmovdqu 16(%5), %%xmm1\n\tsyscall\n\t"
			 "movdqu %%xmm0, (%6)\n\tmovdqu %%xmm1, 16(%6)"
			 : "=a"(result)
			 : "a"(SYS_read), "D"(fd), "S"(to), "d"(n), "r"(in), "r"(out)
			 : "memory", "rcx", "r11", "xmm0", "xmm1");
	return result;
}
#endif

int main(void)
{
	enum { PAGE = 65536 };
	unsigned char in[REGISTERS][16], out[REGISTERS][16];
	int zero = open("/dev/zero", O_RDONLY);
	char *two = mmap(0, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (zero < 0 || two == MAP_FAILED || mprotect(two + PAGE, PAGE, PROT_NONE))
		return 1;
	for (unsigned i = 0; i < sizeof in; i++)
		((unsigned char *)in)[i] = (unsigned char)(i * 7 + 1);
	static const unsigned lengths[] = { 16, 500, 512, 700, 4096, 60000 };
	for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++)
		for (unsigned beyond = 0; beyond <= 300; beyond += 100) {
			unsigned n = lengths[i];
			if (beyond > n)
				continue;
			memset(out, 0, sizeof out);
			long r = read_with(zero, two + PAGE - n + beyond, n, (const void *)in, out);
			/* how much of a read that ends in the middle counts is the kernel's choice: some or EFAULT */
			int good = beyond ? r < (long)n : r == (long)n;
			printf("%u, %u beyond: %s, registers %s\n", n, beyond, good ? "as expected" : "wrong result",
			       memcmp(in, out, sizeof in) ? "changed" : "kept");
		}
	return 0;
}
