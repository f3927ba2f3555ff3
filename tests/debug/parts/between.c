/*
 * Thread 1 reads a sum and writes it back with more; thread 2 comes between and its change is lost. Semaphores see to it that this
 * happens in every run; `whole` makes each update one step. A second variable is raced for, from functions two calls deep.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

static sem_t read_it, wrote_it;
static long sum = 100;
static int whole, seen;

static void touch(int value)
{
	seen = value; /* line of the race */
}

static void visit(int value)
{
	touch(value);
}

static void *deposit(void *unused)
{
	visit(1);
	long have = sum; /* line of the read */
	if (whole)
		sum = have + 10;
	sem_post(&read_it);
	sem_wait(&wrote_it);
	if (!whole)
		sum = have + 10; /* line of the write */
	return unused;
}

static void *withdraw(void *unused)
{
	visit(2);
	sem_wait(&read_it);
	sum -= 30; /* line between */
	sem_post(&wrote_it);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t a, b;

	whole = argc > 1 && !strcmp(argv[1], "whole");
	sem_init(&read_it, 0, 0);
	sem_init(&wrote_it, 0, 0);
	pthread_create(&a, NULL, deposit, NULL);
	pthread_create(&b, NULL, withdraw, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%ld\n", sum);
	return sum != 80;
}
