/*
 * Buffered log, as in Apache's bug 25520: whoever logs copies a line to the end of the buffer and moves the end, without a lock. Two lines
 * come to lie on one another. What could go wrong: the copy is a memcpy of a length that the run decides, between the
 * read of the end and its write.
 */
// run: fails gallery
// explain: @end before @move
#include "bugs.h"

enum { LINE = 24, LINES = 30 };
static char buffer[TEAM_MAX * LINES * LINE * 2];
static unsigned end;
static unsigned wrong;

static void work(unsigned me)
{
	char line[LINE];

	for (unsigned i = 0; i < rounds(LINES); i++) {
		unsigned length = (unsigned)snprintf(line, sizeof line, "<%u:%u>\n", me, i);
		unsigned at = end; // @end
		breathe(i + me);
		memcpy(buffer + at, line, length);
		end = at + length; // @move
		LOOK_AGAIN();
	}
}

int main(int argc, char **argv)
{
	unsigned lines = 0;

	team_size(argc, argv);
	team_run(work);
	for (char *line = buffer, *next;
	     line < buffer + end && (next = memchr(line, '\n', (size_t)(buffer + end - line))); line = next + 1) {
		lines++;
		wrong += line[0] != '<' || next[-1] != '>';
	}
	fwrite(buffer, 1, end, stdout);
	return verdict(wrong + (team * rounds(LINES) - lines), "lines missing or broken");
}
