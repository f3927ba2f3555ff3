/*
 * Functions that are found by dlsym() in libc itself, as Python's ctypes does: memory of one allocator must not be freed by
 * another, and a mutex must be the same one for both. What could go wrong: the program gets libc's own past us.
 */
// run: flags="-pthread" same
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int (*take)(pthread_mutex_t *);
static unsigned long count;

static void *work(void *unused)
{
	for (int i = 0; i < 1000; i++) {
		(i % 2 ? take : pthread_mutex_lock)(&lock);
		count++;
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

int main(void)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW);
	void (*give_back)(void *) = (void (*)(void *))dlsym(libc, "free");
	char *(*copy)(const char *) = (char *(*)(const char *))dlsym(libc, "strdup");
	void *(*page)(size_t) = (void *(*)(size_t))dlsym(libc, "__libc_valloc");
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
		(int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(libc, "pthread_create");
	take = (int (*)(pthread_mutex_t *))dlsym(libc, "pthread_mutex_lock");
	char *text = copy("of libc");
	printf("%s\n", text);
	give_back(text);
	free(copy("of libc, given back here"));
	give_back(malloc(100));
	if (page)
		free(page(100));
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("%lu\n", count);
	return 0;
}
