/* Calls that are answered as by a kernel which lacks or forbids them. Programs then fall back to others, or tell. */
// run: no-plain
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than some headers. */
#ifndef SYS_mseal
#define SYS_mseal 462
#endif

static const struct {
	const char *name;
	long nr;
	int error;
} calls[] = {
	{ "io_uring_setup", SYS_io_uring_setup, ENOSYS },
	{ "io_uring_enter", SYS_io_uring_enter, ENOSYS },
	{ "io_setup", SYS_io_setup, ENOSYS },
	{ "io_submit", SYS_io_submit, ENOSYS },
	{ "io_getevents", SYS_io_getevents, ENOSYS },
	{ "rseq", SYS_rseq, ENOSYS },
	{ "clone3", SYS_clone3, ENOSYS },
	{ "userfaultfd", SYS_userfaultfd, ENOSYS },
	{ "memfd_secret", 447, ENOSYS },
	{ "mseal", SYS_mseal, ENOSYS },
	{ "ptrace", SYS_ptrace, EPERM },
	{ "bpf", SYS_bpf, EPERM },
	{ "perf_event_open", SYS_perf_event_open, EPERM },
	{ "kexec_load", SYS_kexec_load, EPERM },
	{ "finit_module", SYS_finit_module, EPERM },
	{ "chroot", SYS_chroot, EPERM },
	{ "pivot_root", SYS_pivot_root, EPERM },
	{ "landlock_create_ruleset", SYS_landlock_create_ruleset, EOPNOTSUPP },
	{ "pkey_alloc", SYS_pkey_alloc, ENOSPC },
	{ "vmsplice", SYS_vmsplice, EINVAL },
};

int main(void)
{
	char room[256] = { 0 };
	int wrong = 0;

	for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
		long result = syscall(calls[i].nr, room, sizeof room, 0, 0);
		printf("%s: %ld %s\n", calls[i].name, result, strerror(errno));
		wrong += result != -1 || errno != calls[i].error;
	}
	return wrong;
}
