/* A replay under a debugger, for replay.c. */
#ifndef COMMANDS_GDB_H
#define COMMANDS_GDB_H
#include "meta.h"

struct debug_options {
	bool gdb;
	long port; /* > 0: gdbserver instead */
	long image;
	char **words; /* more for gdb */
	int count;
};
/* Takes from the remaining words of `heddle replay` those that are gdb's; returns how many are left. Dies, with what to
   install, if the debugger is not there. */
int debug_read_words(struct debug_options *options, int argc, char **argv);
/* Before the loader starts: its runs will wait for a debugger. */
void debug_switch_on(struct control *control);
/* Lets the user debug the replay. Returns the debugger's wait status, or that of a heddle that was told
   to end, when everybody has ended. */
int debug_session(struct tree *tree, const struct meta *meta, const struct debug_options *options,
		  const char *work_dir);
#endif
