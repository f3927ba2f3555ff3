/*
 * Clients for memcached: memcached_load PORT CONNECTIONS REQUESTS. One thread, each connection with one request under
 * way: one set for nine gets, values of 100 bytes, 10,000 keys. Prints requests per second.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { VALUE = 100, KEYS = 10000 };

static int connect_to(int port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((unsigned short)port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to)) {
		perror("memcached_load: connect");
		exit(1);
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	return fd;
}

static void request(int fd, long number)
{
	char text[VALUE + 64], value[VALUE + 1];
	unsigned key = (unsigned)((unsigned long)number * 2654435761u >> 7) % KEYS;
	int n;
	if (number % 10 == 0) {
		memset(value, 'a' + (int)(number % 26), VALUE);
		value[VALUE] = 0;
		n = snprintf(text, sizeof text, "set key%u 0 0 %d\r\n%s\r\n", key, VALUE, value);
	} else {
		n = snprintf(text, sizeof text, "get key%u\r\n", key);
	}
	if (write(fd, text, (size_t)n) != n) {
		perror("memcached_load: write");
		exit(1);
	}
}

/* All answers are shorter than a segment of loopback, and end in one of these. */
static int is_whole(const char *text, size_t n)
{
	return (n >= 8 && !memcmp(text + n - 8, "STORED\r\n", 8)) || (n >= 5 && !memcmp(text + n - 5, "END\r\n", 5));
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: memcached_load PORT CONNECTIONS REQUESTS\n");
		return 121;
	}
	int connections = atoi(argv[2]), poll = epoll_create1(0);
	long requests = atol(argv[3]), sent = 0, answered = 0;
	struct timespec from, to;
	for (int i = 0; i < connections; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data.fd = connect_to(atoi(argv[1])) };
		epoll_ctl(poll, EPOLL_CTL_ADD, event.data.fd, &event);
		if (i == 0)
			clock_gettime(CLOCK_MONOTONIC, &from);
		request(event.data.fd, sent++);
	}
	while (answered < requests) {
		struct epoll_event events[64];
		int n = epoll_wait(poll, events, 64, 10000);
		if (n <= 0) {
			fprintf(stderr, "memcached_load: no answer for 10 s after %ld requests\n", answered);
			return 1;
		}
		for (int i = 0; i < n; i++) {
			char text[4096];
			int fd = events[i].data.fd;
			ssize_t size = recv(fd, text, sizeof text, 0);
			if (size <= 0 || !is_whole(text, (size_t)size)) {
				fprintf(stderr, "memcached_load: unexpected answer of %zd bytes\n", size);
				return 1;
			}
			answered++;
			if (sent < requests)
				request(fd, sent++);
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("%.0f\n",
	       (double)requests / ((double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9));
	return 0;
}
