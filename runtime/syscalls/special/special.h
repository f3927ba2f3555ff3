/* The calls that a row cannot describe: each function owns record and replay of its call. */
#ifndef SPECIAL_H
#define SPECIAL_H
#include <stdbool.h>
#include <stdint.h>

struct call;
struct thread;

/* memory.c */
extern bool shares_memory; /* the process has mapped memory that a fork would share */
void special_mmap(struct call *c);
void special_munmap(struct call *c);
void special_mprotect(struct call *c);
void special_madvise(struct call *c);
void special_mremap(struct call *c);
void special_brk(struct call *c);
/* mmap with these arguments, in a place of our choice if that of the program is taken, or it has none. Record only. */
long map_somewhere(const uint64_t a[6]);

/* segments.c */
void special_shmat(struct call *c);
void special_shmdt(struct call *c);

/* process.c */
void special_clone(struct call *c);
void special_clone3(struct call *c);
void special_exit(struct call *c);
void special_exit_group(struct call *c);
void special_set_tid_address(struct call *c);
_Noreturn void vfork_child(struct thread *t);

/* futex.c */
void special_futex(struct call *c);

/* exec.c */
void special_exec(struct call *c);
void special_execveat(struct call *c);

/* files.c */
void special_open(struct call *c);
void special_readlink(struct call *c);
void special_close(struct call *c);
void special_close_range(struct call *c);
void special_dup(struct call *c);
void special_fcntl(struct call *c);
bool is_zero_device(int fd);

/* signal.c */
void special_rt_sigaction(struct call *c);
void special_rt_sigprocmask(struct call *c);
void special_rt_sigreturn(struct call *c);
void special_sigaltstack(struct call *c);
void special_rt_sigsuspend(struct call *c);
void special_pause(struct call *c);

/* settings.c */
void special_prctl(struct call *c);
void special_arch_prctl(struct call *c);
void special_seccomp(struct call *c);
void special_setsockopt(struct call *c);
void special_personality(struct call *c), special_mlockall(struct call *c), special_rlimit(struct call *c);
/* files.c: does the path name the program itself, by way of /proc? */
bool names_own_exe(const char *path);
#endif
