/*
 * A bank with a data race: clerks move money between accounts, and nobody locks. Money only moves, so the sum in the
 * evening should be that of the morning. Most days it is.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { CLERKS = 3, ACCOUNTS = 4, TRANSFERS = 5, EACH = 1000 };
static long accounts[ACCOUNTS] = { EACH, EACH, EACH, EACH };

static void transfer(unsigned from, unsigned to, long amount)
{
	long have = accounts[from]; /* another clerk may come between this line ... */
	if (have < amount)
		return;
	accounts[from] = have - amount; /* ... and this one: his change is lost */
	accounts[to] += amount;
}

static void *clerk(void *number)
{
	unsigned dice = (unsigned)(size_t)number * 2654435761u + 1;

	for (int i = 0; i < TRANSFERS; i++) {
		dice = dice * 1664525 + 1013904223;
		transfer(dice >> 16 & 3, dice >> 20 & 3, dice >> 24 & 127);
	}
	return NULL;
}

int main(void)
{
	pthread_t clerks[CLERKS];
	long sum = 0;

	for (size_t i = 0; i < CLERKS; i++)
		pthread_create(&clerks[i], NULL, clerk, (void *)i);
	for (size_t i = 0; i < CLERKS; i++)
		pthread_join(clerks[i], NULL);
	for (int i = 0; i < ACCOUNTS; i++) {
		printf("account %d: %ld  ", i, accounts[i]);
		sum += accounts[i];
	}
	printf("sum: %ld%s\n", sum, sum == ACCOUNTS * EACH ? "" : "  WRONG");
	return sum != ACCOUNTS * EACH;
}
