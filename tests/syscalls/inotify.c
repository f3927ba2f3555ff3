/*
 * Events about files. What could go wrong: a read that returns several events of
 * different lengths, cookies that pair two of them, FIONREAD.
 */
// run: varies
#include "check.h"
#include <sys/inotify.h>
#include <sys/ioctl.h>

int main(void)
{
	enter_temp();
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (fd < 0) {
		skipped("inotify");
		leave_temp();
		return done();
	}
	int watch = inotify_add_watch(fd, ".", IN_ALL_EVENTS);
	CHECK(watch > 0);
	_Alignas(8) char b[4096];
	FAILS(read(fd, b, sizeof b), EAGAIN);
	FAILS(inotify_add_watch(fd, "none", IN_ALL_EVENTS), ENOENT);
	int file = open("a file with a longer name", O_CREAT | O_WRONLY, 0600);
	CHECK(file >= 0 && write(file, "x", 1) == 1 && close(file) == 0);
	CHECK(rename("a file with a longer name", "b") == 0 && unlink("b") == 0);
	int ready = 0;
	CHECK(ioctl(fd, FIONREAD, &ready) == 0 && ready > 0);
	say("%d bytes ready", ready);
	FAILS(read(fd, b, 4), EINVAL);
	long n, events = 0;
	uint32_t moved = 0;
	while ((n = read(fd, b, 100)) > 0)
		for (long at = 0; at < n;) {
			struct inotify_event *e = (struct inotify_event *)(b + at);
			say("event watch %d mask %x cookie %u name %s", e->wd, e->mask, e->cookie,
			    e->len ? e->name : "-");
			CHECK(e->wd == watch);
			if (e->mask & IN_MOVED_FROM)
				moved = e->cookie;
			if (e->mask & IN_MOVED_TO)
				CHECK(moved && e->cookie == moved);
			at += (long)sizeof *e + e->len;
			events++;
		}
	CHECK(errno == EAGAIN && events >= 6);
	CHECK(inotify_rm_watch(fd, watch) == 0);
	FAILS(inotify_rm_watch(fd, watch), EINVAL);
	close(fd);
	leave_temp();
	return done();
}
