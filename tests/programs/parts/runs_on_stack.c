/*
 * Runs code that it puts on its stacks: the first one, a thread's, and one that is too large for Heddle's own. With an
 * argument it loads that library first, while a thread waits, which ld.so makes the stacks executable for.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
static const uint8_t code[] = { 0xb8, 42, 0, 0, 0, 0xc3 }; /* mov $42, %eax; ret */
#else
static const uint32_t code[] = { 0x52800540, 0xd65f03c0 }; /* mov w0, #42; ret */
#endif

static sem_t go;

static int run_on_stack(void)
{
	_Alignas(16) char here[64];
	int (*function)(void);

	memcpy(here, code, sizeof code);
	__builtin___clear_cache(here, here + sizeof code);
	*(void **)&function = here;
	return function();
}

static void *thread(void *waits)
{
	if (waits)
		sem_wait(&go);
	return (void *)(intptr_t)run_on_stack();
}

static int in_thread(size_t size)
{
	pthread_attr_t attr;
	pthread_t id;
	void *result;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, size);
	pthread_create(&id, &attr, thread, 0);
	pthread_join(id, &result);
	return (int)(intptr_t)result;
}

int main(int argc, char **argv)
{
	pthread_t before;
	void *result;

	sem_init(&go, 0, 0);
	pthread_create(&before, 0, thread, &go);
	if (argc > 1 && !dlopen(argv[1], RTLD_NOW)) {
		puts(dlerror());
		return 1;
	}
	sem_post(&go);
	pthread_join(before, &result);
	printf("%d %d %d %d\n", run_on_stack(), (int)(intptr_t)result, in_thread(1 << 20), in_thread(64 << 20));
	return 0;
}
