/*
 * Every system call that Heddle knows, one row each.
 *
 * To add one, read its manual page and, for sizes, the kernel's source, and ask:
 *   1. What does the kernel read and write through the arguments? Each is one
 *      word in the row: STR IN OUT ... below. Use the kernel's struct (asm/,
 *      linux/), not libc's: they differ (sigset_t: 8 bytes, not 128).
 *   2. Does it write in every outcome that succeeds? If only in some, or only a
 *      part of the struct, say MAYBE: a plain OUT would copy bytes that nobody wrote.
 *   3. May it block? WAITS. Does it return a descriptor? NEW_FD. Send data? WRITES.
 *   4. What does replay do? Nearly always LOG: the result and the outputs come
 *      from the trace and nothing runs. Only what changes the process itself
 *      (its memory, its children, its signals) is SPECIAL or AGAIN.
 * If the layout depends on an argument, write a shape function (shapes.h).
 * If no word fits, say so with REFUSED and an error that callers know how to
 * handle, never with a row that is nearly right. Then add the call to a
 * program in tests/syscalls/. doc/adding-a-syscall.md tells it at length.
 *
 * This file is compiled twice: into the runtime, without libc, and into the
 * tool (HEDDLE_TOOL), which has no special functions.
 */
#include <asm/errno.h>
#include <asm/siginfo.h>
#include <asm/stat.h>
#include <asm/statfs.h>
#include <asm/unistd.h>
#include <linux/capability.h>
#include <linux/eventpoll.h>
#include <linux/fcntl.h>
#include <linux/mqueue.h>
#include <linux/resource.h>
#include <linux/sem.h>
#include <linux/signal.h>
#include <linux/stat.h>
#include <linux/sysinfo.h>
#include <linux/time.h>
#include <linux/time_types.h>
#include <linux/times.h>
#include <linux/timex.h>
#include <linux/uio.h>
#include <linux/utime.h>
#include <linux/utsname.h>

#include "describe.h"
#include "shapes.h"
#include "trace/format.h"

/* Calls newer than the headers of some machines; numbers from 424 on are the same everywhere. */
#ifndef __NR_cachestat
#define __NR_cachestat 451
#endif
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif
#ifndef __NR_map_shadow_stack
#define __NR_map_shadow_stack 453
#endif
#ifndef __NR_futex_wake
#define __NR_futex_wake	   454
#define __NR_futex_wait	   455
#define __NR_futex_requeue 456
#endif
#ifndef __NR_statmount
#define __NR_statmount 457
#define __NR_listmount 458
#endif
#ifndef __NR_lsm_get_self_attr
#define __NR_lsm_get_self_attr 459
#define __NR_lsm_set_self_attr 460
#define __NR_lsm_list_modules  461
#endif
#ifndef __NR_mseal
#define __NR_mseal 462
#endif
#ifndef __NR_setxattrat
#define __NR_setxattrat	   463
#define __NR_getxattrat	   464
#define __NR_listxattrat   465
#define __NR_removexattrat 466
#endif
#ifndef __NR_open_tree_attr
#define __NR_open_tree_attr 467
#endif
#ifndef __NR_file_getattr
#define __NR_file_getattr 468
#define __NR_file_setattr 469
#endif

/* clang-format off */
/* ---- words for what the kernel reads and writes --------------------------- */

#define STR(arg)	      { IN_STRING, arg, NO_ARG, 1 }
#define IN(arg, size)	      { IN_BYTES, arg, NO_ARG, size }
#define IN_MANY(arg, n, size) { IN_BYTES, arg, n, size }
#define IN_PARTS(arg, size, which) { IN_BYTES, arg, NO_ARG, size, which }
#define ADDRESS(arg, n)	      { IN_BYTES, arg, n, 1, PARTS_ADDRESS }
#define OUT(arg, size)	      { OUT_FIXED, arg, NO_ARG, size }
#define BYTES(arg, room)      { OUT_RESULT, arg, room, 1 } /* the result says how many */
#define ITEMS(arg, room, size) { OUT_RESULT, arg, room, size }
#define OUT_MANY(arg, n, size) { OUT_ARG, arg, n, size }
#define UP_TO(arg, length)    { OUT_LENGTH, arg, length, 1 }
#define LEFT(arg)	      { OUT_EINTR, arg, NO_ARG, TIMESPEC } /* of a sleep that was interrupted */
#define INOUT(arg, size)      { INOUT_FIXED, arg, NO_ARG, size }
/* Written in some outcomes only, or only in part: the program's bytes go in, and come back as
   the kernel left them, whatever the call returned. */
#define MAYBE(arg, size)	 { INOUT_FIXED, arg, NO_ARG, size }
#define MAYBE_MANY(arg, n, size) { INOUT_ARG, arg, n, size }

#define TIMESPEC   sizeof(struct __kernel_timespec)
#define TIMEVAL	   sizeof(struct timeval)
#define ITIMERSPEC sizeof(struct __kernel_itimerspec)
#define ITIMERVAL  sizeof(struct itimerval)
#define SIGSET	   8  /* the kernel's, not libc's */
#define SIGACTION  32 /* handler, flags, restorer, mask */
#define RLIMIT	   sizeof(struct rlimit64)
#define RUSAGE	   sizeof(struct rusage)
#define SIGINFO	   sizeof(siginfo_t)
#define SIGEVENT   sizeof(struct sigevent)
#define STAT	   sizeof(struct stat)
#define OFFSET	   8
#define INT	   4
#define WAITID_INFO 28 /* waitid stores the fields up to si_status one by one, and no more */
#define CAP_HEADER sizeof(struct __user_cap_header_struct)
#define CAP_DATA   (2 * sizeof(struct __user_cap_data_struct))

_Static_assert(sizeof(struct new_utsname) == 390 && sizeof(siginfo_t) == 128, "the kernel's");
_Static_assert(sizeof(struct rusage) == 144 && sizeof(struct rlimit64) == 16, "the kernel's");
_Static_assert(sizeof(struct sigevent) == 64 && sizeof(struct itimerval) == 32, "the kernel's");
_Static_assert(sizeof(struct sysinfo) == 112 && sizeof(struct statx) == 256, "the kernel's");
#ifdef __x86_64__
_Static_assert(sizeof(struct epoll_event) == 12 && STAT == 144, "packed there");
#else
_Static_assert(sizeof(struct epoll_event) == 16 && STAT == 128, "the generic ones");
#endif

/* ---- words for what happens with the call --------------------------------- */

#define WAITS	 SYS_WAITS
#define NEW_FD	 SYS_NEW_FD
#define WRITES	 SYS_WRITES
#define CHANGES	 SYS_CHANGES
#define NO_ORDER SYS_NO_ORDER

#define ROW(call, letters, ...) \
	[__NR_##call] = { .name = #call, .args = letters, .nargs = sizeof(letters) - 1, __VA_ARGS__ }
#define LOG(call, letters, fl, ...) \
	ROW(call, letters, .how = SYS_FROM_LOG, .flags = (fl), .io = { __VA_ARGS__ })
/* Carries a signal mask, to which argument `mask` points. */
#define LOG_MASK(call, letters, fl, mask, ...) \
	ROW(call, letters, .how = SYS_FROM_LOG, .flags = (fl) | SYS_MASK, .mask_arg = mask, .io = { __VA_ARGS__ })
/* Moves data to descriptor args[to] behind the program's back: refused for the original stdout and
   stderr, since what they get must pass through the log to be shown again. */
#define LOG_MOVES(call, letters, fl, to, ...) \
	ROW(call, letters, .how = SYS_FROM_LOG, .flags = (fl) | SYS_NOT_TO_SHOWN, .to_arg = to, .io = { __VA_ARGS__ })
#define LOG_SHAPE(call, letters, fl, fn) \
	ROW(call, letters, .how = SYS_FROM_LOG, .flags = (fl), .shape = fn)
#define LOG_SHAPE_MASK(call, letters, fl, mask, fn) \
	ROW(call, letters, .how = SYS_FROM_LOG, .flags = (fl) | SYS_MASK, .mask_arg = mask, .shape = fn)
#define AGAIN(call, letters, fl, ...) \
	ROW(call, letters, .how = SYS_RUN_AGAIN, .flags = (fl), .io = { __VA_ARGS__ })
#define REFUSED(call, letters, error) \
	ROW(call, letters, .how = SYS_REFUSED, .refuse_errno = (error))
#define REFUSED_TOLD(call, letters, error, what) \
	ROW(call, letters, .how = SYS_REFUSED, .refuse_errno = (error), .tells = (what))

#ifdef HEDDLE_TOOL
#define OWNER(fn) 0
#else
#define OWNER(fn) fn
#include "special/special.h"
#endif

#define SPECIAL(call, letters, fl, fn, ...) \
	ROW(call, letters, .how = SYS_SPECIAL, .flags = (fl), .special = OWNER(fn), .io = { __VA_ARGS__ })
#define SPECIAL_MASK(call, letters, fl, mask, fn, ...) \
	ROW(call, letters, .how = SYS_SPECIAL, .flags = (fl) | SYS_MASK, .mask_arg = mask, .special = OWNER(fn), \
	    .io = { __VA_ARGS__ })
#define SPECIAL_SHAPE(call, letters, fl, fn, shape_fn) \
	ROW(call, letters, .how = SYS_SPECIAL, .flags = (fl), .special = OWNER(fn), .shape = shape_fn)

const struct sys_row sys_table[] = {
	/* ---- data in and out of descriptors ---- */
	LOG(read,		"fpu",	  WAITS,		BYTES(1, 2)),
	LOG(pread64,		"fpud",	  WAITS,		BYTES(1, 2)),
	LOG(readv,		"fpu",	  WAITS,		{ OUT_IOV, 1, 2, 1 }),
	LOG(preadv,		"fpudd",  WAITS,		{ OUT_IOV, 1, 2, 1 }),
	LOG(preadv2,		"fpuddx", WAITS,		{ OUT_IOV, 1, 2, 1 }),
	LOG(write,		"fpu",	  WAITS | WRITES,	IN_MANY(1, 2, 1)),
	LOG(pwrite64,		"fpud",	  WAITS | WRITES,	IN_MANY(1, 2, 1)),
	LOG(writev,		"fpu",	  WAITS | WRITES,	{ IN_IOV, 1, 2, 1 }),
	LOG(pwritev,		"fpudd",  WAITS | WRITES,	{ IN_IOV, 1, 2, 1 }),
	LOG(pwritev2,		"fpuddx", WAITS | WRITES,	{ IN_IOV, 1, 2, 1 }),
	LOG(lseek,		"fdd",	  0),
	LOG(readahead,		"fdu",	  WAITS),
	LOG(fadvise64,		"fdud",	  0),
	LOG(fsync,		"f",	  WAITS),
	LOG(fdatasync,		"f",	  WAITS),
	LOG(sync,		"",	  WAITS),
	LOG(syncfs,		"f",	  WAITS),
	LOG(sync_file_range,	"fddx",	  WAITS),
	LOG(fallocate,		"fxdd",	  WAITS | CHANGES),
	LOG(ftruncate,		"fd",	  WAITS | CHANGES),
	LOG(truncate,		"sd",	  WAITS,		STR(0)),
	LOG(flock,		"fx",	  WAITS),
	SPECIAL_SHAPE(fcntl,	"fdx",	  WAITS, special_fcntl, shape_fcntl),
	LOG_SHAPE(ioctl,	"fxx",	  WAITS, shape_ioctl),
	LOG_MOVES(splice,	"fpfpux", WAITS, 2,		INOUT(1, OFFSET), INOUT(3, OFFSET)),
	LOG_MOVES(tee,		"ffux",	  WAITS, 1),
	LOG_MOVES(copy_file_range, "fpfpux", WAITS, 2,		INOUT(1, OFFSET), INOUT(3, OFFSET)),
	LOG_MOVES(sendfile,	"ffpu",	  WAITS, 0,		INOUT(2, OFFSET)),
	/* The pipe keeps pointing to the pages, and the direction depends on the descriptor. Callers
	   fall back to write. */
	REFUSED(vmsplice,	"fpux",	  EINVAL),

	/* ---- descriptors ---- */
	SPECIAL(openat,		"fsxo",	  WAITS | NEW_FD, special_open, STR(1)),
	SPECIAL(openat2,	"fspu",	  WAITS | NEW_FD, special_open, STR(1), IN_MANY(2, 3, 1)),
	SPECIAL(close,		"f",	  WAITS, special_close),
	SPECIAL(close_range,	"uux",	  0, special_close_range),
	SPECIAL(dup,		"f",	  NEW_FD, special_dup),
	SPECIAL(dup3,		"ffx",	  NEW_FD, special_dup),
	LOG(pipe2,		"px",	  0,			OUT(0, 2 * INT)),
	LOG(memfd_create,	"sx",	  NEW_FD,		STR(0)),
	LOG(eventfd2,		"ux",	  NEW_FD),
	LOG(timerfd_create,	"dx",	  NEW_FD),
	LOG(timerfd_settime,	"fxpp",	  0,			IN(2, ITIMERSPEC), OUT(3, ITIMERSPEC)),
	LOG(timerfd_gettime,	"fp",	  0,			OUT(1, ITIMERSPEC)),
	LOG(signalfd4,		"fpux",	  NEW_FD,		IN_MANY(1, 2, 1)),
	LOG(inotify_init1,	"x",	  NEW_FD),
	LOG(inotify_add_watch,	"fsx",	  0,			STR(1)),
	LOG(inotify_rm_watch,	"fd",	  0),
	LOG(fanotify_init,	"xx",	  NEW_FD),
	LOG(fanotify_mark,	"fxxfs",  0,			STR(4)),
	LOG(pidfd_open,		"dx",	  NEW_FD),
	LOG(pidfd_getfd,	"ffx",	  NEW_FD),
	LOG(pidfd_send_signal,	"fgpx",	  0,			IN(2, SIGINFO)),
	LOG(kcmp,		"dddxx",  0),

	/* ---- waiting for descriptors ---- */
	LOG_SHAPE_MASK(ppoll,	"pupp",	  WAITS, 3, shape_ppoll),
	LOG_SHAPE_MASK(pselect6, "dppppp", WAITS, 5, shape_pselect6),
	LOG(epoll_create1,	"x",	  NEW_FD),
	LOG(epoll_ctl,		"fdfp",	  0,			IN_PARTS(3, sizeof(struct epoll_event), PARTS_EPOLL)),
	LOG_MASK(epoll_pwait,	"fpddp",  WAITS, 4,		ITEMS(1, 2, sizeof(struct epoll_event))),
	LOG_MASK(epoll_pwait2,	"fpdpp",  WAITS, 4,		ITEMS(1, 2, sizeof(struct epoll_event)),
								IN(3, TIMESPEC)),

	/* ---- files by name ---- */
	LOG(newfstatat,		"fspx",	  0,			STR(1), OUT(2, STAT)),
	LOG(fstat,		"fp",	  0,			OUT(1, STAT)),
	LOG(statx,		"fsxxp",  0,			STR(1), OUT(4, sizeof(struct statx))),
	LOG(statfs,		"sp",	  0,			STR(0), OUT(1, sizeof(struct statfs))),
	LOG(fstatfs,		"fp",	  0,			OUT(1, sizeof(struct statfs))),
	LOG(faccessat,		"fsx",	  0,			STR(1)),
	LOG(faccessat2,		"fsxx",	  0,			STR(1)),
	LOG(fchmod,		"fo",	  0),
	LOG(fchmodat,		"fso",	  0,			STR(1)),
	LOG(fchmodat2,		"fsox",	  0,			STR(1)),
	LOG(fchown,		"fdd",	  0),
	LOG(fchownat,		"fsddx",  0,			STR(1)),
	LOG(utimensat,		"fspx",	  0,			STR(1), IN(2, 2 * TIMESPEC)),
	LOG(mkdirat,		"fso",	  0,			STR(1)),
	LOG(mknodat,		"fsou",	  0,			STR(1)),
	LOG(unlinkat,		"fsx",	  0,			STR(1)),
	LOG(symlinkat,		"sfs",	  0,			STR(0), STR(2)),
	LOG(linkat,		"fsfsx",  0,			STR(1), STR(3)),
	LOG(renameat2,		"fsfsx",  0,			STR(1), STR(3)),
	SPECIAL(readlinkat,	"fspu",	  0, special_readlink,	STR(1), BYTES(2, 3)),
	LOG(getdents64,		"fpu",	  0,			BYTES(1, 2)),
	LOG(getcwd,		"pu",	  0,			BYTES(0, 1)),
	LOG(chdir,		"s",	  0,			STR(0)),
	LOG(fchdir,		"f",	  0),
	/* behind another root neither the recording nor the loader of the next program can be reached */
	REFUSED_TOLD(chroot,	"s",	  EPERM, OWN_ROOT),
	LOG(umask,		"o",	  0),
	LOG(cachestat,		"fppx",	  0,			IN(1, 16), OUT(2, 40)),
	LOG(file_getattr,	"fspux",  0,			STR(1), MAYBE_MANY(2, 3, 1)),
	LOG(file_setattr,	"fspux",  0,			STR(1), IN_MANY(2, 3, 1)),
	/* The handle's size lies in the handle. Callers must be ready for this answer, which most
	   file systems in containers give. */
	REFUSED(name_to_handle_at, "fsppx", EOPNOTSUPP),
	REFUSED(open_by_handle_at, "fpx", EPERM),

	/* With room 0 the result is the size, and nothing is written. */
	LOG(setxattr,		"sspux",  0,			STR(0), STR(1), IN_MANY(2, 3, 1)),
	LOG(lsetxattr,		"sspux",  0,			STR(0), STR(1), IN_MANY(2, 3, 1)),
	LOG(fsetxattr,		"fspux",  0,			STR(1), IN_MANY(2, 3, 1)),
	LOG(getxattr,		"sspu",	  0,			STR(0), STR(1), BYTES(2, 3)),
	LOG(lgetxattr,		"sspu",	  0,			STR(0), STR(1), BYTES(2, 3)),
	LOG(fgetxattr,		"fspu",	  0,			STR(1), BYTES(2, 3)),
	LOG(listxattr,		"spu",	  0,			STR(0), BYTES(1, 2)),
	LOG(llistxattr,		"spu",	  0,			STR(0), BYTES(1, 2)),
	LOG(flistxattr,		"fpu",	  0,			BYTES(1, 2)),
	LOG(removexattr,	"ss",	  0,			STR(0), STR(1)),
	LOG(lremovexattr,	"ss",	  0,			STR(0), STR(1)),
	LOG(fremovexattr,	"fs",	  0,			STR(1)),
	LOG(listxattrat,	"fsxpu",  0,			STR(1), BYTES(3, 4)),
	LOG(removexattrat,	"fsxs",	  0,			STR(1), STR(3)),
	REFUSED(setxattrat,	"fsxspu", ENOSYS), /* the struct holds a pointer; the older calls do the same */
	REFUSED(getxattrat,	"fsxspu", ENOSYS),

	/* ---- mounts, name spaces: no output but the result ---- */
	LOG(mount,		"sssxp",  WAITS,		STR(0), STR(1), STR(2)),
	LOG(umount2,		"sx",	  WAITS,		STR(0)),
	REFUSED_TOLD(pivot_root, "ss",	  EPERM, OWN_ROOT),
	LOG(open_tree,		"fsx",	  NEW_FD,		STR(1)),
	LOG(move_mount,		"fsfsx",  0,			STR(1), STR(3)),
	LOG(fsopen,		"sx",	  NEW_FD,		STR(0)),
	LOG_SHAPE(fsconfig,	"fusxd",  WAITS, shape_fsconfig),
	LOG(fsmount,		"fxx",	  NEW_FD),
	LOG(fspick,		"fsx",	  NEW_FD,		STR(1)),
	LOG(mount_setattr,	"fsxpu",  0,			STR(1), IN_MANY(3, 4, 1)),
	LOG(statmount,		"ppux",	  0,			IN(0, 24), MAYBE_MANY(1, 2, 1)),
	LOG(listmount,		"ppux",	  0,			IN(0, 24), ITEMS(1, 2, 8)),
	LOG(unshare,		"x",	  0),
	LOG(setns,		"fx",	  0),
	REFUSED(open_tree_attr,	"fsxpu",  ENOSYS), /* open_tree and mount_setattr do the same */

	/* ---- memory ---- */
	SPECIAL(mmap,		"puxxfu", SYS_SPACE, special_mmap),
	SPECIAL(munmap,		"pu",	  SYS_SPACE, special_munmap),
	SPECIAL(mremap,		"puuxp",  SYS_SPACE, special_mremap),
	SPECIAL(mprotect,	"pux",	  SYS_SPACE, special_mprotect),
	SPECIAL(madvise,	"pud",	  SYS_SPACE, special_madvise),
	SPECIAL(brk,		"p",	  SYS_SPACE, special_brk),
	LOG(msync,		"pux",	  WAITS),
	LOG(mlock,		"pu",	  0), /* where memory lies does not show in what it holds */
	LOG(mlock2,		"pux",	  0),
	LOG(munlock,		"pu",	  0),
	SPECIAL(mlockall,	"x",	  0, special_mlockall),
	SPECIAL(munlockall,	"",	  0, special_mlockall),
	LOG_SHAPE(mincore,	"pup",	  0, shape_mincore),
	LOG(membarrier,		"dxd",	  0), /* recorded accesses are ordered anyway */
	LOG(mbind,		"puxpux", 0),
	LOG(set_mempolicy,	"xpu",	  0),
	LOG(set_mempolicy_home_node, "puux", 0),
	LOG_SHAPE(get_mempolicy, "ppupx", 0, shape_get_mempolicy),
	LOG(migrate_pages,	"dupp",	  0),
	LOG(move_pages,		"dupppx", 0,			IN_MANY(2, 1, 8), IN_MANY(3, 1, INT),
								OUT_MANY(4, 1, INT)),
	/* pkey_alloc's own answer on machines without keys; without a key the others have no use. */
	REFUSED(pkey_alloc,	"xx",	  ENOSPC),
	REFUSED(pkey_free,	"d",	  EINVAL),
	REFUSED(pkey_mprotect,	"puxd",	  EINVAL),
	REFUSED(remap_file_pages, "puxux", ENOSYS), /* obsolete: mmap does the same */
	REFUSED(mseal,		"pux",	  ENOSYS),  /* replay must be able to map again */
	REFUSED(memfd_secret,	"x",	  ENOSYS),
	REFUSED(userfaultfd,	"x",	  ENOSYS),  /* pages would be filled behind the log */
	REFUSED(map_shadow_stack, "pux",  ENOSYS),
	REFUSED(process_madvise, "fpuxx", EPERM),   /* could change the pages of any process */

	/* ---- processes ---- */
	SPECIAL(clone,		"xpppp",  0, special_clone),
	SPECIAL(clone3,		"pu",	  0, special_clone3),
	SPECIAL(execve,		"spp",	  0, special_exec,	STR(0)),
	SPECIAL(execveat,	"fsppx",  0, special_execveat,	STR(1)),
	SPECIAL(exit,		"d",	  0, special_exit),
	SPECIAL(exit_group,	"d",	  0, special_exit_group),
	/* Nothing is stored when the result is 0 (WNOHANG). */
	LOG(wait4,		"dpxp",	  WAITS,		MAYBE(1, INT), MAYBE(3, RUSAGE)),
	/* siginfo is cleared even by a call that fails; rusage is stored only with a child. */
	LOG(waitid,		"ddpxp",  WAITS,		MAYBE(2, WAITID_INFO), MAYBE(4, RUSAGE)),
	SPECIAL(set_tid_address, "p",	  0, special_set_tid_address),
	LOG(set_robust_list,	"pu",	  0),
	LOG(get_robust_list,	"dpp",	  0,			OUT(1, 8), OUT(2, 8)),
	SPECIAL_SHAPE(futex,	"pduxpu", WAITS, special_futex, shape_futex),
	SPECIAL_SHAPE(prctl,	"dxxxx",  0, special_prctl, shape_prctl),
	SPECIAL(personality,	"x",	  0, special_personality),
	SPECIAL_SHAPE(seccomp,	"uxp",	  0, special_seccomp, shape_seccomp),
	LOG(process_vm_readv,	"dpupux", 0,			{ OUT_IOV, 1, 2, 1 }, IN_MANY(3, 4, 16)),
	LOG(process_vm_writev,	"dpupux", 0,			{ IN_IOV, 1, 2, 1 }, IN_MANY(3, 4, 16)),
	LOG(process_mrelease,	"fx",	  0),
	/* The kernel puts this in place of an interrupted sleep; a program's own call gets EINTR. */
	REFUSED(restart_syscall, "",	  EINTR),
	/* Newer forms of futex: every caller falls back to futex. */
	REFUSED(futex_waitv,	"puxpd",  ENOSYS),
	REFUSED(futex_wake,	"pxdx",	  ENOSYS),
	REFUSED(futex_wait,	"pxxxpd", ENOSYS),
	REFUSED(futex_requeue,	"pxdd",	  ENOSYS),
	REFUSED(rseq,		"puxx",	  ENOSYS), /* the kernel would write to it at every switch */
	REFUSED(ptrace,		"ddpp",	  EPERM),  /* a debugger's view changes under the log */

	/* ---- identity and limits ---- */
	LOG(getpid,		"",	  NO_ORDER), /* nobody can change it */
	LOG(gettid,		"",	  NO_ORDER), /* nobody can change it */
	LOG(getppid,		"",	  0),
	LOG(getpgid,		"d",	  0),
	LOG(setpgid,		"dd",	  0),
	LOG(getsid,		"d",	  0),
	LOG(setsid,		"",	  0),
	LOG(getuid,		"",	  0),
	LOG(geteuid,		"",	  0),
	LOG(getgid,		"",	  0),
	LOG(getegid,		"",	  0),
	LOG(getresuid,		"ppp",	  0,			OUT(0, INT), OUT(1, INT), OUT(2, INT)),
	LOG(getresgid,		"ppp",	  0,			OUT(0, INT), OUT(1, INT), OUT(2, INT)),
	LOG(setuid,		"d",	  0),
	LOG(setgid,		"d",	  0),
	LOG(setreuid,		"dd",	  0),
	LOG(setregid,		"dd",	  0),
	LOG(setresuid,		"ddd",	  0),
	LOG(setresgid,		"ddd",	  0),
	LOG(setfsuid,		"d",	  0),
	LOG(setfsgid,		"d",	  0),
	LOG(getgroups,		"dp",	  0,			ITEMS(1, 0, INT)),
	LOG(setgroups,		"dp",	  0,			IN_MANY(1, 0, INT)),
	/* The version decides between one and two data structs, and is stored when it is unknown. */
	LOG(capget,		"pp",	  0,			MAYBE(0, CAP_HEADER), MAYBE(1, CAP_DATA)),
	LOG(capset,		"pp",	  0,			MAYBE(0, CAP_HEADER), IN(1, CAP_DATA)),
	LOG(getrlimit,		"dp",	  0,			OUT(1, RLIMIT)),
	SPECIAL(setrlimit,	"dp",	  0, special_rlimit,	IN(1, RLIMIT)),
	SPECIAL(prlimit64,	"ddpp",	  0, special_rlimit,	IN(2, RLIMIT), OUT(3, RLIMIT)),
	LOG(getrusage,		"dp",	  0,			OUT(1, RUSAGE)),
	LOG(getpriority,	"dd",	  0),
	LOG(setpriority,	"ddd",	  0),
	LOG(ioprio_get,		"dd",	  0),
	LOG(ioprio_set,		"ddx",	  0),
	LOG(uname,		"p",	  0,			OUT(0, sizeof(struct new_utsname))),
	LOG(sethostname,	"pu",	  0,			IN_MANY(0, 1, 1)),
	LOG(setdomainname,	"pu",	  0,			IN_MANY(0, 1, 1)),
	LOG(sysinfo,		"p",	  0,			OUT(0, sizeof(struct sysinfo))),
	LOG_SHAPE(syslog,	"dpd",	  WAITS, shape_syslog),
	LOG(getrandom,		"pux",	  WAITS,		BYTES(0, 1)),
	LOG(add_key,		"sspud",  0,			STR(0), STR(1), IN_MANY(2, 3, 1)),
	LOG(request_key,	"sssd",	  WAITS,		STR(0), STR(1), STR(2)),
	LOG_SHAPE(keyctl,	"dxxxx",  WAITS, shape_keyctl),
	LOG(vhangup,		"",	  0),

	/* ---- scheduling ---- */
	LOG(sched_yield,	"",	  0),
	LOG(sched_getaffinity,	"dup",	  0,			BYTES(2, 1)),
	LOG(sched_setaffinity,	"dup",	  0,			IN_MANY(2, 1, 1)),
	LOG(sched_getscheduler,	"d",	  0),
	LOG(sched_setscheduler,	"ddp",	  0,			IN(2, INT)),
	LOG(sched_getparam,	"dp",	  0,			OUT(1, INT)),
	LOG(sched_setparam,	"dp",	  0,			IN(1, INT)),
	LOG(sched_getattr,	"dpux",	  0,			MAYBE_MANY(1, 2, 1)),
	LOG(sched_setattr,	"dpx",	  0,			IN(1, 48)), /* its first version */
	LOG(sched_get_priority_max, "d",  0),
	LOG(sched_get_priority_min, "d",  0),
	LOG(sched_rr_get_interval, "dp",  0,			OUT(1, TIMESPEC)),
	LOG(getcpu,		"ppp",	  0,			OUT(0, INT), OUT(1, INT)),

	/* ---- time: flows by itself, no thread can hand anything to another through it ---- */
	LOG(clock_gettime,	"dp",	  NO_ORDER,		OUT(1, TIMESPEC)),
	LOG(clock_getres,	"dp",	  NO_ORDER,		OUT(1, TIMESPEC)),
	LOG(gettimeofday,	"pp",	  NO_ORDER,		OUT(0, TIMEVAL), OUT(1, 8)),
	LOG(times,		"p",	  0,			OUT(0, sizeof(struct tms))),
	LOG(clock_settime,	"dp",	  0,			IN(1, TIMESPEC)),
	LOG(settimeofday,	"pp",	  0,			IN(0, TIMEVAL), IN(1, 8)),
	LOG(adjtimex,		"p",	  0,			INOUT(0, sizeof(struct __kernel_timex))),
	LOG(clock_adjtime,	"dp",	  0,			INOUT(1, sizeof(struct __kernel_timex))),
	LOG(nanosleep,		"pp",	  WAITS,		IN(0, TIMESPEC), LEFT(1)),
	LOG_SHAPE(clock_nanosleep, "dxpp", WAITS, shape_clock_nanosleep),
	LOG(getitimer,		"dp",	  0,			OUT(1, ITIMERVAL)),
	LOG(setitimer,		"dpp",	  0,			IN(1, ITIMERVAL), OUT(2, ITIMERVAL)),
	LOG(timer_create,	"dpp",	  0,			IN_PARTS(1, SIGEVENT, PARTS_SIGEVENT), OUT(2, INT)),
	LOG(timer_settime,	"dxpp",	  0,			IN(2, ITIMERSPEC), OUT(3, ITIMERSPEC)),
	LOG(timer_gettime,	"dp",	  0,			OUT(1, ITIMERSPEC)),
	LOG(timer_getoverrun,	"d",	  0),
	LOG(timer_delete,	"d",	  0),

	/* ---- signals: those they raise come from the log, as entries of their own ---- */
	SPECIAL(rt_sigaction,	"gppu",	  0, special_rt_sigaction,   IN(1, SIGACTION), OUT(2, SIGACTION)),
	SPECIAL(rt_sigprocmask,	"dppu",	  0, special_rt_sigprocmask, IN(1, SIGSET), OUT(2, SIGSET)),
	SPECIAL(rt_sigreturn,	"",	  0, special_rt_sigreturn),
	SPECIAL(sigaltstack,	"pp",	  0, special_sigaltstack,    IN(0, 24), OUT(1, 24)),
	SPECIAL_MASK(rt_sigsuspend, "pu", WAITS, 0, special_rt_sigsuspend),
	LOG(rt_sigpending,	"pu",	  0,			OUT_MANY(0, 1, 1)),
	LOG(rt_sigtimedwait,	"pppu",	  WAITS,		IN(0, SIGSET), OUT(1, SIGINFO), IN(2, TIMESPEC)),
	LOG(kill,		"dg",	  0),
	LOG(tkill,		"dg",	  0),
	LOG(tgkill,		"ddg",	  0),
	LOG(rt_sigqueueinfo,	"dgp",	  0,			IN(2, SIGINFO)),
	LOG(rt_tgsigqueueinfo,	"ddgp",	  0,			IN(3, SIGINFO)),

	/* ---- sockets ---- */
	LOG(socket,		"ddd",	  NEW_FD),
	LOG(socketpair,		"dddp",	  0,			OUT(3, 2 * INT)),
	LOG(bind,		"fpu",	  0,			ADDRESS(1, 2)),
	LOG(listen,		"fd",	  0),
	LOG(accept,		"fpp",	  WAITS | NEW_FD,	UP_TO(1, 2)),
	LOG(accept4,		"fppx",	  WAITS | NEW_FD,	UP_TO(1, 2)),
	LOG(connect,		"fpu",	  WAITS,		ADDRESS(1, 2)),
	LOG(getsockname,	"fpp",	  0,			UP_TO(1, 2)),
	LOG(getpeername,	"fpp",	  0,			UP_TO(1, 2)),
	LOG(sendto,		"fpuxpu", WAITS | WRITES,	IN_MANY(1, 2, 1), ADDRESS(4, 5)),
	/* With MSG_TRUNC the result is larger than the room; the room limits what is copied. */
	LOG(recvfrom,		"fpuxpp", WAITS,		BYTES(1, 2), UP_TO(4, 5)),
	LOG(sendmsg,		"fpx",	  WAITS | WRITES,	{ IN_MSG, 1, NO_ARG, 1 }),
	LOG(recvmsg,		"fpx",	  WAITS,		{ OUT_MSG, 1, NO_ARG, 1 }),
	/* No rule describes arrays of messages. glibc's resolver, the usual caller, goes on with send and recv. */
	REFUSED(sendmmsg,	"fpux",	  ENOSYS),
	REFUSED(recvmmsg,	"fpuxp",  ENOSYS),
	SPECIAL(setsockopt,	"fddpu",  0, special_setsockopt, IN_MANY(3, 4, 1)),
	LOG(getsockopt,		"fddpp",  0,			UP_TO(3, 4)),
	LOG(shutdown,		"fd",	  0),

	/* ---- System V and POSIX queues ---- */
	LOG(semget,		"xdx",	  0),
	LOG_SHAPE(semctl,	"dddx",	  0, shape_semctl),
	LOG(semop,		"dpu",	  WAITS,		IN_MANY(1, 2, sizeof(struct sembuf))),
	LOG(semtimedop,		"dpup",	  WAITS,		IN_MANY(1, 2, sizeof(struct sembuf)), IN(3, TIMESPEC)),
	LOG(msgget,		"xx",	  0),
	LOG_SHAPE(msgctl,	"ddp",	  0, shape_msgctl),
	LOG_SHAPE(msgsnd,	"dpux",	  WAITS, shape_msgsnd),
	LOG_SHAPE(msgrcv,	"dpudx",  WAITS, shape_msgrcv),
	LOG(shmget,		"xux",	  0),
	LOG_SHAPE(shmctl,	"ddp",	  0, shape_shmctl),
	SPECIAL(shmat,		"dpx",	  SYS_SPACE, special_shmat),
	SPECIAL(shmdt,		"p",	  SYS_SPACE, special_shmdt),
	LOG(mq_open,		"sxop",	  NEW_FD,		STR(0), IN(3, sizeof(struct mq_attr))),
	LOG(mq_unlink,		"s",	  0,			STR(0)),
	LOG(mq_timedsend,	"fpuup",  WAITS,		IN_MANY(1, 2, 1), IN(4, TIMESPEC)),
	LOG(mq_timedreceive,	"fpupp",  WAITS,		BYTES(1, 2), OUT(3, INT), IN(4, TIMESPEC)),
	LOG(mq_notify,		"fp",	  0,			IN_PARTS(1, SIGEVENT, PARTS_SIGEVENT)),
	LOG(mq_getsetattr,	"fpp",	  0,			IN(1, sizeof(struct mq_attr)), OUT(2, sizeof(struct mq_attr))),

	/* ---- not for a recorded program ---- */
	/* Results would appear in its memory while it runs. Everybody has a fallback. */
	REFUSED(io_setup,	"up",	  ENOSYS),
	REFUSED(io_destroy,	"p",	  ENOSYS),
	REFUSED(io_submit,	"pup",	  ENOSYS),
	REFUSED(io_cancel,	"ppp",	  ENOSYS),
	REFUSED(io_getevents,	"pddpp",  ENOSYS),
	REFUSED(io_pgetevents,	"pddppp", ENOSYS),
	REFUSED(io_uring_setup,	"up",	  ENOSYS),
	REFUSED(io_uring_enter,	"fuuxpu", ENOSYS),
	REFUSED(io_uring_register, "fupu", ENOSYS),
	REFUSED(perf_event_open, "pddfx", EPERM),
	REFUSED(bpf,		"dpu",	  EPERM),
	/* A sandbox would lock our runtime out of the trace. The answer of kernels booted without it. */
	REFUSED(landlock_create_ruleset, "pux", EOPNOTSUPP),
	REFUSED(landlock_add_rule, "fxpx", EOPNOTSUPP),
	REFUSED(landlock_restrict_self, "fx", EOPNOTSUPP),
	REFUSED(lsm_get_self_attr, "uppx", ENOSYS), /* new; /proc/self/attr says the same */
	REFUSED(lsm_set_self_attr, "upux", ENOSYS),
	REFUSED(lsm_list_modules, "ppx",  ENOSYS),
	/* What changes the machine: the answer that an ordinary user gets. */
	REFUSED(acct,		"s",	  EPERM),
	REFUSED(delete_module,	"sx",	  EPERM),
	REFUSED(finit_module,	"fsx",	  EPERM),
	REFUSED(init_module,	"pus",	  EPERM),
	REFUSED(kexec_file_load, "ffusx", EPERM),
	REFUSED(kexec_load,	"pupx",	  EPERM),
	REFUSED(quotactl,	"xsdp",	  EPERM),
	REFUSED(quotactl_fd,	"fxdp",	  EPERM),
	REFUSED(reboot,		"xxxp",	  EPERM),
	REFUSED(swapon,		"sx",	  EPERM),
	REFUSED(swapoff,	"s",	  EPERM),
	/* What the kernel itself no longer has. */
	REFUSED(lookup_dcookie,	"xpu",	  ENOSYS),
	REFUSED(nfsservctl,	"",	  ENOSYS),

	/* ---- older forms; aarch64 has none of them but renameat ---- */
#ifdef __NR_renameat
	LOG(renameat,		"fsfs",	  0,			STR(1), STR(3)),
#endif
#ifdef __x86_64__
	SPECIAL(open,		"sxo",	  WAITS | NEW_FD, special_open, STR(0)),
	SPECIAL(creat,		"so",	  WAITS | NEW_FD, special_open, STR(0)),
	SPECIAL(dup2,		"ff",	  NEW_FD, special_dup),
	SPECIAL(readlink,	"spu",	  0, special_readlink,	STR(0), BYTES(1, 2)),
	SPECIAL(fork,		"",	  0, special_clone),
	SPECIAL(vfork,		"",	  0, special_clone),
	SPECIAL(pause,		"",	  WAITS, special_pause),
	SPECIAL_SHAPE(arch_prctl, "xx",	  0, special_arch_prctl, shape_arch_prctl),
	LOG(stat,		"sp",	  0,			STR(0), OUT(1, STAT)),
	LOG(lstat,		"sp",	  0,			STR(0), OUT(1, STAT)),
	LOG(access,		"sx",	  0,			STR(0)),
	LOG(chmod,		"so",	  0,			STR(0)),
	LOG(chown,		"sdd",	  0,			STR(0)),
	LOG(lchown,		"sdd",	  0,			STR(0)),
	LOG(mkdir,		"so",	  0,			STR(0)),
	LOG(rmdir,		"s",	  0,			STR(0)),
	LOG(mknod,		"sou",	  0,			STR(0)),
	LOG(unlink,		"s",	  0,			STR(0)),
	LOG(link,		"ss",	  0,			STR(0), STR(1)),
	LOG(symlink,		"ss",	  0,			STR(0), STR(1)),
	LOG(rename,		"ss",	  0,			STR(0), STR(1)),
	LOG(utime,		"sp",	  0,			STR(0), IN(1, sizeof(struct utimbuf))),
	LOG(utimes,		"sp",	  0,			STR(0), IN(1, 2 * TIMEVAL)),
	LOG(futimesat,		"fsp",	  0,			STR(1), IN(2, 2 * TIMEVAL)),
	LOG(getdents,		"fpu",	  0,			BYTES(1, 2)),
	LOG(pipe,		"p",	  0,			OUT(0, 2 * INT)),
	LOG(eventfd,		"u",	  NEW_FD),
	LOG(signalfd,		"fpu",	  NEW_FD,		IN_MANY(1, 2, 1)),
	LOG(inotify_init,	"",	  NEW_FD),
	LOG(epoll_create,	"d",	  NEW_FD),
	LOG(epoll_wait,		"fpdd",	  WAITS,		ITEMS(1, 2, sizeof(struct epoll_event))),
	LOG_SHAPE(poll,		"pud",	  WAITS, shape_poll),
	LOG_SHAPE(select,	"dpppp",  WAITS, shape_select),
	LOG(getpgrp,		"",	  0),
	LOG(alarm,		"u",	  0),
	LOG(time,		"p",	  NO_ORDER,		OUT(0, 8)), /* as clock_gettime */
	LOG(ustat,		"up",	  0,			OUT(1, 32)),
	REFUSED(iopl,		"d",	  EPERM),
	REFUSED(ioperm,		"uud",	  EPERM),
	REFUSED(modify_ldt,	"dpu",	  ENOSYS),
	REFUSED(sysfs,		"dxx",	  EINVAL), /* obsolete: writes a string of unknown length */
	REFUSED(uselib,		"s",	  ENOSYS),
	REFUSED(_sysctl,	"p",	  ENOSYS),
	REFUSED(create_module,	"",	  ENOSYS),
	REFUSED(get_kernel_syms, "",	  ENOSYS),
	REFUSED(query_module,	"",	  ENOSYS),
	REFUSED(getpmsg,	"",	  ENOSYS),
	REFUSED(putpmsg,	"",	  ENOSYS),
	REFUSED(afs_syscall,	"",	  ENOSYS),
	REFUSED(tuxcall,	"",	  ENOSYS),
	REFUSED(security,	"",	  ENOSYS),
	REFUSED(vserver,	"",	  ENOSYS),
	REFUSED(epoll_ctl_old,	"",	  ENOSYS),
	REFUSED(epoll_wait_old,	"",	  ENOSYS),
	REFUSED(set_thread_area, "p",	  ENOSYS),
	REFUSED(get_thread_area, "p",	  ENOSYS),
#endif
};
/* clang-format on */

const unsigned sys_table_len = sizeof(sys_table) / sizeof(sys_table[0]);

const struct sys_row *sys_find(unsigned nr)
{
	return nr < sys_table_len && sys_table[nr].how != SYS_UNKNOWN ? &sys_table[nr] : 0;
}
