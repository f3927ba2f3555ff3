/*
 * Calls with a command and one buffer: System V IPC, syslog, fsconfig.
 */
#include <asm/errno.h>
#include <linux/msg.h>
#include <linux/sem.h>
#include <linux/shm.h>

#include "shapes.h"

#define COMMAND(x) ((uint32_t)(x) & ~0x100u)	   /* without IPC_64, which 64-bit kernels ignore */
enum { SEM_ANY = 20, MSG_ANY = 13, SHM_ANY = 15 }; /* SEM_STAT_ANY ...: not in older headers */

static int one(struct sys_io *io, uint8_t rule, uint8_t arg, uint32_t size)
{
	io[0] = (struct sys_io){ rule, arg, NO_ARG, size };
	return 0;
}

int shape_semctl(const uint64_t args[6], struct sys_io *io)
{
	switch (COMMAND(args[2])) {
	case IPC_STAT:
	case SEM_STAT:
	case SEM_ANY: return one(io, OUT_FIXED, 3, sizeof(struct semid64_ds));
	case IPC_SET: return one(io, IN_BYTES, 3, sizeof(struct semid64_ds));
	case IPC_INFO:
	case SEM_INFO: return one(io, OUT_FIXED, 3, sizeof(struct seminfo));
	case IPC_RMID:
	case GETVAL:
	case SETVAL:
	case GETPID:
	case GETNCNT:
	case GETZCNT:
	case SETALL: /* read only, by the kernel itself */ return 0;
	}
	return -1; /* GETALL: no argument says how many semaphores there are */
}

int shape_msgctl(const uint64_t args[6], struct sys_io *io)
{
	switch (COMMAND(args[1])) {
	case IPC_STAT:
	case MSG_STAT:
	case MSG_ANY: return one(io, OUT_FIXED, 2, sizeof(struct msqid64_ds));
	case IPC_SET: return one(io, IN_BYTES, 2, sizeof(struct msqid64_ds));
	case IPC_INFO:
	case MSG_INFO: return one(io, OUT_FIXED, 2, sizeof(struct msginfo));
	case IPC_RMID: return 0;
	}
	return -1;
}

int shape_shmctl(const uint64_t args[6], struct sys_io *io)
{
	switch (COMMAND(args[1])) {
	case IPC_STAT:
	case SHM_STAT:
	case SHM_ANY: return one(io, OUT_FIXED, 2, sizeof(struct shmid64_ds));
	case IPC_SET: return one(io, IN_BYTES, 2, sizeof(struct shmid64_ds));
	case IPC_INFO: return one(io, OUT_FIXED, 2, sizeof(struct shminfo64));
	case SHM_INFO: return one(io, OUT_FIXED, 2, sizeof(struct shm_info));
	case IPC_RMID:
	case SHM_LOCK:
	case SHM_UNLOCK: return 0;
	}
	return -1;
}

/* A message is its type, 8 bytes, and the text. Sizes above 1 GiB only fail. */
int shape_msgsnd(const uint64_t args[6], struct sys_io *io)
{
	return args[2] < 1u << 30 ? one(io, IN_BYTES, 1, 8 + (uint32_t)args[2]) : 0;
}

/* The result counts the text but not the type, which no rule says; so the whole room comes back. */
int shape_msgrcv(const uint64_t args[6], struct sys_io *io)
{
	return args[2] < 1u << 30 ? one(io, INOUT_FIXED, 1, 8 + (uint32_t)args[2]) : 0;
}

int shape_syslog(const uint64_t args[6], struct sys_io *io)
{
	if (args[0] >= 2 && args[0] <= 4) /* read, read all, read and clear */
		io[0] = (struct sys_io){ OUT_RESULT, 1, 2, 1 };
	return 0;
}

int shape_fsconfig(const uint64_t args[6], struct sys_io *io)
{
	io[0] = (struct sys_io){ IN_STRING, 2, NO_ARG, 1 };
	switch ((uint32_t)args[1]) {
	case 1: /* FSCONFIG_SET_STRING */
	case 3: /* FSCONFIG_SET_PATH */
	case 4: /* FSCONFIG_SET_PATH_EMPTY */ io[1] = (struct sys_io){ IN_STRING, 3, NO_ARG, 1 }; return 0;
	case 2: /* FSCONFIG_SET_BINARY */ io[1] = (struct sys_io){ IN_BYTES, 3, 4, 1 }; return 0;
	}
	return 0; /* flags, descriptors and commands have no value in memory */
}
