/*
 * File scanner: looks for words in all files of a tree. Directories and files are found by one thread and put into a
 * queue with little room; the others open, read and search them. A progress line is made from counters that nobody
 * locks, as such programs do: a race, and the lines differ from run to run, as does who searched what.
 *
 * The result is right if each word was found as often as it was written.
 */
#include "kernels.h"
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WORDS = 4, ROOM = 16, NAME = 200, FOLDERS = 6, BUFFER = 16384 };
static const char *const words[WORDS] = { "warp", "weft", "heddle", "shuttle" };
static char top[NAME];
static unsigned files, file_size;
static unsigned long written[WORDS], found[THREADS_MAX][WORDS];

static char room[ROOM][NAME];
static unsigned room_first, room_last;
static bool no_more;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;

static unsigned long bytes_done; /* both counted by all without a lock */
static unsigned files_done;
static unsigned searched[THREADS_MAX];
static bool lost;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* A name and a text: some words of noise, and now and then one that is looked for. */
static void write_file(unsigned number_of)
{
	char path[NAME + 40], *text = allocate(file_size + 16);
	uint32_t seed = number_of * 2654435761u + 1;
	unsigned at = 0;
	int fd;

	while (at + 12 < file_size) {
		seed = seed * 1664525 + 1013904223;
		if (seed >> 24 < 24) {
			unsigned w = seed >> 16 & (WORDS - 1);
			at += (unsigned)snprintf(text + at, 12, "%s ", words[w]);
			written[w]++;
		} else {
			at += (unsigned)snprintf(text + at, 12, "%x ", seed >> 12);
		}
	}
	snprintf(path, sizeof path, "%s/%u/%u", top, number_of % FOLDERS, number_of);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	if (fd < 0 || write(fd, text, at) != (ssize_t)at || close(fd))
		die(path);
	free(text);
}

static void make_tree(void)
{
	char path[NAME + 40];

	snprintf(top, sizeof top, "%.100s/heddle-scan-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(top))
		die(top);
	for (unsigned d = 0; d < FOLDERS; d++) {
		snprintf(path, sizeof path, "%s/%u", top, d);
		if (mkdir(path, 0700))
			die(path);
	}
	for (unsigned f = 0; f < files; f++)
		write_file(f);
}

static void remove_tree(void)
{
	char path[NAME + 40];

	for (unsigned f = 0; f < files; f++) {
		snprintf(path, sizeof path, "%s/%u/%u", top, f % FOLDERS, f);
		unlink(path);
	}
	for (unsigned d = 0; d < FOLDERS; d++) {
		snprintf(path, sizeof path, "%s/%u", top, d);
		rmdir(path);
	}
	rmdir(top);
}

static void put(const char *path)
{
	pthread_mutex_lock(&lock);
	while (room_last - room_first == ROOM)
		pthread_cond_wait(&not_full, &lock);
	snprintf(room[room_last++ % ROOM], NAME, "%s", path);
	pthread_cond_signal(&not_empty);
	pthread_mutex_unlock(&lock);
}

static bool get(char *path)
{
	bool any;

	pthread_mutex_lock(&lock);
	while (room_first == room_last && !no_more)
		pthread_cond_wait(&not_empty, &lock);
	any = room_first != room_last;
	if (any) {
		memcpy(path, room[room_first++ % ROOM], NAME);
		pthread_cond_signal(&not_full);
	}
	pthread_mutex_unlock(&lock);
	return any;
}

static void close_queue(void)
{
	pthread_mutex_lock(&lock);
	no_more = true;
	pthread_cond_broadcast(&not_empty);
	pthread_mutex_unlock(&lock);
}

static void search(unsigned me, const char *path);

/* Everything below `path` that is a file goes into the queue. */
static void find(const char *path)
{
	DIR *folder = opendir(path);

	if (!folder)
		die(path);
	for (struct dirent *entry; (entry = readdir(folder));) {
		char below[NAME];
		struct stat about;
		if (entry->d_name[0] == '.')
			continue;
		if (snprintf(below, sizeof below, "%s/%s", path, entry->d_name) >= NAME || stat(below, &about))
			die(below);
		if (S_ISDIR(about.st_mode))
			find(below);
		else if (threads == 1) /* nobody else would empty the queue */
			search(0, below);
		else
			put(below);
	}
	closedir(folder);
}

static void count(unsigned me, const char *text, unsigned size)
{
	for (unsigned at = 0; at < size;) {
		const char *end = memchr(text + at, ' ', size - at);
		unsigned length = end ? (unsigned)(end - text) - at : size - at;
		for (unsigned w = 0; w < WORDS; w++)
			if (length == strlen(words[w]) && !memcmp(text + at, words[w], length))
				found[me][w]++;
		at += length + 1;
	}
}

/* Words may lie across two reads: what follows the last blank is kept for the next. */
static void search(unsigned me, const char *path)
{
	char buffer[BUFFER];
	unsigned kept = 0;
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		lost = true;
	for (ssize_t n; fd >= 0 && (n = read(fd, buffer + kept, sizeof buffer - kept)) > 0;) {
		unsigned size = kept + (unsigned)n, whole = size;
		while (whole && buffer[whole - 1] != ' ')
			whole--;
		count(me, buffer, whole);
		kept = size - whole;
		memmove(buffer, buffer + whole, kept);
		LOOK_AGAIN();
		bytes_done += (unsigned long)n; /* the race */
	}
	if (fd >= 0)
		close(fd);
	files_done++; /* and this one */
	if (++searched[me] % 16 == 0)
		printf("scan: %u files, %lu bytes so far\n", files_done, bytes_done);
}

static void *work(void *argument)
{
	unsigned me = (unsigned)(uintptr_t)argument;
	char path[NAME];

	for (unsigned r = 0; r < rounds; r++) {
		if (me == 0) {
			find(top);
			close_queue();
		}
		while (get(path))
			search(me, path);
		meet();
		no_more = false;
		meet();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned wrong = 0;

	options(argc, argv);
	files = scaled(96);
	file_size = 40000;
	make_tree();
	start(work);
	remove_tree();
	for (unsigned w = 0; w < WORDS; w++) {
		unsigned long sum = 0;
		for (unsigned t = 0; t < threads; t++)
			sum += found[t][w];
		printf("scan: %s %lu times\n", words[w], sum);
		wrong += sum != written[w] * rounds;
	}
	for (unsigned t = 0; t < threads; t++)
		printf("scan: thread %u searched %u files\n", t, searched[t]);
	printf("scan: %u files, %lu bytes\n", files_done, bytes_done);
	if (wrong || lost)
		printf("scan: WRONG: %u words, lost files %d\n", wrong, lost);
	return wrong || lost;
}
