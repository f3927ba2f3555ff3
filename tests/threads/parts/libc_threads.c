/* Asks libc for something that it does in a thread of its own; the argument says what. */
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void notified(union sigval value)
{
	(void)value;
	_exit(0);
}
static struct sigevent by_thread = { .sigev_notify = SIGEV_THREAD, .sigev_notify_function = notified };

static void use_timer(void)
{
	struct itimerspec soon = { .it_value = { 0, 1000000 } };
	timer_t timer;
	if (timer_create(CLOCK_MONOTONIC, &by_thread, &timer) || timer_settime(timer, 0, &soon, 0))
		_exit(1);
	sleep(20);
}

static void use_queue(void)
{
	char name[64];
	snprintf(name, sizeof name, "/heddle-test-%d", (int)getpid());
	mqd_t queue = mq_open(name, O_CREAT | O_RDWR, 0600, 0);
	mq_unlink(name);
	if (queue < 0 || mq_notify(queue, &by_thread) || mq_send(queue, "x", 1, 0))
		_exit(1);
	sleep(20);
}

static void use_aio(int list)
{
	char byte;
	struct aiocb read = { .aio_fildes = open("/dev/zero", O_RDONLY), .aio_buf = &byte, .aio_nbytes = 1 };
	struct aiocb *all[] = { &read };
	read.aio_lio_opcode = LIO_READ;
	if (list ? lio_listio(LIO_NOWAIT, all, 1, 0) : aio_read(&read))
		_exit(1);
	while (aio_error(&read) == EINPROGRESS)
		aio_suspend((const struct aiocb *const *)all, 1, 0);
}

static void use_names(void)
{
	struct gaicb name = { .ar_name = "127.0.0.1" }, *all[] = { &name };
	if (getaddrinfo_a(GAI_WAIT, all, 1, 0))
		_exit(1);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	if (!strcmp(what, "timer"))
		use_timer();
	else if (!strcmp(what, "queue"))
		use_queue();
	else if (!strcmp(what, "names"))
		use_names();
	else
		use_aio(!strcmp(what, "list"));
	return 0;
}
