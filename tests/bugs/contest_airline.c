/*
 * ConTest "AirlineTickets": not atomic. Tickets are sold while some are left; between look and sale others sell the last one.
 * What could go wrong: the counter falls below zero only if one read comes before the write of another sale and its write
 * after; a scheme that orders writes alone sells the right number.
 */
// run: fails gallery
// explain: @look before @sell
#include "bugs.h"

enum { SEATS = 40 };
static int left;
static unsigned wrong;
static unsigned long sold[TEAM_MAX];

static void prepare(void)
{
	left = SEATS;
	memset(sold, 0, sizeof sold);
}

static void act(unsigned me)
{
	while (left > 0) { // @look
		LOOK_AGAIN();
		sold[me]++;
		left = left - 1; // @sell
		LOOK_AGAIN();
	}
}

static void judge(void)
{
	unsigned long sum = 0;

	for (unsigned i = 0; i < team; i++)
		sum += sold[i];
	wrong += sum != SEATS;
	if (alive % 16 == 0 || sum != SEATS)
		printf("round %lu: sold %lu, thread 0 %lu of them\n", alive, sum, sold[0]);
}

int main(int argc, char **argv)
{
	repeat_size(argc, argv, 100);
	team_repeat(prepare, act, judge);
	return verdict(wrong, "flights with a wrong number of tickets");
}
