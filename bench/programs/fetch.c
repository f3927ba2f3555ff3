/*
 * Segmented download, as aget does it, from a server in the same process over the loopback: each thread asks for its
 * part of a file and puts what comes into place; all add to the count of bytes without a lock, and a thread of its own
 * prints progress from it. The count is aget's race: it loses bytes, and the lines of progress differ from run to run.
 * A part comes in pieces, each with its checksum. The server is a bad one: now and then it cuts a piece short, and the
 * thread asks again for the rest, from where it stands.
 *
 * The result is right if the file has come whole.
 */
#include "loopback.h"
#include <errno.h>
#include <string.h>

enum { CHUNK = 8192, PIECE = 64 * CHUNK, CUT_EVERY = 5, LINES = 20 };
static unsigned size;
static unsigned char *file, *copy;
static unsigned long fetched; /* counted by all without a lock */
static bool finished;	      /* a flag that progress looks at without one */
static unsigned short_ones, lines;
static struct {
	unsigned pieces, again, damaged;
} did[THREADS_MAX]; /* each thread its own */

struct request {
	uint32_t first, last;
};

/* What comes before the bytes. */
struct answer {
	uint32_t bytes, checksum;
};

/* Adler's. */
static uint32_t checksum(const unsigned char *data, size_t count)
{
	uint32_t low = 1, high = 0;

	for (size_t i = 0; i < count; i++) {
		low = (low + data[i]) % 65521;
		high = (high + low) % 65521;
	}
	return high << 16 | low;
}

static bool send_all(int fd, const void *data, size_t count)
{
	for (const char *at = data; count;) {
		ssize_t n = send(fd, at, count, MSG_NOSIGNAL);
		if (n <= 0)
			return false;
		at += n, count -= (size_t)n;
	}
	return true;
}

static void *serve_one(void *argument)
{
	int fd = (int)(intptr_t)argument;
	struct request request;

	for (unsigned n = 1; recv(fd, &request, sizeof request, MSG_WAITALL) == sizeof request; n++) {
		uint32_t bytes = request.last - request.first;
		if (n % CUT_EVERY == 0 && bytes > 1)
			bytes /= 2;
		struct answer answer = { bytes, checksum(file + request.first, bytes) };
		if (!send_all(fd, &answer, sizeof answer) || !send_all(fd, file + request.first, bytes))
			break;
	}
	close(fd);
	return NULL;
}

static void *progress(void *unused)
{
	unsigned long whole = (unsigned long)size * rounds, seen = 0;
	unsigned turns = 0;

	(void)unused;
	for (unsigned line = 1; !finished && line < LINES;) {
		if (fetched != seen && fetched >= whole / LINES * line) {
			seen = fetched;
			printf("fetch: %lu of %lu bytes\n", seen, whole);
			lines++;
			line = (unsigned)(seen * LINES / whole) + 1;
		}
		spin(&turns);
	}
	return NULL;
}

static void receive(int fd, unsigned first, unsigned last)
{
	for (unsigned at = first; at < last;) {
		unsigned room = last - at < CHUNK ? last - at : CHUNK;
		ssize_t n = recv(fd, copy + at, room, 0);
		if (n <= 0)
			die("recv");
		at += (unsigned)n;
		LOOK_AGAIN();
		fetched += (unsigned long)n; /* the race */
		short_ones += n < (ssize_t)room;
	}
}

/* As much of it as comes: the number of bytes. */
static unsigned fetch_piece(int fd, unsigned me, unsigned first, unsigned last)
{
	struct request request = { first, last };
	struct answer answer;

	if (!send_all(fd, &request, sizeof request) || recv(fd, &answer, sizeof answer, MSG_WAITALL) != sizeof answer ||
	    answer.bytes > last - first)
		die("request");
	receive(fd, first, first + answer.bytes);
	did[me].pieces++;
	did[me].again += answer.bytes < last - first;
	did[me].damaged += checksum(copy + first, answer.bytes) != answer.checksum;
	return answer.bytes;
}

static void fetch_part(int fd, unsigned me, unsigned first, unsigned last)
{
	for (unsigned at = first; at < last;)
		at += fetch_piece(fd, me, at, last - at < PIECE ? last : at + PIECE);
}

static void *work(void *argument)
{
	unsigned me = (unsigned)(uintptr_t)argument, first, last;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	share(me, size, &first, &last);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address))
		die("connect");
	for (unsigned r = 0; r < rounds; r++)
		fetch_part(fd, me, first, last);
	close(fd);
	return NULL;
}

/* Bytes that differ, and pieces that came damaged. */
static unsigned look_at_result(void)
{
	unsigned wrong = 0, pieces = 0, again = 0;

	for (unsigned i = 0; rounds && i < size; i++)
		wrong += file[i] != copy[i];
	for (unsigned t = 0; t < threads; t++) {
		pieces += did[t].pieces;
		again += did[t].again;
		wrong += did[t].damaged;
	}
	printf("fetch: %u pieces, %u of them cut short\n", pieces, again);
	return wrong;
}

int main(int argc, char **argv)
{
	pthread_t server, reporter;

	options(argc, argv);
	size = scaled(8 << 20);
	file = allocate(size);
	copy = allocate(size);
	for (unsigned i = 0; i < size; i++) {
		file[i] = (unsigned char)((i * 0x9e3779b97f4a7c15ull) >> 33);
		copy[i] = 0;
	}
	listen_here();
	if (pthread_create(&server, NULL, serve, (void *)serve_one) || pthread_create(&reporter, NULL, progress, NULL))
		die("pthread_create");
	start(work);
	finished = true;
	pthread_join(server, NULL);
	pthread_join(reporter, NULL);
	unsigned wrong = look_at_result();
	printf("fetch: %lu bytes counted, %lu lost by the count, %u short reads\n", fetched,
	       (unsigned long)size * rounds - fetched, short_ones);
	if (wrong)
		printf("fetch: WRONG: %u bytes or pieces differ\n", wrong);
	return wrong != 0;
}
