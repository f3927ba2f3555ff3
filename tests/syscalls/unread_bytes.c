/*
 * Structures whose holes the kernel does not read, with something else in them at each run: a counter that another thread moves on
 * without order. A replay that compared these bytes would leave its recording. The bytes that are read are the same.
 */
// run: flags="-pthread -lrt" no-checksum="the holes have other bytes at each run, as they are meant to"
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned moving;
static volatile int over;

static void *move(void *arg)
{
	while (!over)
		moving = moving * 1103515245u + 12345u;
	return arg;
}

/* All bytes of p, from what the other thread has just now. */
static void garble(void *p, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((unsigned char *)p)[i] = (unsigned char)(moving >> 13 | 1); /* no 0 */
}

static void say(const char *what, long result)
{
	printf("%s %ld %s\n", what, result, result < 0 ? strerror(errno) : "");
}

static void addresses(void)
{
	struct sockaddr_un un;
	struct sockaddr_in in;
	int s = socket(AF_UNIX, SOCK_STREAM, 0), d = socket(AF_INET, SOCK_DGRAM, 0);

	garble(&un, sizeof un);
	un.sun_family = AF_UNIX;
	strcpy(un.sun_path, "/no/such/socket");
	say("connect", connect(s, (struct sockaddr *)&un, sizeof un));
	garble(&in, sizeof in);
	in.sin_family = AF_INET;
	in.sin_port = 0;
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	say("bind", bind(d, (struct sockaddr *)&in, sizeof in));
	garble(&in, sizeof in);
	in.sin_family = AF_INET;
	in.sin_port = htons(9);
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	say("sendto", sendto(d, "x", 1, 0, (struct sockaddr *)&in, sizeof in));
	close(s);
	close(d);
}

static void events(void)
{
	struct epoll_event e;
	int pipes[2], all = epoll_create1(0);

	if (pipe(pipes))
		return;
	garble(&e, sizeof e);
	e.events = EPOLLOUT;
	e.data.u64 = 17;
	say("epoll_ctl", epoll_ctl(all, EPOLL_CTL_ADD, pipes[1], &e));
	say("epoll_wait", epoll_wait(all, &e, 1, -1));
	printf("%llu\n", (unsigned long long)e.data.u64);
}

static void file_lock(void)
{
	struct flock lock;
	int fd = open("locked", O_RDWR | O_CREAT, 0600);

	garble(&lock, sizeof lock);
	lock.l_type = F_WRLCK;
	lock.l_whence = SEEK_SET;
	lock.l_start = lock.l_len = 5;
	say("lock", fcntl(fd, F_SETLK, &lock));
	close(fd);
}

static void timer(void)
{
	struct sigevent event;
	int id;

	garble(&event, sizeof event);
	event.sigev_notify = SIGEV_SIGNAL;
	event.sigev_signo = SIGUSR1;
	event.sigev_value.sival_ptr = NULL;
	say("timer_create", syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &id));
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, move, NULL))
		return 1;
	while (!moving)
		continue;
	for (int i = 0; i < 20; i++) {
		addresses();
		events();
		file_lock();
		timer();
	}
	over = 1;
	pthread_join(thread, NULL);
	return 0;
}
