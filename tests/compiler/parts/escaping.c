/* --select=escape leaves out what it may, and nothing else: the comment at a line says what becomes of its accesses. A wrong one
   of the kept would be a race that nobody records. compiler.py reads the comments. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list {
	struct list *next;
	long value;
};

static int counter, plain, config[10], late_config, guarded, half_guarded, only_main, cond_guarded;
static char name[40], late_name[40];
static struct list *queue;
static int *through_global[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static __thread long own;
static long *lent;

__attribute__((noinline)) static void prepare(int n)
{
	for (int i = 0; i < 10; i++)
		config[i] = n + i;	       // out: only written before
	snprintf(name, sizeof name, "n%d", n); // out: only written before
}

__attribute__((noinline)) static long sum(const struct list *l)
{
	long total = 0;

	for (; l; l = l->next)	   // out: no other thread
		total += l->value; // out: no other thread
	return total;
}

__attribute__((noinline)) static struct list *push(struct list *l, long value)
{
	struct list *new = malloc(sizeof *new);

	new->next = l;	    // out: no other thread
	new->value = value; // out: no other thread
	return new;
}

__attribute__((noinline)) static void release(void)
{
	pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
	int *number = arg;
	struct list *mine = NULL;

	counter++;	   // kept
	plain = config[3]; // out: only written before; kept
	own += config[4];
	pthread_mutex_lock(&lock);
	guarded++;	      // out: mutex lock
	half_guarded++;	      // kept
	while (!cond_guarded) // out: mutex lock
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	pthread_mutex_lock(&other);
	half_guarded++; // kept
	pthread_mutex_unlock(&other);
	pthread_mutex_lock(&lock);
	release();
	late_config++; // kept
	for (int i = 0; i < 5; i++)
		mine = push(mine, i);
	own += sum(mine);
	*number += (int)own;		   // kept
	lent = &own;			   // kept
	*through_global[*number & 1] += 1; // kept
	struct list *seen = queue;	   // kept
	if (seen)
		seen->value++;		    // kept
	printf("%zu\n", strlen(name));	    // out: only written before
	printf("%zu\n", strlen(late_name)); // kept
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int number = argc;

	(void)argv;
	prepare(argc);
	through_global[0] = through_global[1] = calloc(1, sizeof(int)); // out: only written before
	late_config = 1;						// kept
	pthread_create(&thread, NULL, work, &number);
	late_config = 2;	   // kept
	strcpy(late_name, "late"); // kept
	only_main++;		   // out: only the first thread
	struct list *shared = malloc(sizeof *shared);
	shared->value = 1;   // kept
	shared->next = NULL; // kept
	queue = shared;	     // kept
	pthread_mutex_lock(&lock);
	guarded++;	  // out: mutex lock
	cond_guarded = 1; // out: mutex lock
	pthread_cond_signal(&changed);
	half_guarded++; // kept
	pthread_mutex_unlock(&lock);
	counter++; // kept
	pthread_join(thread, NULL);
	*lent += 1; // kept
	printf("%d %d\n", only_main, number);
	return 0;
}
