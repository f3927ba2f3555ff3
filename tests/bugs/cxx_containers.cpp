/*
 * A string, a map, a list and a hash table of C++ that one thread changes while others read them, without a lock.
 * What could go wrong: much of std::string, the trees behind std::map and the nodes of std::list are compiled into libstdc++,
 * where nobody would see an access.
 */
// run: fails
#include "bugs.h"
#include <list>
#include <map>
#include <string>
#include <unordered_map>

enum { ROUNDS = 300, STEPS = 12 };
static std::string text, other = "b";
/* Nothing is ever taken out: who walks on from a node comes to an end. */
static std::map<unsigned, unsigned> tree;
static std::list<unsigned> list;
static std::unordered_map<unsigned, unsigned> table;
static uint64_t seen[TEAM_MAX];
static unsigned strange[TEAM_MAX];
static volatile int over;

static void change_text(unsigned i)
{
	text.assign(i % 40 + 1, (char)('a' + i % 7));
	text += other;
	other.append(text, 0, 3);
	if (other.size() > 60)
		other.erase(2, 50);
	breathe(i + 1);
	text.insert(0, "xy");
	text.replace(0, 2, "z");
}

static void change(unsigned me)
{
	uint32_t state = me + 3;

	for (unsigned i = 0; i < rounds(ROUNDS); i++) {
		unsigned key = draw(&state) % 5000;
		change_text(i);
		tree[key] = i;
		list.push_back(key);
		if (i % 16 == 0)
			list.reverse();
		breathe(i);
		table[key] = i;
	}
	over = 1;
}

static void look_at_text(unsigned me)
{
	size_t n = text.size();
	const char *p = text.data();
	unsigned char first = (unsigned char)p[0], last = (unsigned char)p[n > 90 ? 90 : n];

	note(&seen[me], n + 256 * first + 65536 * last + (other.compare("b") == 0));
	strange[me] += last != 0;
}

static void look_at_nodes(unsigned me, unsigned key)
{
	unsigned steps = 0, before = 0;
	uint64_t sum = key;

	for (auto at = tree.lower_bound(key); at != tree.end() && steps++ < STEPS; ++at) {
		strange[me] += before > at->first;
		before = at->first;
		sum = sum * 31 + at->second;
	}
	steps = 0;
	for (auto at = list.begin(); at != list.end() && steps++ < STEPS; ++at)
		sum = sum * 31 + *at;
	steps = 0;
	for (auto at = table.begin(); at != table.end() && steps++ < STEPS; ++at)
		sum = sum * 31 + (at->first ^ at->second);
	note(&seen[me], sum);
}

static void look(unsigned me)
{
	unsigned turns = 0;
	uint32_t state = me;

	while (!over) {
		look_at_text(me);
		look_at_nodes(me, draw(&state) % 5000);
		spin(&turns);
	}
}

static void work(unsigned me)
{
	me ? look(me) : change(me);
}

int main(int argc, char **argv)
{
	unsigned all = 0;

	team_size(argc, argv);
	text.reserve(200);
	other.reserve(200);
	team_run(work);
	for (unsigned i = 0; i < team; i++) {
		printf("thread %u saw %016llx\n", i, (unsigned long long)seen[i]);
		all += strange[i];
	}
	return verdict(all, "strings without an end, or keys out of order");
}
