/*
 * What only x86-64 has. What could go wrong: a call site that is patched and
 * jumped into, the red zone, rcx, r11 and the flags after a call, vector and x87
 * registers across calls and handlers, the frame that a handler sees and edits,
 * a context resumed by hand, unwinding out of a handler, the cycle counter,
 * memory below 2 GiB.
 */
// run: same
#define _GNU_SOURCE
#include <stdio.h>
#ifndef __x86_64__
int main(void)
{
	puts("another machine");
	return 0;
}
#else
#include <cpuid.h>
#include <execinfo.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>
#include <xmmintrin.h>

#define CHECK(condition)                                                    \
	do {                                                                \
		if (!(condition)) {                                         \
			printf("FAIL line %d: %s\n", __LINE__, #condition); \
			exit(1);                                            \
		}                                                           \
	} while (0)

/* ---- sites of all kinds: number in rdi, two arguments; each returns what the call does ---- */

long after(long nr, long a, long b), after_continue(long value);
long after_short(long nr, long a, long b);
long before_getpid(void), before_call_itself(long nr);
long before_long(void), between_getpid(long zero);
extern char after_site[], before_site[];
__asm__(".text\n"
	/* the instruction behind the call is long */
	"after: mov %rdi, %rax; mov %rsi, %rdi; mov %rdx, %rsi\n"
	"after_site: syscall\n"
	"1: cmp $-4095, %rax; jae 2f; ret\n"
	"2: neg %rax; ret\n"
	/* and other code jumps to it */
	"after_continue: mov %rdi, %rax; jmp 1b\n"
	/* neither long instruction behind nor number before: keeps trapping */
	"after_short: mov %rdi, %rax; mov %rsi, %rdi; mov %rdx, %rsi; syscall; ret\n"
	/* the number stands before, as bytes of 5 and of 7 */
	"before_getpid: mov $39, %eax\n"
	"before_site: syscall; ret\n"
	"before_call_itself: mov %rdi, %rax; jmp before_site\n"
	"before_long: movq $39, %rax; syscall; ret\n"
	"between_getpid: mov $39, %eax; xor %r10d, %r10d; mov %rdi, %rsi; syscall; mov %eax, %eax; ret\n");

static void check_sites(void)
{
	long pid = getpid();
	for (int i = 0; i < 3; i++) {
		CHECK(after(SYS_getpid, 0, 0) == pid);
		CHECK(after(SYS_close, -1, 0) == 9);
		CHECK(after_continue(12345) == 12345);
		CHECK(after_continue(-7) == 7);
		CHECK(after_short(SYS_getpid, 0, 0) == pid);
		CHECK(before_getpid() == pid);
		CHECK(before_call_itself(SYS_getppid) == getppid());
		CHECK(before_long() == pid);
		CHECK(between_getpid(0) == pid);
	}
	puts("sites");
}

/* ---- registers ------------------------------------------------------------------------------ */

static void check_registers(void)
{
	for (int i = 0; i < 3; i++) {
		uint64_t rcx, r11, flags, here, red;
		/* carry, overflow and direction set; a value in the red zone */
		__asm__ volatile("lea -4096(%%rsp), %%rsp\n\t"
				 "movabs $0x1122334455667788, %%rax\n\t"
				 "mov %%rax, -128(%%rsp)\n\t"
				 "mov $0x7fffffff, %%eax\n\t"
				 "add $1, %%eax\n\t"
				 "stc\n\t"
				 "std\n\t"
				 "mov $39, %%eax\n\t"
				 "syscall\n"
				 "1:\tnop\n\tnop\n\tnop\n\tnop\n\t"
				 "mov -128(%%rsp), %4\n\t"
				 "pushf\n\t"
				 "pop %2\n\t"
				 "cld\n\t"
				 "lea 4096(%%rsp), %%rsp\n\t"
				 "mov %%rcx, %0\n\t"
				 "mov %%r11, %1\n\t"
				 "lea 1b(%%rip), %3"
				 : "=&r"(rcx), "=&r"(r11), "=&r"(flags), "=&r"(here), "=&r"(red)
				 :
				 : "rax", "rcx", "r11", "memory", "cc");
		CHECK(rcx == here);
		CHECK(r11 == flags);
		CHECK((flags & 0xc01) == 0xc01);
		CHECK(red == 0x1122334455667788);
	}
	uint64_t in[8], out[8];
	for (int i = 0; i < 8; i++)
		in[i] = 0x0101010101010101 * (uint64_t)(i + 1);
	__asm__ volatile("push %%rbp\n\tpush %%rbx\n\t"
			 "mov (%0), %%rbx\n\tmov 8(%0), %%rbp\n\tmov 16(%0), %%r12\n\tmov 24(%0), %%r13\n\t"
			 "mov 32(%0), %%r14\n\tmov 40(%0), %%r15\n\tmov 48(%0), %%r8\n\tmov 56(%0), %%r9\n\t"
			 "mov $39, %%eax\n\tsyscall\n\t"
			 "mov %%rbx, (%1)\n\tmov %%rbp, 8(%1)\n\tmov %%r12, 16(%1)\n\tmov %%r13, 24(%1)\n\t"
			 "mov %%r14, 32(%1)\n\tmov %%r15, 40(%1)\n\tmov %%r8, 48(%1)\n\tmov %%r9, 56(%1)\n\t"
			 "pop %%rbx\n\tpop %%rbp"
			 :
			 : "S"(in), "D"(out)
			 : "rax", "rcx", "r11", "r12", "r13", "r14", "r15", "r8", "r9", "memory");
	CHECK(!memcmp(in, out, sizeof in));
	puts("registers");
}

/* ---- vector registers across calls and handlers ------------------------------------------------ */

static volatile sig_atomic_t count;
static uint32_t mxcsr_in_handler, mxcsr_in_frame;
static uint16_t x87_in_handler;
static uint8_t xmm3_in_frame[16];
static uint64_t pc_in_frame;
static int edit_frame;

static void handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	(void)sig;
	(void)info;
	__asm__ volatile("stmxcsr %0" : "=m"(mxcsr_in_handler));
	__asm__ volatile("fnstcw %0" : "=m"(x87_in_handler));
	mxcsr_in_frame = uc->uc_mcontext.fpregs->mxcsr;
	memcpy(xmm3_in_frame, &uc->uc_mcontext.fpregs->_xmm[3], 16);
	pc_in_frame = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
	if (edit_frame)
		memset(&uc->uc_mcontext.fpregs->_xmm[3], 0x77, 16);
	/* a handler may use any of them */
	__asm__ volatile("pxor %%xmm3, %%xmm3\n\tpcmpeqd %%xmm4, %%xmm4\n\tpxor %%xmm15, %%xmm15" ::
				 : "xmm3", "xmm4", "xmm15");
	count++;
}

/* kill(getpid(), SIGUSR1) through a site of ours, with all vector registers filled. */
static void signal_with_vectors(const uint8_t in[256], uint8_t out[256], int avx)
{
	long pid = getpid();
	register long rax __asm__("rax") = SYS_kill;
	register long rdi __asm__("rdi") = pid;
	register long rsi __asm__("rsi") = SIGUSR1;
#define EACH(f)	      f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11) f(12) f(13) f(14) f(15)
#define LOAD(i)	      "movdqu 16*" #i "(%3), %%xmm" #i "\n\t"
#define STORE(i)      "movdqu %%xmm" #i ", 16*" #i "(%4)\n\t"
#define HIGH(i)	      "vinsertf128 $1, 16*" #i "(%3), %%ymm" #i ", %%ymm" #i "\n\t"
#define CHECK_HIGH(i) "vextractf128 $1, %%ymm" #i ", 16*" #i "(%4)\n\t"
	if (avx)
		__asm__ volatile(EACH(LOAD) EACH(HIGH) "syscall\n\tcmp $-4095, %%rax\n\t" EACH(CHECK_HIGH) "vzeroupper"
				 : "+r"(rax), "+r"(rdi), "+r"(rsi)
				 : "r"(in), "r"(out)
				 : "rcx", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
				   "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
	else
		__asm__ volatile(EACH(LOAD) "syscall\n\tcmp $-4095, %%rax\n\t" EACH(STORE)
				 : "+r"(rax), "+r"(rdi), "+r"(rsi)
				 : "r"(in), "r"(out)
				 : "rcx", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
				   "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
	CHECK(rax == 0);
}

static void check_vectors(void)
{
	uint8_t in[256], out[256];
	for (int i = 0; i < 256; i++)
		in[i] = (uint8_t)(i * 7 + 1);
	for (int avx = 0; avx <= (__builtin_cpu_supports("avx") ? 1 : 0); avx++) {
		for (int i = 0; i < 3; i++) {
			memset(out, 0, sizeof out);
			int before = count;
			uint16_t x87 = 0xb7f, x87_after = 0;
			_mm_setcsr(0x1f80 | _MM_ROUND_UP);
			__asm__ volatile("fldcw %0" : : "m"(x87));
			signal_with_vectors(in, out, avx);
			__asm__ volatile("fnstcw %0\n\tfninit" : "=m"(x87_after));
			CHECK(_MM_GET_ROUNDING_MODE() == _MM_ROUND_UP && x87_after == x87);
			_mm_setcsr(0x1f80);
			CHECK(count == before + 1);
			CHECK(!memcmp(in, out, sizeof in));
			CHECK(!memcmp(xmm3_in_frame, in + 48, 16));
			CHECK((mxcsr_in_frame & 0x6000) == 0x4000);
			CHECK(mxcsr_in_handler == 0x1f80);
			CHECK(x87_in_handler == 0x37f);
		}
	}
	edit_frame = 1;
	signal_with_vectors(in, out, 0);
	edit_frame = 0;
	for (int i = 0; i < 256; i++)
		CHECK(out[i] == (i / 16 == 3 ? 0x77 : in[i]));
	puts("vectors");
}

/* ---- what a handler sees, and where it may lead ------------------------------------------------ */

static void check_frame(void)
{
	for (int i = 0; i < 3; i++) {
		CHECK(after(SYS_kill, getpid(), SIGUSR1) == 0);
		CHECK(pc_in_frame == (uint64_t)after_site + 2);
		CHECK(before_call_itself(SYS_getpid) == getpid());
	}
	puts("frames");
}

static ucontext_t elsewhere;
static volatile int stage;

static void by_hand(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	(void)sig;
	(void)info;
	/* the call goes on from here without a return from this handler, as some runtimes do */
	elsewhere = *uc;
	elsewhere.uc_mcontext.fpregs = &elsewhere.__fpregs_mem;
	memcpy(&elsewhere.__fpregs_mem, uc->uc_mcontext.fpregs, sizeof elsewhere.__fpregs_mem);
	stage++;
	sigprocmask(SIG_SETMASK, &uc->uc_sigmask, 0);
	setcontext(&elsewhere);
}

static void check_by_hand(void)
{
	struct sigaction a = { .sa_sigaction = by_hand, .sa_flags = SA_SIGINFO };
	CHECK(sigaction(SIGUSR2, &a, 0) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(after(SYS_kill, getpid(), SIGUSR2) == 0);
	CHECK(stage == 3);
	puts("resumed by hand");
}

static int found_main;
int main(void);

static void unwinder(int sig)
{
	void *stack[64];
	(void)sig;
	int n = backtrace(stack, 64);
	for (int i = 0; i < n; i++)
		found_main |= (char *)stack[i] >= (char *)main && (char *)stack[i] < (char *)main + 4096;
}

static void check_unwinding(void)
{
	signal(SIGUSR2, unwinder);
	kill(getpid(), SIGUSR2);
	CHECK(found_main);
	puts("unwound");
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	printf("signal %d code %d trap %lld error %lld address %s\n", sig, info->si_code,
	       (long long)uc->uc_mcontext.gregs[REG_TRAPNO], (long long)uc->uc_mcontext.gregs[REG_ERR] & ~1,
	       info->si_addr == (void *)64 ? "64" : "other");
	uc->uc_mcontext.gregs[REG_RIP] += sig == SIGSEGV ? 2 : sig == SIGILL ? 2 : 0;
	uc->uc_mcontext.gregs[REG_RAX] = 99;
	/* the interrupted division finds another divisor */
	uc->uc_mcontext.gregs[REG_RCX] = 1;
}

static void check_faults(void)
{
	struct sigaction a = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	long value = 64;
	sigaction(SIGSEGV, &a, 0);
	sigaction(SIGFPE, &a, 0);
	sigaction(SIGILL, &a, 0);
	__asm__ volatile("mov (%%rax), %%ecx" : "+a"(value) : : "rcx", "memory");
	CHECK(value == 99);
	__asm__ volatile("mov %%ecx, (%%rax)" : "+a"(value) : : "rcx", "memory"); /* address 99 */
	value = 1;
	__asm__ volatile("xor %%ecx, %%ecx\n\tcqto\n\tidiv %%rcx" : "+a"(value) : : "rcx", "rdx", "cc");
	CHECK(value == 99);
	__asm__ volatile("ud2" : "+a"(value) : : "rcx");
	signal(SIGSEGV, SIG_DFL);
	signal(SIGFPE, SIG_DFL);
	signal(SIGILL, SIG_DFL);
	puts("faults");
}

static void check_counter(void)
{
	uint32_t a, b, c = 0, d = 0, e = 0;
	__asm__ volatile("rdtsc" : "=a"(a), "=d"(b));
	if (__get_cpuid(0x80000001, &c, &c, &c, &d) && (d & 1u << 27))
		__asm__ volatile("rdtscp" : "=a"(c), "=d"(d), "=c"(e));
	else
		__asm__ volatile("rdtsc" : "=a"(c), "=d"(d));
	CHECK(((uint64_t)d << 32 | c) > ((uint64_t)b << 32 | a));
	puts("counter");
}

/* Code that comes and goes at one address: what was after the old call must not be run after the new. */
static void check_new_code(void)
{
	static const uint8_t first[] = { 0x0f, 0x05, 0x48, 0x05, 1, 0, 0, 0, 0xc3 };  /* syscall; add $1, %rax; ret */
	static const uint8_t second[] = { 0x0f, 0x05, 0x48, 0x05, 2, 0, 0, 0, 0xc3 }; /* add $2 */
	uint8_t *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long pid = getpid();
	for (int i = 0; i < 4; i++) {
		memcpy(code, i % 2 ? second : first, sizeof first);
		for (int k = 0; k < 3; k++) {
			long rax = SYS_getpid;
			__asm__ volatile("call *%1" : "+a"(rax) : "r"(code) : "rcx", "r11", "memory", "cc");
			CHECK(rax == pid + (i % 2 ? 2 : 1));
		}
	}
	puts("new code");
}

/* For code that keeps addresses in 32 bits. */
static void check_low_memory(void)
{
	for (int i = 0; i < 3; i++) {
		char *p = mmap(0, 100000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
		CHECK(p != MAP_FAILED && (uintptr_t)p + 100000 <= 1ul << 31);
		memset(p, i, 100000);
	}
	puts("low memory");
}

int main(void)
{
	struct sigaction a = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	CHECK(sigaction(SIGUSR1, &a, 0) == 0);
	check_sites();
	check_registers();
	check_vectors();
	check_frame();
	check_by_hand();
	check_unwinding();
	check_faults();
	check_counter();
	check_new_code();
	check_low_memory();
	return 0;
}
#endif
