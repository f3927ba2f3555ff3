/*
 * heddle hunt: what hunt.c and hunt_via.c share.
 */
#ifndef COMMANDS_HUNT_H
#define COMMANDS_HUNT_H
#include "meta.h"

enum { NOTHING_FOUND = 1 };

struct job {
	pid_t pid; /* of its heddle record; 0: idle */
	unsigned long run;
	double begun;
	double told; /* when it was sent SIGTERM, since it hangs; 0: not yet */
};

struct hunt {
	long runs, jobs, chaos;
	double seconds, timeout;
	const char *minutes_text, *timeout_text, *expect, *refuse, *output, *order, *via;
	bool no_chaos, verify, quiet, jobs_given;
	char **argv;
	char program[PATH_ROOM];
	const char *nest; /* the directory for work */
	struct job *job;
	unsigned long started, ended;
	double begun;
	sigset_t wanted, before;
	int interrupted; /* by this signal */
};
extern struct hunt h;

/* ---- hunt.c ---- */
unsigned seed_of(unsigned long run);
const char *elapsed_text(void);
/* Time is up, or a signal wants us to end; sees signals, and waits for them. */
bool over(void);
void wait_a_little(void);

/* A list of words, NULL at the end. */
struct words {
	char *list[32];
	size_t count;
};

void add_word(struct words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What record and another hunt both understand. */
void add_common(struct words *w, const char *output);
/* Those and the program with its arguments, in one list. */
char **with_program(const struct words *w);

/* ---- hunt_via.c ---- */
int hunt_by_parallel(void);
int hunt_by_slurm(void);
#endif
