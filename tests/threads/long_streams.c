/*
 * Streams that are too long for replay to unpack as a whole: of the first thread, of another that runs at the same time, and of a
 * child process. What could go wrong: an entry at the seam between two pieces is lost or taken twice, a piece is written over before
 * all of it was read, one stream gets the pieces of another, a child reads on in its parent's, and an mmap whose entry is the last
 * of its piece is made from the next one's bytes.
 */
// run: varies
#include "threads.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { BYTES = 9 << 20, MOST = 30000, SMALL = 2000 };
static int small; /* a file whose content goes into the entries that map it */

static void look_at_small(uint64_t *hash)
{
	const unsigned char *map = mmap(NULL, SMALL, PROT_READ, MAP_PRIVATE, small, 0);

	CHECK(map != MAP_FAILED);
	for (int i = 0; i < SMALL; i += 199)
		*hash = (*hash ^ map[i]) * 1099511628211u;
	CHECK(!munmap((void *)map, SMALL));
}

static void make_small(void)
{
	unsigned char bytes[SMALL];

	CHECK(getrandom(bytes, SMALL, 0) == SMALL);
	small = open("small", O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK(small >= 0 && write(small, bytes, SMALL) == SMALL);
}

static uint64_t read_much(int fd, uint64_t random)
{
	static __thread unsigned char piece[MOST];
	uint64_t hash = 14695981039346656037u;

	for (long left = BYTES; left > 0;) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		ssize_t n = read(fd, piece, 1 + (size_t)(random >> 33) % MOST);
		CHECK(n > 0);
		for (ssize_t i = 0; i < n; i += 97)
			hash = (hash ^ piece[i]) * 1099511628211u;
		left -= n;
		look_at_small(&hash);
	}
	return hash;
}

static void *other(void *fd)
{
	uint64_t hash = read_much(*(int *)fd, 2);
	return (void *)hash;
}

int main(void)
{
	int fd = open("/dev/urandom", O_RDONLY), status;
	pthread_t thread;
	void *hash;

	make_small();
	CHECK(fd >= 0 && !pthread_create(&thread, NULL, other, &fd));
	uint64_t first = read_much(fd, 1);
	CHECK(!pthread_join(thread, &hash));
	printf("first %016lx, other %016lx\n", (unsigned long)first, (unsigned long)hash);
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		printf("child %016lx\n", (unsigned long)read_much(fd, 3));
		exit(3);
	}
	CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
	printf("end %016lx\n", (unsigned long)read_much(fd, 4));
	return 0;
}
