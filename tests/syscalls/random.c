/*
 * Random numbers, from everywhere. What could go wrong: a source that the recorder
 * does not see, such as the auxiliary vector, a vdso getrandom, or the kernel's
 * uuid file.
 */
// run: varies
#include "check.h"
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <linux/random.h>

int main(void)
{
	unsigned char b[400];
	memset(b, 0x5a, sizeof b);
	CHECK(getrandom(b, 16, 0) == 16 && b[16] == 0x5a && b[399] == 0x5a);
	say_bytes("getrandom", b, 16);
	CHECK(getrandom(b, 0, 0) == 0 && getrandom(b, 300, GRND_NONBLOCK) == 300);
	say("300 more %016lx", (unsigned long)hash_bytes(b, 300));
	FAILS(getrandom(b, 1, 0x7777), EINVAL);
	FAILS(syscall(SYS_getrandom, bad_pointer, 8ul, 0), EFAULT);
	CHECK(getentropy(b, 32) == 0);
	say_bytes("getentropy", b, 32);
	say_bytes("auxiliary vector", (void *)getauxval(AT_RANDOM), 16);
	int fd = open("/dev/urandom", O_RDONLY);
	CHECK(fd >= 0 && read(fd, b, 24) == 24);
	say_bytes("urandom", b, 24);
	static unsigned char big[300000];
	CHECK(read(fd, big, sizeof big) == sizeof big);
	say("300000 bytes %016lx", (unsigned long)hash_bytes(big, sizeof big));
	int count = -1;
	if (ioctl(fd, RNDGETENTCNT, &count))
		skipped("entropy count");
	else
		say("entropy %d", count);
	close(fd);
	fd = open("/proc/sys/kernel/random/uuid", O_RDONLY);
	if (fd < 0) {
		skipped("uuid");
	} else {
		long n = read(fd, b, sizeof b);
		CHECK(n > 30);
		say("uuid %.*s", (int)n - 1, (char *)b);
		close(fd);
	}
	char name[] = "/tmp/heddle-XXXXXX";
	fd = mkstemp(name);
	CHECK(fd >= 0 && unlink(name) == 0);
	say("name %s", name);
	return done();
}
