/*
 * What is known of functions that the program calls and that are not seen: a table of names. What is not in it, and not
 * described by libc's list, may do anything.
 */
#include <stdlib.h>
#include <string.h>
#include "compiler/races/objects.h"

struct row {
	const char *name;
	enum external kind;
};

/* In the order of strcmp. The operators new and delete that the language itself has: another one, with arguments of the
   program's, may give memory that somebody has. */
static const struct row exact[] = {
	{ "_ZdaPv", EXTERNAL_FREES },
	{ "_ZdaPvRKSt9nothrow_t", EXTERNAL_FREES },
	{ "_ZdaPvSt11align_val_t", EXTERNAL_FREES },
	{ "_ZdaPvSt11align_val_tRKSt9nothrow_t", EXTERNAL_FREES },
	{ "_ZdaPvm", EXTERNAL_FREES },
	{ "_ZdaPvmSt11align_val_t", EXTERNAL_FREES },
	{ "_ZdlPv", EXTERNAL_FREES },
	{ "_ZdlPvRKSt9nothrow_t", EXTERNAL_FREES },
	{ "_ZdlPvSt11align_val_t", EXTERNAL_FREES },
	{ "_ZdlPvSt11align_val_tRKSt9nothrow_t", EXTERNAL_FREES },
	{ "_ZdlPvm", EXTERNAL_FREES },
	{ "_ZdlPvmSt11align_val_t", EXTERNAL_FREES },
	{ "_Znam", EXTERNAL_ALLOCATES },
	{ "_ZnamRKSt9nothrow_t", EXTERNAL_ALLOCATES },
	{ "_ZnamSt11align_val_t", EXTERNAL_ALLOCATES },
	{ "_ZnamSt11align_val_tRKSt9nothrow_t", EXTERNAL_ALLOCATES },
	{ "_Znwm", EXTERNAL_ALLOCATES },
	{ "_ZnwmRKSt9nothrow_t", EXTERNAL_ALLOCATES },
	{ "_ZnwmSt11align_val_t", EXTERNAL_ALLOCATES },
	{ "_ZnwmSt11align_val_tRKSt9nothrow_t", EXTERNAL_ALLOCATES },
	{ "__cxa_allocate_exception", EXTERNAL_ALLOCATES },
	{ "__cxa_atexit", EXTERNAL_AT_EXIT },
	{ "__errno_location", EXTERNAL_HARMLESS },
	{ "__sched_cpucount", EXTERNAL_USES },
	{ "_exit", EXTERNAL_HARMLESS },
	{ "_longjmp", EXTERNAL_STD },
	{ "abort", EXTERNAL_HARMLESS },
	{ "accept", EXTERNAL_USES },
	{ "aligned_alloc", EXTERNAL_ALLOCATES },
	{ "atexit", EXTERNAL_AT_EXIT },
	{ "bind", EXTERNAL_USES },
	{ "bsearch", EXTERNAL_SORTS },
	{ "call_once", EXTERNAL_STD },
	{ "calloc", EXTERNAL_ALLOCATES },
	{ "clock_gettime", EXTERNAL_USES },
	{ "clock_nanosleep", EXTERNAL_USES },
	{ "close", EXTERNAL_HARMLESS },
	{ "connect", EXTERNAL_USES },
	{ "exit", EXTERNAL_HARMLESS },
	{ "free", EXTERNAL_FREES },
	{ "fstat", EXTERNAL_USES },
	{ "getrandom", EXTERNAL_USES },
	{ "gettimeofday", EXTERNAL_USES },
	{ "longjmp", EXTERNAL_STD },
	{ "lseek", EXTERNAL_HARMLESS },
	{ "malloc", EXTERNAL_ALLOCATES },
	{ "memalign", EXTERNAL_ALLOCATES },
	{ "mkdir", EXTERNAL_USES },
	{ "nanosleep", EXTERNAL_USES },
	{ "open", EXTERNAL_USES },
	{ "open64", EXTERNAL_USES },
	{ "pipe", EXTERNAL_USES },
	{ "poll", EXTERNAL_USES },
	{ "pread", EXTERNAL_USES },
	{ "pread64", EXTERNAL_USES },
	{ "pthread_create", EXTERNAL_CREATES },
	{ "pthread_equal", EXTERNAL_HARMLESS },
	{ "pthread_exit", EXTERNAL_ENDS_THREAD },
	{ "pthread_join", EXTERNAL_JOINS },
	{ "pthread_kill", EXTERNAL_HARMLESS },
	{ "pthread_self", EXTERNAL_HARMLESS },
	{ "pthread_yield", EXTERNAL_HARMLESS },
	{ "pwrite", EXTERNAL_USES },
	{ "pwrite64", EXTERNAL_USES },
	{ "qsort", EXTERNAL_SORTS },
	{ "read", EXTERNAL_USES },
	{ "realloc", EXTERNAL_REALLOCATES },
	{ "reallocarray", EXTERNAL_REALLOCATES },
	{ "recv", EXTERNAL_USES },
	{ "recvfrom", EXTERNAL_USES },
	{ "sched_getcpu", EXTERNAL_HARMLESS },
	{ "sched_yield", EXTERNAL_HARMLESS },
	{ "select", EXTERNAL_USES },
	{ "sem_getvalue", EXTERNAL_USES },
	{ "send", EXTERNAL_USES },
	{ "sendto", EXTERNAL_USES },
	{ "sigaction", EXTERNAL_STD },
	{ "siglongjmp", EXTERNAL_STD },
	{ "signal", EXTERNAL_STD },
	{ "sleep", EXTERNAL_HARMLESS },
	{ "socket", EXTERNAL_HARMLESS },
	{ "stat", EXTERNAL_USES },
	{ "thrd_create", EXTERNAL_CREATES },
	{ "thrd_current", EXTERNAL_HARMLESS },
	{ "thrd_equal", EXTERNAL_HARMLESS },
	{ "thrd_exit", EXTERNAL_HARMLESS },
	{ "thrd_join", EXTERNAL_JOINS },
	{ "thrd_yield", EXTERNAL_HARMLESS },
	{ "time", EXTERNAL_USES },
	{ "unlink", EXTERNAL_USES },
	{ "usleep", EXTERNAL_HARMLESS },
	{ "valloc", EXTERNAL_ALLOCATES },
	{ "waitpid", EXTERNAL_USES },
	{ "write", EXTERNAL_USES },
};

/* By how the name begins and ends: libraries have names of their own that begin so. The first that fits counts. */
static const struct family {
	const char *begins, *ends; /* each with a space behind it */
	enum external kind;
} families[] = {
	{ "pthread_mutex_",
	  "init destroy lock trylock timedlock clocklock unlock consistent consistent_np getprioceiling "
	  "setprioceiling ",
	  EXTERNAL_LOCK },
	{ "pthread_mutexattr_",
	  "init destroy gettype settype getkind_np setkind_np getpshared setpshared getprotocol setprotocol "
	  "getprioceiling setprioceiling getrobust setrobust getrobust_np setrobust_np ",
	  EXTERNAL_LOCK },
	{ "pthread_cond_", "init destroy signal broadcast wait timedwait clockwait ", EXTERNAL_LOCK },
	{ "pthread_condattr_", "init destroy getclock setclock getpshared setpshared ", EXTERNAL_LOCK },
	{ "pthread_rwlock_",
	  "init destroy rdlock tryrdlock timedrdlock clockrdlock wrlock trywrlock timedwrlock clockwrlock unlock ",
	  EXTERNAL_LOCK },
	{ "pthread_rwlockattr_", "init destroy getpshared setpshared getkind_np setkind_np ", EXTERNAL_LOCK },
	{ "pthread_spin_", "init destroy lock trylock unlock ", EXTERNAL_LOCK },
	{ "pthread_barrier_", "init destroy wait ", EXTERNAL_LOCK },
	{ "pthread_barrierattr_", "init destroy getpshared setpshared ", EXTERNAL_LOCK },
	{ "pthread_attr_",
	  "init destroy getdetachstate setdetachstate getguardsize setguardsize getinheritsched setinheritsched "
	  "getschedparam setschedparam getschedpolicy setschedpolicy getscope setscope getstack setstack getstackaddr "
	  "setstackaddr getstacksize setstacksize getaffinity_np setaffinity_np getsigmask_np setsigmask_np ",
	  EXTERNAL_USES },
	{ "pthread_",
	  "self equal once key_create key_delete getspecific setspecific detach exit join tryjoin_np timedjoin_np "
	  "clockjoin_np cancel testcancel setcancelstate setcanceltype kill sigmask sigqueue atfork yield getattr_np "
	  "getattr_default_np setattr_default_np getname_np setname_np getaffinity_np setaffinity_np getschedparam "
	  "setschedparam setschedprio getconcurrency setconcurrency getcpuclockid gettid_np create ",
	  EXTERNAL_STD },
	{ "thrd_", "create current equal sleep yield exit detach join ", EXTERNAL_STD },
	{ "tss_", "create delete get set ", EXTERNAL_STD },
	{ "mtx_", "init destroy lock trylock timedlock unlock ", EXTERNAL_LOCK },
	{ "cnd_", "init destroy signal broadcast wait timedwait ", EXTERNAL_LOCK },
	{ "sem_", "init destroy open close unlink wait trywait timedwait clockwait post getvalue ", EXTERNAL_LOCK },
};

/* Names that the language keeps for itself, by how they begin; the first that fits counts. */
static const struct row beginnings[] = {
	{ "__cxa_guard", EXTERNAL_LOCK },
	{ "__cxa_free", EXTERNAL_FREES },
	{ "__cxa_begin_catch", EXTERNAL_STD },
	{ "__cxa_", EXTERNAL_STD },
	{ "__gxx_personality", EXTERNAL_HARMLESS },
	{ "_Unwind", EXTERNAL_STD },
	{ "_ZNSt6thread15_M_start_thread", EXTERNAL_UNKNOWN },
	{ "_ZNSt6thread4joinEv", EXTERNAL_STD },
	{ "_ZSt", EXTERNAL_STD },
	{ "_ZNSt", EXTERNAL_STD },
	{ "_ZNKSt", EXTERNAL_STD },
	{ "_ZNSa", EXTERNAL_STD },
	{ "_ZNSs", EXTERNAL_STD },
	{ "_ZNSi", EXTERNAL_STD },
	{ "_ZNSo", EXTERNAL_STD },
};

static bool in_family(const struct family *f, const char *name)
{
	size_t begins = strlen(f->begins);

	if (strncmp(name, f->begins, begins))
		return false;
	size_t ends = strlen(name + begins);
	for (const char *at = f->ends; *at; at = strchr(at, ' ') + 1)
		if (!strncmp(at, name + begins, ends) && at[ends] == ' ')
			return true;
	return false;
}

static const char *const libc_names[] = {
#include "compiler/libc_names.h"
};

/* Of libm; also with f and l at the end. They access nothing but what they are given. */
static const char *const math[] = { "acos",   "acosh",	 "asin",      "asinh",	   "atan",  "atan2",	 "atanh",
				    "cbrt",   "ceil",	 "copysign",  "cos",	   "cosh",  "erf",	 "erfc",
				    "exp",    "exp10",	 "exp2",      "expm1",	   "fabs",  "fdim",	 "floor",
				    "fma",    "fmax",	 "fmin",      "fmod",	   "hypot", "ilogb",	 "ldexp",
				    "log",    "log10",	 "log1p",     "log2",	   "logb",  "lrint",	 "lround",
				    "llrint", "llround", "nearbyint", "nextafter", "pow",   "remainder", "rint",
				    "round",  "scalbn",	 "sin",	      "sinh",	   "sqrt",  "tan",	 "tanh",
				    "tgamma", "trunc" };
static const char *const math_writes[] = { "frexp", "modf", "remquo", "sincos" };

static bool is_math(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t len = strlen(list[i]);
		if (!strncmp(name, list[i], len) &&
		    (!name[len] || ((name[len] == 'f' || name[len] == 'l') && !name[len + 1])))
			return true;
	}
	return false;
}

static int compare_text(const void *name, const void *row)
{
	return strcmp(name, *(const char *const *)row);
}

const char *external_name(LLVMValueRef function)
{
	size_t len;
	const char *name = LLVMGetValueName2(function, &len);

	return *name == '\1' ? name + 1 : name; /* an assembler name */
}

enum external external_kind(LLVMValueRef function)
{
	const char *name = external_name(function);
	const struct row *row = bsearch(name, exact, sizeof exact / sizeof *exact, sizeof *exact, compare_text);

	if (LLVMGetIntrinsicID(function))
		return EXTERNAL_INTRINSIC;
	if (row)
		return row->kind;
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		if (in_family(&families[i], name))
			return families[i].kind;
	for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
		if (!strncmp(name, beginnings[i].name, strlen(beginnings[i].name)))
			return beginnings[i].kind;
	if (is_math(name, math, sizeof math / sizeof *math))
		return EXTERNAL_HARMLESS;
	if (is_math(name, math_writes, sizeof math_writes / sizeof *math_writes))
		return EXTERNAL_USES;
	return bsearch(name, libc_names, sizeof libc_names / sizeof *libc_names, sizeof *libc_names, compare_text) ?
		       EXTERNAL_LIBC :
		       EXTERNAL_UNKNOWN;
}

bool external_asm_leaves(LLVMValueRef text_and_constraints)
{
	static const char *const ways[] = { "svc", "syscall", "call", "blr", "bl ", "bl\t" };
	size_t len;
	const char *text = LLVMGetInlineAsmAsmString(text_and_constraints, &len);

	for (size_t i = 0; len && i < sizeof ways / sizeof *ways; i++)
		if (strstr(text, ways[i]))
			return true;
	return false;
}

bool external_copies(LLVMValueRef function)
{
	static const char *const names[] = { "__memcpy_chk", "__memmove_chk", "__mempcpy_chk", "memccpy",
					     "memcpy",	     "memmove",	      "mempcpy" };
	const char *name = external_name(function);

	return bsearch(name, names, sizeof names / sizeof *names, sizeof *names, compare_text);
}

bool external_returns_twice(LLVMValueRef call)
{
	unsigned kind = LLVMGetEnumAttributeKindForName("returns_twice", 13);
	LLVMValueRef callee = LLVMGetCalledValue(call);

	return LLVMGetCallSiteEnumAttribute(call, LLVMAttributeFunctionIndex, kind) ||
	       (LLVMIsAFunction(callee) && LLVMGetEnumAttributeAtIndex(callee, LLVMAttributeFunctionIndex, kind));
}
