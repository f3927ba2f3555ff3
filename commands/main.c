/*
 * heddle: the table of verbs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "commands.h"

static const struct command *const commands[] = {
	&command_record, &command_replay, &command_hunt,  &command_explain, &command_report,
	&command_dump,	 &command_stat,	  &command_ls,	  &command_rm,	    &command_pack,
	&command_doctor, &command_order,  &command_races, &command_calls,   &command_help,
};
enum { COMMANDS = sizeof commands / sizeof *commands };

const struct command *find_command(const char *name)
{
	for (unsigned i = 0; i < COMMANDS; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static void print_commands(FILE *out)
{
	fputs("heddle records one run of a program and replays it exactly.\n\n"
	      "    heddle record PROGRAM ARGUMENTS...\n"
	      "    heddle replay\n\n",
	      out);
	for (unsigned i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
	fputs("\n`heddle help VERB` explains each. Exit status: 121 wrong usage, 122 heddle cannot go on,\n"
	      "123 replay left the recording; record and replay otherwise pass on the program's own.\n",
	      out);
}

static const struct command *command_named(const char *name)
{
	const char *names[COMMANDS + 1] = { NULL };
	const struct command *command = find_command(name);

	if (command)
		return command;
	for (unsigned i = 0; i < COMMANDS; i++)
		names[i] = commands[i]->name;
	const char *close = nearest(name, names);
	if (close)
		usage("no verb '%s'; did you mean `heddle %s`?", name, close);
	usage("no verb '%s'", name);
}

static int run_help(int argc, char **argv)
{
	argc = read_options(argc, argv, (struct option_row[]){ OPTIONS_END }, false);
	if (argc)
		fputs(command_named(argv[0])->help, stdout);
	else
		print_commands(stdout);
	return 0;
}

const struct command command_help = { "help", run_help, "explain a verb",
				      "usage: heddle help [VERB]\n\nWithout VERB: lists the verbs.\n" };

/* Whoever starts us with stdout closed means the program to have it closed. A descriptor that
   heddle opens must not land there: /dev/null holds the place, and vanishes at exec. */
static void hold_standard_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) != fd)
			_exit(EXIT_CANNOT);
}

#ifdef __SANITIZE_ADDRESS__
/* `make SANITIZE=address`: what is left at the end is the kernel's to free. No verb ends with 99 by itself. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0:exitcode=99";
}
#endif

int main(int argc, char **argv)
{
	hold_standard_descriptors();
	if (argc < 2) {
		print_commands(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		print_commands(stdout);
		return 0;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("heddle 0.1 (trace format %d)\n", TRACE_VERSION);
		return 0;
	}
	if (argv[1][0] == '-')
		usage("the verb comes first: `heddle record %s ...`", argv[1]);
	const struct command *command = command_named(argv[1]);
	set_verb(command->name);
	int status = command->run(argc - 1, argv + 1);
	if (fflush(stdout) || ferror(stdout))
		die("standard output: %s", strerror(errno));
	return status;
}
