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

/* ---- out --------------------------------------------------------------------------------------------------------- */

/* The bytes that were written: less than n after an error. */
static size_t write_pieces(const char *from, size_t n, FILE *file, char small[SMALL])
{
	size_t piece = n < PIECE ? n : PIECE, done = 0, now, written;
	char *copy = room_for(piece, small);

	if (!copy)
		return 0;
	do {
		now = n - done < piece ? n - done : piece;
		memcpy(copy, from + done, now);
		written = __theirs_fwrite(copy, 1, now, file);
		done += written;
	} while (done < n && written == now);
	done_with(copy, small);
	return done;
}

static size_t write_all(const char *from, size_t n, FILE *file, char small[SMALL])
{
	if (n <= PIECE)
		return write_pieces(from, n, file, small);
	flockfile(file);
	size_t done = write_pieces(from, n, file, small);
	funlockfile(file);
	return done;
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

	flockfile(stdout);
	int result = write_pieces(string, n, stdout, small) == n && putc_unlocked('\n', stdout) != EOF ? (int)n + 1 :
													 EOF;
	funlockfile(stdout);
	return result;
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
	char *copy = room_for(piece, small);

	if (!copy)
		return 0;
	do {
		now = n - done < piece ? n - done : piece;
		got = __theirs_fread(copy, 1, now, file);
		memcpy(to + done, copy, got);
		done += got;
	} while (done < n && got == now);
	done_with(copy, small);
	return done;
}

/* By bytes, so that a part of an element comes, too. */
size_t __replaced_fread(void *to, size_t size, size_t count, FILE *file)
{
	char small[SMALL];
	size_t bytes, done;

	if (__builtin_mul_overflow(size, count, &bytes) || !bytes)
		return __theirs_fread(to, size, count, file);
	if (bytes <= PIECE)
		return read_pieces(to, bytes, file, small) / size;
	flockfile(file);
	done = read_pieces(to, bytes, file, small);
	funlockfile(file);
	return done / size;
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
	char small[SMALL], *copy;

	if (size < 2 || !(copy = room_for((size_t)size, small)))
		return __theirs_fgets(to, size, file);
	memset(copy, '\n', (size_t)size);
	char *got = __theirs_fgets(copy, size, file);
	if (got)
		memcpy(to, copy, line_length(copy, (size_t)size) + 1);
	done_with(copy, small);
	return got ? to : NULL;
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
