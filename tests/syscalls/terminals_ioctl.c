/*
 * A pseudoterminal and what ioctl says about it. What could go wrong: the sizes of
 * old requests, which their numbers do not tell; the terminal's name; line
 * discipline; requests on the wrong kind of file.
 */
// run:
#include "check.h"
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>

int main(void)
{
	struct winsize w = { 1, 2, 3, 4 };
	int p[2], n = -1;
	CHECK(pipe(p) == 0);
	FAILS(ioctl(p[0], TIOCGWINSZ, &w), ENOTTY);
	CHECK(w.ws_row == 1 && w.ws_ypixel == 4 && !isatty(p[0]));
	CHECK(write(p[1], "12345", 5) == 5 && ioctl(p[0], FIONREAD, &n) == 0 && n == 5);
	int on = 1;
	CHECK(ioctl(p[0], FIONBIO, &on) == 0 && (fcntl(p[0], F_GETFL) & O_NONBLOCK));
	CHECK(ioctl(p[0], FIOCLEX) == 0 && fcntl(p[0], F_GETFD) == FD_CLOEXEC && ioctl(p[0], FIONCLEX) == 0);
	FAILS(ioctl(999, FIONREAD, &n), EBADF);
	FAILS(ioctl(p[0], FIONREAD, bad_pointer), EFAULT);
	say("stdin %d stdout %d", isatty(0), isatty(1));

	int file = open("/", O_RDONLY | O_DIRECTORY);
	long flags = 0x5a5a5a5a5a5a5a5a;
	if (ioctl(file, _IOR('f', 1, long) /* FS_IOC_GETFLAGS: says long, stores an int */, &flags))
		skipped("FS_IOC_GETFLAGS");
	else
		CHECK((unsigned long)flags >> 32 == 0x5a5a5a5a);
	say("flags %lx", (unsigned long)flags);

	int m = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (m < 0) {
		skipped("pseudoterminals");
		return done();
	}
	CHECK(grantpt(m) == 0 && unlockpt(m) == 0 && ioctl(m, TIOCGPTN, &n) == 0);
	char name[64];
	CHECK(ptsname_r(m, name, sizeof name) == 0);
	say("terminal %d is %s", n, name);
	int t = open(name, O_RDWR | O_NOCTTY);
	if (t < 0) {
		skipped("its other end");
		return done();
	}
	CHECK(isatty(t) && ttyname_r(t, name, sizeof name) == 0);
	w = (struct winsize){ 33, 77, 5, 6 };
	struct winsize again = { 0 };
	CHECK(ioctl(t, TIOCSWINSZ, &w) == 0 && ioctl(m, TIOCGWINSZ, &again) == 0 && again.ws_col == 77 &&
	      again.ws_ypixel == 6);

	struct {
		struct termios t;
		unsigned char guard[64];
	} g;
	memset(&g, 0x5a, sizeof g);
	CHECK(tcgetattr(t, &g.t) == 0 && g.guard[0] == 0x5a);
	say("modes %x %x %x %x speed %u", g.t.c_iflag, g.t.c_oflag, g.t.c_cflag, g.t.c_lflag,
	    (unsigned)cfgetospeed(&g.t));
	say_bytes("characters", g.t.c_cc, 19);
	/* the kernel's struct is smaller than libc's */
	unsigned char raw[64];
	memset(raw, 0x5a, sizeof raw);
	CHECK(ioctl(t, TCGETS, raw) == 0 && raw[36] == 0x5a && raw[63] == 0x5a);
	say_bytes("raw", raw, sizeof raw);
	memset(raw, 0x5a, sizeof raw);
	CHECK(ioctl(t, 0x5405 /* TCGETA */, raw) == 0 && raw[18] == 0x5a);

	char b[64];
	memset(b, '-', sizeof b);
	CHECK(write(m, "a line\nrest", 11) == 11 && read(t, b, sizeof b) == 7 && !memcmp(b, "a line\n-", 8));
	CHECK(tcflush(t, TCIFLUSH) == 0);
	long echoed = read(m, b, sizeof b);
	CHECK(echoed > 0);
	say("echo %ld", echoed);
	cfmakeraw(&g.t);
	CHECK(tcsetattr(t, TCSANOW, &g.t) == 0 && tcsetattr(t, TCSADRAIN, &g.t) == 0);
	CHECK(write(m, "xyz", 3) == 3 && read(t, b, sizeof b) == 3);
	CHECK(write(t, "12", 2) == 2 && read(m, b, sizeof b) == 2);
	CHECK(ioctl(t, TIOCOUTQ, &n) == 0 && ioctl(t, FIONREAD, &n) == 0 && n == 0);
	CHECK(ioctl(t, TIOCGETD, &n) == 0 && n == 0);
	CHECK(ioctl(m, TIOCPKT, &(int){ 0 }) == 0 && tcdrain(t) == 0 && tcsendbreak(t, 0) == 0);
	CHECK(ioctl(t, TIOCEXCL) == 0 && ioctl(t, TIOCNXCL) == 0);

	/* As controlling terminal: sessions, groups, and the signal of a resize or interrupt. */
	pid_t child = fork();
	CHECK(child >= 0);
	if (!child) {
		pid_t sid = -1, group = -1;
		CHECK(setsid() > 0 && ioctl(t, TIOCSCTTY, 0) == 0);
		CHECK(ioctl(t, TIOCGSID, &sid) == 0 && sid == getpid() && ioctl(t, TIOCGPGRP, &group) == 0 &&
		      group == getpid());
		CHECK(tcsetpgrp(t, getpid()) == 0 && tcgetpgrp(t) == getpid());
		int tty = open("/dev/tty", O_RDWR);
		CHECK(tty >= 0 && write(tty, "ready", 5) == 5);
		for (;;)
			pause();
	}
	long got = 0;
	while (got < 5) {
		long r = read(m, b + got, sizeof b - (size_t)got);
		CHECK(r > 0);
		got += r;
	}
	CHECK(!memcmp(b, "ready", 5));
	g.t.c_lflag |= ISIG;
	g.t.c_cc[VINTR] = 3;
	CHECK(tcsetattr(t, TCSANOW, &g.t) == 0 && write(m, "\3", 1) == 1);
	int status;
	CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
	say("child %d was interrupted from the keyboard", child);
	close(t);
	close(m);
	return done();
}
