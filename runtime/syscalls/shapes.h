/*
 * The calls whose layout depends on an argument.
 *
 * Each function fills io[IO_MAX], which comes cleared, without gaps, from the arguments alone
 * (it may not follow pointers: the tool calls it too, on recorded arguments)
 * and returns 0; -1 if it does not know this variant, so that recording stops
 * and names it; or an errno if this variant cannot be described and is refused
 * with that error, in record and replay alike.
 */
#ifndef SYSCALLS_SHAPES_H
#define SYSCALLS_SHAPES_H
#include "describe.h"

typedef int sys_shape(const uint64_t args[6], struct sys_io *io);

/* shape_ioctl.c */
sys_shape shape_ioctl;

/* shape_fcntl.c */
sys_shape shape_fcntl;

/* shape_prctl.c: options of the process itself */
sys_shape shape_prctl, shape_arch_prctl, shape_keyctl, shape_futex, shape_mincore, shape_get_mempolicy, shape_seccomp;

/* shape_wait.c: what waits for descriptors and for time */
sys_shape shape_poll, shape_ppoll, shape_select, shape_pselect6, shape_clock_nanosleep;

/* shape_ipc.c: System V, the kernel's log, mounts */
sys_shape shape_semctl, shape_msgctl, shape_shmctl, shape_msgsnd, shape_msgrcv, shape_syslog, shape_fsconfig;
#endif
