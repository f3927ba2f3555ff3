/*
 * Which descriptors reach the stdout and stderr that heddle was started with.
 *
 * Followed through dup, close and exec, because what is written there is shown
 * again at replay. Descriptors above the table are taken as "no".
 */
#include "runtime/runtime.h"
#include <linux/fcntl.h>

unsigned shown_class(uint64_t fd)
{
	return fd < COUNT(process.shown) ? process.shown[fd] : 0;
}

void shown_set(uint64_t fd, unsigned class)
{
	if (fd < COUNT(process.shown))
		process.shown[fd] = (uint8_t)class;
}

void shown_list(struct text *out)
{
	const char *comma = "";
	for (unsigned long fd = 0; fd < COUNT(process.shown); fd++) {
		if (!process.shown[fd] || SYS2(__NR_fcntl, fd, F_GETFD) != 0)
			continue;
		text_add(out, "%s%u:%u", comma, fd, (unsigned long)process.shown[fd]);
		comma = ",";
	}
}

void shown_parse(const char *list)
{
	while (*list) {
		uint64_t fd = parse_number(&list);
		if (*list != ':')
			return;
		list++;
		uint64_t class = parse_number(&list);
		if (class != FD_CLOSE)
			shown_set(fd, (unsigned)class);
		if (*list == ',')
			list++;
	}
}
