/*
 * Pointers go through a pipe, and no lock is taken anywhere: the system calls are the synchronisation. At replay they
 * are answered from the log, so only their recorded order keeps a reader from looking at what was not yet written.
 * (TSan knows the pipe, too.)
 */
// run: varies
#include "threads.h"

enum { WRITERS = 3, MESSAGES = 300 };
struct message {
	unsigned from, number;
	unsigned long words[8];
};
static int pipes[2], answers[2];

static void *work(void *argument)
{
	unsigned me = ME(argument);

	for (unsigned i = 0; i < MESSAGES; i++) {
		struct message *m = malloc(sizeof *m);
		m->from = me;
		m->number = i;
		for (int k = 0; k < 8; k++)
			m->words[k] = me * 1000003ul + i * 31 + (unsigned long)k;
		CHECK(write(pipes[1], &m, sizeof m) == sizeof m);
		if (i % 16 == 15) { /* now and then a message comes back, changed */
			struct message *back;
			CHECK(read(answers[0], &back, sizeof back) == sizeof back);
			CHECK(back->words[0] == back->words[1]);
			free(back);
		}
		dawdle(2000);
	}
	return NULL;
}

int main(void)
{
	struct arrivals order = { 0 };
	unsigned long places = 0, answered = 0;

	CHECK(pipe(pipes) == 0 && pipe(answers) == 0);
	crew_start(WRITERS, work);
	for (int i = 0; i < WRITERS * MESSAGES; i++) {
		struct message *m;
		CHECK(read(pipes[0], &m, sizeof m) == sizeof m);
		for (int k = 0; k < 8; k++)
			CHECK(m->words[k] == m->from * 1000003ul + m->number * 31 + (unsigned long)k);
		arrive(&order, m->from);
		places = places * 31 + (unsigned long)m;
		if (answered < order.count / 16 && answered < (unsigned long)WRITERS * (MESSAGES / 16)) {
			answered++;
			m->words[0] = m->words[1] = answered;
			CHECK(write(answers[1], &m, sizeof m) == sizeof m);
		} else
			free(m);
		while (i == WRITERS * MESSAGES - 1 && answered < (unsigned long)WRITERS * (MESSAGES / 16)) {
			m = calloc(1, sizeof *m);
			answered++;
			CHECK(write(answers[1], &m, sizeof m) == sizeof m);
		}
	}
	crew_join(WRITERS);
	print_arrivals("order", &order);
	printf("places %016lx\n", places);
	return 0;
}
