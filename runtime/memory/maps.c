/* /proc/thread-self/maps, line by line. (/proc/self has none when the first thread has ended.) */
#include "runtime/memory/maps.h"
#include "runtime/runtime.h"
#include <linux/fcntl.h>

static uint32_t lock; /* of the text */

const char *maps_read_to(char *text)
{
	long fd = file_open("/proc/thread-self/maps", O_RDONLY, 0);
	if (fd < 0)
		return 0;
	size_t n = 0;
	for (long r; n < MAPS_ROOM - 1 && (r = SYS3(__NR_read, fd, text + n, MAPS_ROOM - 1 - n)) > 0;)
		n += (size_t)r;
	file_close(fd);
	text[n] = 0;
	return text;
}

const char *maps_read(void)
{
	static char text[MAPS_ROOM];
	brief_lock(&lock);
	const char *read = maps_read_to(text);
	if (!read)
		maps_done();
	return read;
}

void maps_done(void)
{
	brief_unlock(&lock);
}

static uint64_t number(const char **s, unsigned base)
{
	uint64_t v = 0;
	for (;; (*s)++) {
		unsigned c = (unsigned char)**s, digit = c - '0' < 10 ? c - '0' : c - 'a' + 10;
		if (digit >= base)
			return v;
		v = v * base + digit;
	}
}

/* from-to rwxp offset major:minor inode ... */
bool maps_next(const char **text, struct mapped *m)
{
	const char *s = *text, *end = strchr(s, '\n');
	if (!end)
		return false;
	*text = end + 1;
	m->from = number(&s, 16);
	s++;
	m->to = number(&s, 16);
	s++;
	m->readable = s[0] == 'r';
	m->writable = s[1] == 'w';
	m->executable = s[2] == 'x';
	m->shared = s[3] == 's';
	s += 5;
	m->offset = number(&s, 16);
	s = strchr(s + 1, ' ') + 1;
	m->inode = number(&s, 10);
	return true;
}
