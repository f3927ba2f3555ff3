/*
 * Calls that fit nowhere else: the machine, usage, scheduling, names, keys.
 * What could go wrong: sizes (utsname has 390 bytes), results that are sizes
 * (sched_getaffinity), answers of the machine that replays.
 */
// run: varies
#include "check.h"
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/times.h>
#include <sys/utsname.h>

#define GUARDED(type, g)                 \
	struct {                         \
		type v;                  \
		unsigned char guard[64]; \
	} g;                             \
	memset(&g, 0x5a, sizeof g)

static void machine(void)
{
	GUARDED(struct utsname, u);
	CHECK(uname(&u.v) == 0 && u.guard[0] == 0x5a && u.guard[63] == 0x5a);
	say("%s %s %s %s %s", u.v.sysname, u.v.nodename, u.v.release, u.v.version, u.v.machine);
	GUARDED(struct sysinfo, i);
	CHECK(sysinfo(&i.v) == 0 && i.guard[0] == 0x5a);
	say("up %ld, load %lu, free %lu, processes %d", i.v.uptime, i.v.loads[0], i.v.freeram, i.v.procs);
	GUARDED(struct rusage, r);
	CHECK(getrusage(RUSAGE_SELF, &r.v) == 0 && r.guard[0] == 0x5a);
	say("used %ld us, %ld us, faults %ld, switches %ld", (long)r.v.ru_utime.tv_usec, (long)r.v.ru_stime.tv_usec,
	    r.v.ru_minflt, r.v.ru_nvcsw);
	FAILS(getrusage((__rusage_who_t)99, &r.v), EINVAL);
	GUARDED(struct tms, t);
	clock_t now = times(&t.v);
	CHECK(now != (clock_t)-1 && t.guard[0] == 0x5a);
	say("times %ld: %ld %ld %ld %ld", (long)now, (long)t.v.tms_utime, (long)t.v.tms_stime, (long)t.v.tms_cutime,
	    (long)t.v.tms_cstime);
	double load[3];
	CHECK(getloadavg(load, 3) == 3);
	say("load %f, processors %d of %d, pages %ld", load[0], get_nprocs(), get_nprocs_conf(),
	    sysconf(_SC_AVPHYS_PAGES));
	char host[65];
	CHECK(gethostname(host, sizeof host) == 0);
	say("host %s", host);
}

static void scheduling(void)
{
	unsigned cpu = 99, node = 99;
	CHECK(syscall(SYS_getcpu, &cpu, &node, (void *)0) == 0 && cpu != 99 && node != 99);
	CHECK(syscall(SYS_getcpu, (void *)0, (void *)0, (void *)0) == 0);
	say("cpu %u node %u", cpu, node);
	unsigned char mask[1024];
	memset(mask, 0x5a, sizeof mask);
	long n = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
	CHECK(n >= 8 && n <= 1024 && (n == 1024 || mask[n] == 0x5a));
	say_bytes("affinity", mask, (size_t)n);
	CHECK(syscall(SYS_sched_setaffinity, 0, (size_t)n, mask) == 0);
	FAILS(syscall(SYS_sched_getaffinity, 0, 1ul, mask), EINVAL);
	CHECK(sched_yield() == 0);
	struct sched_param p = { .sched_priority = 99 };
	CHECK(sched_getparam(0, &p) == 0);
	say("policy %d priority %d, fifo %d to %d", sched_getscheduler(0), p.sched_priority,
	    sched_get_priority_min(SCHED_FIFO), sched_get_priority_max(SCHED_FIFO));
	CHECK(sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){ 0 }) == 0 &&
	      sched_getscheduler(0) == SCHED_BATCH);
	struct timespec slice;
	CHECK(sched_rr_get_interval(0, &slice) == 0);
	say("slice %ld ns", slice.tv_nsec);
	unsigned char attr[96];
	memset(attr, 0x5a, sizeof attr);
	CHECK(syscall(SYS_sched_getattr, 0, attr, 48u, 0u) == 0 && attr[48] == 0x5a);
	say_bytes("attributes", attr, 48);
}

static void names(void)
{
	char name[32];
	memset(name, 0x5a, sizeof name);
	CHECK(prctl(PR_GET_NAME, name) == 0 && name[16] == 0x5a);
	say("name %s", name);
	CHECK(prctl(PR_SET_NAME, "a name that is too long") == 0 && prctl(PR_GET_NAME, name) == 0);
	CHECK(!strcmp(name, "a name that is "));
	int v = -1;
	CHECK(prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && prctl(PR_GET_PDEATHSIG, &v) == 0 && v == SIGTERM);
	CHECK(prctl(PR_SET_PDEATHSIG, 0) == 0);
	v = -1;
	CHECK(prctl(PR_GET_CHILD_SUBREAPER, &v) == 0 && v == 0);
	say("dumpable %d, slack %d, no new privileges %d, keep %d", prctl(PR_GET_DUMPABLE), prctl(PR_GET_TIMERSLACK),
	    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), prctl(PR_GET_KEEPCAPS));
	CHECK(prctl(PR_SET_DUMPABLE, 0) == 0 && prctl(PR_GET_DUMPABLE) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0);
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	for (int i = 0; i < 41; i += 8)
		say("capability %d %d", i, prctl(PR_CAPBSET_READ, i));
}

static void keys(void)
{
	long ring = syscall(SYS_keyctl, 0 /* GET_KEYRING_ID */, -2 /* process */, 1);
	if (ring < 0) {
		skipped("keys");
		return;
	}
	long key = syscall(SYS_add_key, "user", "heddle", "secret", 6ul, ring);
	char b[64];
	memset(b, '.', sizeof b);
	if (key < 0) {
		skipped("add_key");
		return;
	}
	CHECK(syscall(SYS_keyctl, 11 /* READ */, key, b, sizeof b) == 6 && !memcmp(b, "secret.", 7));
	memset(b, '.', sizeof b);
	long n = syscall(SYS_keyctl, 6 /* DESCRIBE */, key, b, sizeof b);
	CHECK(n > 0 && n < (long)sizeof b);
	say("key %ld: %s", key, b);
}

int main(void)
{
	machine();
	scheduling();
	names();
	keys();
	say("membarrier %ld", syscall(SYS_membarrier, 0, 0, 0));
	FAILS(syscall(5000), ENOSYS);
	return done();
}
