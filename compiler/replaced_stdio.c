/*
 * stdio gets copies of what it writes, and reads into memory that nobody else knows. What is longer than a piece goes
 * in several; the file is locked meanwhile, so that they stay together.
 */
#include "compiler/replaced.h"

#define PIECE (1u << 20)

LARGE int __replaced_puts(const char *string);
LARGE int __replaced_fputs(const char *string, FILE *file);
LARGE size_t __replaced_fwrite(const void *from, size_t size, size_t count, FILE *file);
LARGE size_t __replaced_fread(void *to, size_t size, size_t count, FILE *file);
size_t __theirs_fread(void *to, size_t size, size_t count, FILE *file);
size_t __replaced___fread_chk(void *to, size_t room, size_t size, size_t count, FILE *file);
LARGE char *__replaced_fgets(char *to, int size, FILE *file);
char *__theirs_fgets(char *to, int size, FILE *file);
char *__replaced___fgets_chk(char *to, size_t room, int size, FILE *file);
ssize_t __replaced_getdelim(char **line, size_t *size, int end, FILE *file);
ssize_t __theirs_getdelim(char **line, size_t *size, int end, FILE *file);
ssize_t __replaced___getdelim(char **line, size_t *size, int end, FILE *file);
ssize_t __replaced_getline(char **line, size_t *size, FILE *file);

/* A file that is locked until its function is left, likewise. */
static void unlock(FILE **file)
{
	funlockfile(*file);
}

#define LOCKED(name, file)                                    \
	__attribute__((cleanup(unlock))) FILE *name = (file); \
	flockfile(name)

/* ---- out --------------------------------------------------------------------------------------------------------- */

/* The bytes that were written: less than n after an error. */
static size_t write_pieces(const char *from, size_t n, FILE *file, char small[SMALL])
{
	size_t piece = n < PIECE ? n : PIECE, done = 0, now, written;
	ROOM(copy, piece, small);

	if (!copy.at)
		return 0;
	do {
		now = n - done < piece ? n - done : piece;
		memcpy(copy.at, from + done, now);
		written = __theirs_fwrite(copy.at, 1, now, file);
		done += written;
	} while (done < n && written == now);
	return done;
}

static size_t write_all(const char *from, size_t n, FILE *file, char small[SMALL])
{
	if (n <= PIECE)
		return write_pieces(from, n, file, small);
	LOCKED(held, file);
	return write_pieces(from, n, held, small);
}

int __replaced_fputs(const char *string, FILE *file)
{
	char small[SMALL];
	size_t n = strlen(string);

	return write_all(string, n, file, small) == n ? 1 : EOF;
}

int __replaced_puts(const char *string)
{
	char small[SMALL];
	size_t n = strlen(string);

	LOCKED(held, stdout);
	return write_pieces(string, n, held, small) == n && putc_unlocked('\n', held) != EOF ? (int)n + 1 : EOF;
}

size_t __replaced_fwrite(const void *from, size_t size, size_t count, FILE *file)
{
	char small[SMALL];
	size_t bytes;

	if (__builtin_mul_overflow(size, count, &bytes) || !bytes)
		return __theirs_fwrite(from, size, count, file);
	size_t done = write_all(from, bytes, file, small);
	return done == bytes ? count : done / size;
}

/* ---- in ---------------------------------------------------------------------------------------------------------- */

static size_t read_pieces(char *to, size_t n, FILE *file, char small[SMALL])
{
	size_t piece = n < PIECE ? n : PIECE, done = 0, now, got;
	ROOM(copy, piece, small);

	if (!copy.at)
		return 0;
	do {
		now = n - done < piece ? n - done : piece;
		got = __theirs_fread(copy.at, 1, now, file);
		memcpy(to + done, copy.at, got);
		done += got;
	} while (done < n && got == now);
	return done;
}

/* By bytes, so that a part of an element comes, too. */
size_t __replaced_fread(void *to, size_t size, size_t count, FILE *file)
{
	char small[SMALL];
	size_t bytes;

	if (__builtin_mul_overflow(size, count, &bytes) || !bytes)
		return __theirs_fread(to, size, count, file);
	if (bytes <= PIECE)
		return read_pieces(to, bytes, file, small) / size;
	LOCKED(held, file);
	return read_pieces(to, bytes, held, small) / size;
}

size_t __replaced___fread_chk(void *to, size_t room, size_t size, size_t count, FILE *file)
{
	size_t bytes;

	if (__builtin_mul_overflow(size, count, &bytes) || bytes > room)
		__chk_fail();
	return __replaced_fread(to, size, count, file);
}

/* A line may have zeros in it. So the room is filled with newlines before: the first is the line's own if a zero
   follows it, and else the line has none, and its end is the zero before. */
static size_t line_length(const char *line, size_t size)
{
	const char *newline = memchr(line, '\n', size);

	if (!newline)
		return size - 1;
	size_t at = (size_t)(newline - line);
	return at + 1 < size && !line[at + 1] ? at + 1 : at - 1;
}

char *__replaced_fgets(char *to, int size, FILE *file)
{
	char small[SMALL];

	if (size < 2)
		return __theirs_fgets(to, size, file);
	ROOM(copy, (size_t)size, small);
	if (!copy.at)
		return __theirs_fgets(to, size, file);
	memset(copy.at, '\n', (size_t)size);
	if (!__theirs_fgets(copy.at, size, file))
		return NULL;
	memcpy(to, copy.at, line_length(copy.at, (size_t)size) + 1);
	return to;
}

char *__replaced___fgets_chk(char *to, size_t room, int size, FILE *file)
{
	if (size > 0 && (size_t)size > room)
		__chk_fail();
	return __replaced_fgets(to, size, file);
}

/* As glibc: room for 120 characters at least, also at the end of the file, and twice as much as before. */
static int make_room(char **line, size_t *size, size_t n)
{
	size_t more = *line ? *size : 0;

	if (more >= n && more)
		return 0;
	more = n > 2 * more ? n : 2 * more;
	if (more < 120)
		more = 120;
	char *room = realloc(*line, more);
	if (!room)
		return -1;
	*line = room;
	*size = more;
	return 0;
}

ssize_t __replaced_getdelim(char **line, size_t *size, int end, FILE *file)
{
	char *own = NULL;
	size_t room = 0;

	if (!line || !size)
		return __theirs_getdelim(line, size, end, file);
	ssize_t n = __theirs_getdelim(&own, &room, end, file);
	if (make_room(line, size, n < 0 ? 1 : (size_t)n + 1))
		n = -1;
	if (n >= 0)
		memcpy(*line, own, (size_t)n + 1);
	free(own);
	return n;
}

ssize_t __replaced___getdelim(char **line, size_t *size, int end, FILE *file)
{
	return __replaced_getdelim(line, size, end, file);
}

ssize_t __replaced_getline(char **line, size_t *size, FILE *file)
{
	return __replaced_getdelim(line, size, '\n', file);
}
