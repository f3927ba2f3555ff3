/*
 * What the verbs of `heddle` share: telling the user, reading options, finding
 * traces, and running a tree of processes. One verb is one file and one
 * `struct command`; main.c lists them.
 */
#ifndef COMMANDS_COMMANDS_H
#define COMMANDS_COMMANDS_H
#include <signal.h>
#include <sys/resource.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include "trace/trace.h"

struct command {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is the verb; returns the exit status */
	const char *summary;		   /* one line for `heddle help` */
	const char *help;		   /* all of it for `heddle help VERB` */
};
extern const struct command command_record, command_replay, command_dump, command_stat, command_ls, command_rm,
	command_doctor, command_order, command_hunt, command_races, command_report, command_pack, command_explain,
	command_calls, command_help;

/* ---- main.c ---- */
/* The verb with this name, or NULL. */
const struct command *find_command(const char *name);

/* ---- messages.c ---- */
void usage(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2))); /* exit 121 */
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));   /* exit 122 */
void warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The verb that usage() speaks of. */
void set_verb(const char *name);
/* Called once before die() exits: to remove what was begun. NULL: nothing any more. */
void on_death(void (*clean_up)(void));
/* From now on a signal that would end heddle waits until end_if_interrupted() is called, which cleans up and dies of
   it: nothing stays in /tmp. */
void catch_signals(void);
void end_if_interrupted(void);
/* Is stderr a terminal? Then a person reads. */
bool person_watching(void);
/* "\e[1m" or "", by what the stream is and NO_COLOR. */
const char *colour(FILE *stream, const char *code);
/* A line on the terminal that replaces itself; shows nothing in the first half second. */
void progress(const char *doing, uint64_t done, uint64_t all);
/* The same with a text of the caller's. */
void progress_line(const char *text);
void progress_end(void);
/* What ended a process: "exit status 3", "killed by SIGSEGV". */
const char *status_text(int wait_status);
/* 1234567 bytes are "1.2 MB". Four results may be in use at once. */
const char *size_text(uint64_t bytes);

/* ---- options.c ---- */
enum option_kind {
	OPTION_FLAG,
	OPTION_TEXT,
	OPTION_NUMBER,
	OPTION_MAYBE_NUMBER, /* --name or --name=N; -1 without N */
	OPTION_MAYBE_TEXT    /* --name or --name=TEXT; "" without */
};
struct option_row {
	const char *name; /* without -- */
	char letter;	  /* or 0 */
	enum option_kind kind;
	void *value; /* bool *, const char **, long * */
};
#define OPTIONS_END                        \
	{                                  \
		NULL, 0, OPTION_FLAG, NULL \
	}
/* Reads options; those may stand anywhere, or with `leading` only before the first other word.
   Returns how many words remain; they are moved to argv[0...]. --help prints the verb's help. */
int read_options(int argc, char **argv, const struct option_row *rows, bool leading);
/* The closest of some words (NULL at the end) to what was typed, or NULL. */
const char *nearest(const char *typed, const char *const *words);

/* ---- quote.c ---- */
/* These words (NULL at the end) as a shell reads them. The caller frees the text. */
char *quote_for_shell(char *const *words);
/* One word of a command of gdb's. */
void quote_for_gdb(FILE *to, const char *word);
/* The name of a file, as an expression. */
void quote_for_python(FILE *to, const char *text);

/* ---- home.c ---- */
/* The directory for traces without -o; not necessarily there. */
#define CACHE_NAME ".files" /* in it: copies of mapped files, shared by traces through hard links */
const char *home_directory(void);
/* The same, and it is there. */
void home_make(char home[PATH_ROOM]);
/* Makes NAME-N there, for the next free N. */
void home_new_trace(const char *program, char path[PATH_ROOM]);
/* Lets `latest` point to that, once there is something in it. */
void home_point_latest(const char *path);
/* Where what is known of the system call sites of files is kept, if it can be. */
void home_find_sites(struct control *c);
/* Which trace a user means: NULL the latest, a path, or a name in the directory above. Absolute. */
void home_find_trace(const char *named, char path[PATH_ROOM]);
int make_directories(const char *path);
/* Removes a directory with all that is in it. */
int remove_all(const char *path);
/* Bytes that a directory takes on its disk. */
uint64_t disk_use(const char *path);
bool is_trace(const char *path);

/* ---- nest.c: where a trace is made that is to be kept only if all is well ---- */
/* A directory for work, beside `output`, or with NULL in the directory of traces. Dies if the trace could not be kept
   there, and removes it when heddle dies. Absolute. */
const char *nest_make(const char *output, const char *verb);
void nest_remove(void);
/* Moves a trace out of it, to `output`, or with NULL to a new name made of the program's, which is `latest` then. */
void nest_keep(const char *from, const char *output, const char *program, char path[PATH_ROOM]);

/* ---- tree.c: the processes that heddle starts ---- */
struct tree {
	struct control *control; /* shared with all of them */
	char control_path[PATH_ROOM + 16];
	int control_fd; /* holds the lock that says: heddle is at work here */
	pid_t root;
	pid_t helper;	   /* another child, which is none of the tree; 0: none */
	int helper_status; /* wait status, once helper is -1 */
	int root_status;   /* wait status, once root_ended */
	bool root_ended;
	sigset_t before;	      /* heddle's own mask when it was started */
	sigset_t wanted;	      /* signals that tree_signal() takes */
	struct sigaction child;	      /* its disposition of SIGCHLD */
	struct rlimit file_limit;     /* its RLIMIT_FSIZE, which the program gets back */
	struct sigaction file_action; /* and its disposition of SIGXFSZ */
};
/* Makes DIR/control and fills in what record and replay have in common. */
void tree_prepare(struct tree *tree, const char *dir, enum run_mode mode);
/* Absolute path of the loader, checked. */
void tree_find_loader(char path[PATH_ROOM]);
/* Starts the loader with these arguments; argv[0] is its path. */
void tree_start(struct tree *tree, char **argv);
/* In a child: signals and limits as heddle found them. */
void tree_restore(const struct tree *tree);
/* Collects who ended. False when nobody is left. */
bool tree_reap(struct tree *tree);
/* Waits for a signal; 0 when none came in time. */
int tree_signal(struct tree *tree, siginfo_t *info, int milliseconds);
/* Kills everybody. To be repeated until tree_reap() says false: they may fork meanwhile. */
void tree_kill(void);
/* Does no thread of it run? */
bool tree_sleeps(pid_t pid);
/* Kills all that descend from a child of heddle's, but not the child. */
void tree_kill_below(pid_t child);
/* How many processes are left. */
int tree_count(void);
/* Stops everybody, one moment for all of them; who was stopped already stays so when they go on. */
struct tree_still {
	pid_t *pids;
	size_t count;
	bool moving;
};
void tree_stand_still(struct tree_still *still);
void tree_go_on(struct tree_still *still);
/* Sets control->stop, unless somebody was first. */
void tree_stop(struct control *control, enum stop_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Tells the user why it was set. */
void tree_print_stop(const struct control *control);
/* Ends heddle as the program ended: with its status, or by its signal. */
void exit_like(const struct tree *tree, int wait_status) __attribute__((noreturn));

/* ---- work.c ---- */
/* Makes a directory in TMPDIR, which the caller removes, and removes those of heddles that were killed. */
void work_make(char dir[PATH_ROOM]);

/* ---- again.c: for verbs that run a program again and again ---- */
/* In the child of `parent`: a group of its own (Ctrl-C is for us, and we end it), no input, output to that file. */
void again_become(pid_t parent, const sigset_t *before, const char *output);
bool again_printed(const char *path, const char *text);
/* From now on sigtimedwait() takes what would end us, and SIGCHLD. */
void again_take_signals(sigset_t *wanted, sigset_t *before);
/* Ends all children, with all that they started: nobody writes anything then. */
void again_end_all(void);
/* As a signal that came wants it. */
int again_die_of(int sig, const sigset_t *before);

/* ---- late.c: the thread that unpacks long streams while they are replayed ---- */
struct feeder;
/* Which streams are to be late, if that is possible: before trace_check(). */
void late_choose(struct trace_list *list);
/* Makes the files of those that are. */
struct feeder *late_prepare(const char *dir, const struct trace_list *list, const char *work_dir);
void late_start(struct feeder *feeder, struct control *control);
/* After the last process has ended. */
void late_end(struct feeder *feeder);

/* ---- packer.c: the thread that empties rings while a program is recorded ---- */
struct packer;
/* keeper: --ring; or NULL. rate: --max-rate; 0: none */
struct keeper;
struct packer *packer_start(const char *dir, const struct tree *tree, struct keeper *keeper, uint64_t rate);
/* A part of `control`'s end that is given back when the disk is full, so that what the rings hold can still be packed:
   the recording then ends whole, at its last event. -1, and errno: there is no room for it. */
int reserve_space(const struct tree *tree, uint64_t size);
void reserve_give_back(const struct tree *tree, uint64_t keep);
/* Ends the thread and packs what is left. held_up: the program had to wait for --max-rate. Returns -1 if it failed. */
int packer_finish(struct packer *packer, bool *held_up, struct trace_problem *problem);

/* ---- ring.c: --ring ---- */
/* Exit status of `replay --follow`: all that is known was replayed, or a part of it, and there is a checkpoint; or the
   program has ended there, too, and there is none. */
enum { FOLLOWED = 0, FOLLOWED_PART = 1, FOLLOWED_TO_END = 2 };
/* size: bytes of streams that are kept, about. */
struct keeper *keeper_new(const char *dir, uint64_t size, struct tree *tree);
const char *keeper_directory(const struct keeper *k);
/* In the packer's thread, all rings that threads have; now and then. */
int keeper_look(struct keeper *k, struct trace_ring **rings, size_t count, struct trace_packer *work,
		struct trace_problem *problem);
/* Nothing is to be packed for the moment. */
bool keeper_is_full(const struct keeper *k);
/* The program has ended: nobody follows it any more. */
void keeper_end(struct keeper *k);
/* The packer has ended, too. */
void keeper_free(struct keeper *k);
/* Of the checkpoints in a trace, the oldest stays, if anything was dropped. -1: see the problem. */
int ring_settle(const char *dir, struct trace_problem *problem);

/* ---- program.c ---- */
/* Finds a program as a shell would, and dies if it cannot be started. Is it linked dynamically, or its interpreter? */
bool find_program(const char *name, char path[PATH_ROOM]);

#endif
