/*
 * POSIX message queues. What could go wrong: the priority, stored apart from the
 * text; the notification, a signal; timeouts.
 */
// run: varies
#include "check.h"
#include <mqueue.h>

static volatile sig_atomic_t notified;
static void handler(int sig UNUSED, siginfo_t *info, void *context UNUSED)
{
	notified = info->si_value.sival_int;
}

int main(void)
{
	char name[64];
	snprintf(name, sizeof name, "/heddle-%d", getpid());
	say("queue %s", name);
	struct mq_attr attr = { .mq_maxmsg = 4, .mq_msgsize = 64 }, now;
	mqd_t q = mq_open(name, O_CREAT | O_EXCL | O_RDWR | O_NONBLOCK, 0600, &attr);
	if (q == (mqd_t)-1) {
		skipped("message queues");
		return done();
	}
	CHECK(mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, 0) == (mqd_t)-1 && errno == EEXIST);
	char b[64];
	unsigned priority = 99;
	FAILS(mq_receive(q, b, sizeof b, &priority), EAGAIN);
	CHECK(priority == 99);
	struct sigaction a = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	CHECK(sigaction(SIGUSR1, &a, 0) == 0);
	struct sigevent e = { .sigev_notify = SIGEV_SIGNAL,
			      .sigev_signo = SIGUSR1,
			      .sigev_value = { .sival_int = 31 } };
	CHECK(mq_notify(q, &e) == 0);
	CHECK(mq_send(q, "low", 3, 1) == 0 && notified == 31);
	CHECK(mq_send(q, "high", 4, 7) == 0 && mq_send(q, "", 0, 3) == 0);
	CHECK(mq_getattr(q, &now) == 0 && now.mq_curmsgs == 3 && now.mq_msgsize == 64 && (now.mq_flags & O_NONBLOCK));
	FAILS(mq_receive(q, b, 10, 0), EMSGSIZE);
	memset(b, '.', sizeof b);
	CHECK(mq_receive(q, b, sizeof b, &priority) == 4 && priority == 7 && !memcmp(b, "high.", 5));
	CHECK(mq_receive(q, b, sizeof b, &priority) == 0 && priority == 3);
	CHECK(mq_receive(q, b, sizeof b, 0) == 3 && !memcmp(b, "lowh.", 5));
	now.mq_flags = 0;
	CHECK(mq_setattr(q, &now, &attr) == 0 && (attr.mq_flags & O_NONBLOCK));
	struct timespec until;
	CHECK(clock_gettime(CLOCK_REALTIME, &until) == 0);
	FAILS(mq_timedreceive(q, b, sizeof b, 0, &until), ETIMEDOUT);
	CHECK(mq_close(q) == 0 && mq_unlink(name) == 0);
	FAILS(mq_unlink(name), ENOENT);
	return done();
}
