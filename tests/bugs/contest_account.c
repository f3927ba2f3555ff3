/*
 * ConTest "Account": wrong lock. A transfer takes the lock of the account that it takes from, and not of the one that it gives
 * to. Two transfers to one account: both read its balance, both write, and one gift is lost. What could go wrong: the
 * accesses are locked, only not by the same lock; who takes them for safe loses their order.
 */
// run: fails gallery
// explain: @read before @write
#include "bugs.h"

enum { ACCOUNTS = 3, START = 1000, TRANSFERS = 40 };
static struct {
	pthread_mutex_t lock;
	long balance;
} accounts[ACCOUNTS];
static unsigned wrong;
static uint64_t seen[TEAM_MAX];

static void prepare(void)
{
	for (unsigned i = 0; i < ACCOUNTS; i++)
		accounts[i].balance = START;
}

static void transfer(unsigned from, unsigned to, long amount, uint64_t *hash)
{
	pthread_mutex_lock(&accounts[from].lock);
	accounts[from].balance -= amount;
	long balance = accounts[to].balance; // @read
	note(hash, (uint64_t)balance);
	LOOK_AGAIN();
	accounts[to].balance = balance + amount; // @write
	pthread_mutex_unlock(&accounts[from].lock);
}

static void act(unsigned me)
{
	uint32_t random = me + 1;

	for (unsigned i = 0; i < rounds(TRANSFERS); i++) {
		unsigned from = (me + i) % ACCOUNTS;
		transfer(from, (from + 1 + draw(&random) % (ACCOUNTS - 1)) % ACCOUNTS, draw(&random) % 100, &seen[me]);
	}
}

static void judge(void)
{
	long sum = 0;

	for (unsigned i = 0; i < ACCOUNTS; i++)
		sum += accounts[i].balance;
	wrong += sum != ACCOUNTS * START;
}

int main(int argc, char **argv)
{
	repeat_size(argc, argv, 30);
	for (unsigned i = 0; i < ACCOUNTS; i++)
		pthread_mutex_init(&accounts[i].lock, NULL);
	team_repeat(prepare, act, judge);
	for (unsigned i = 0; i < team; i++)
		printf("thread %u saw %016llx\n", i, (unsigned long long)seen[i]);
	return verdict(wrong, "rounds lost or made money");
}
