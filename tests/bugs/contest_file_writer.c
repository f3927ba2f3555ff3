/*
 * ConTest "FileWriter": not atomic. Threads share a file descriptor; each seeks to where its record belongs and writes it there, in two
 * calls, and another thread's seek comes between them. What could go wrong: no memory is shared, the race is in the kernel, over the
 * position of the file; the order of system calls must be the recorded one.
 */
// run: fails gallery
// explain: @seek before @write
#include "bugs.h"
#include <fcntl.h>
#include <sys/mman.h>

enum { RECORD = 16, EACH = 40 };
static int fd;
static unsigned wrong;

static void work(unsigned me)
{
	char record[RECORD + 1];

	for (unsigned i = 0; i < rounds(EACH); i++) {
		unsigned place = i * team + me;
		snprintf(record, sizeof record, "%15u\n", place);
		if (lseek(fd, (off_t)place * RECORD, SEEK_SET) < 0) // @seek
			abort();
		if (write(fd, record, RECORD) != RECORD) // @write
			abort();
	}
}

int main(int argc, char **argv)
{
	char record[RECORD + 1] = "", should[RECORD + 1];
	uint64_t hash = 0;

	team_size(argc, argv);
	fd = memfd_create("records", 0);
	if (fd < 0)
		abort();
	team_run(work);
	for (unsigned i = 0; i < rounds(EACH) * team; i++) {
		memset(record, 0, sizeof record);
		snprintf(should, sizeof should, "%15u\n", i);
		if (pread(fd, record, RECORD, (off_t)i * RECORD) != RECORD || strcmp(record, should))
			wrong++;
		note(&hash, (uint64_t)atoi(record));
	}
	printf("file %016llx\n", (unsigned long long)hash);
	return verdict(wrong, "records missing or elsewhere");
}
