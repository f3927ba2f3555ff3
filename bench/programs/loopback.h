/*
 * For the kernels with a server and clients in one process: a listener on loopback, and a servant thread for each
 * connection.
 */
#include "kernels.h"
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

static int listener;
static struct sockaddr_in address = { .sin_family = AF_INET };

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void listen_here(void)
{
	socklen_t length = sizeof address;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) ||
	    listen(listener, THREADS_MAX) || getsockname(listener, (struct sockaddr *)&address, &length))
		die("listen");
}

/* Takes one connection for each thread of the team, and serves each in a thread. */
static void *serve(void *serve_one)
{
	pthread_t servants[THREADS_MAX];

	for (unsigned i = 0; i < threads; i++) {
		int fd = accept(listener, NULL, NULL), one = 1;
		if (fd < 0)
			die("accept");
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		if (pthread_create(&servants[i], NULL, (void *(*)(void *))serve_one, (void *)(intptr_t)fd))
			die("pthread_create");
	}
	for (unsigned i = 0; i < threads; i++)
		pthread_join(servants[i], NULL);
	return NULL;
}
