/*
 * order-stress: records and replays small racy workloads under a scheme, with real threads, and says how often the
 * replay was another run. Exit status: 0 all good, 1 some were not, 2 could not run, 121 usage.
 *
 *   order-stress --list                    names of the schemes
 *   order-stress SCHEME [--runs=N] [--threads=2,4,8] [--workload=NAME,...] [--accesses=N] [--replays=N] [--seed=N]
 *                       [--chaos] [--weak] [--keep-going] [--stall=SECONDS]
 *   order-stress SCHEME --bench [--threads=..] [--workload=..] [--accesses=N] [--rounds=N]
 *   order-stress light --solve=SECONDS [--at-once] [--threads=..] [--workload=..] [--accesses=N]
 *
 * Every second round over the workloads yields at random between check and access; with --chaos all do.
 * --bench prints one JSON object a line; see bench/orders.py. --solve: how long light's schedule takes; see bench/light.py.
 * --at-once gives all of it to the solver in one piece, as the papers do.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include "host.h"
#include "runtime/order/light.h"
#include "weak.h"

enum { WORKLOADS_MOST = 64 };
static struct {
	const char *scheme;
	unsigned runs, replays, rounds, stall, solve;
	unsigned threads[16];
	unsigned chosen[WORKLOADS_MOST], count; /* workloads */
	uint64_t accesses, seed;
	bool chaos, bench, keep_going, at_once;
} set = { .runs = 20, .replays = 1, .rounds = 5, .stall = 10, .threads = { 2, 4, 8 }, .seed = 1 };

static _Noreturn void usage(const char *what, const char *word)
{
	fprintf(stderr, "order-stress: %s%s\nsee the head of tests/orders/parts/stress.c\n", what, word);
	exit(121);
}

/* ---- one recording and its replays ---------------------------------------------------------------------------------- */

static enum outcome record_and_replay(const struct order_scheme *scheme)
{
	enum outcome outcome = host_run(RECORD, scheme);

	if (outcome == GOOD && !strcmp(scheme->name, "light") &&
	    !host_solve(&(struct light_limits){ .seconds = set.stall * 6 }))
		outcome = CRASHED;
	for (unsigned i = 0; outcome == GOOD && i < set.replays; i++) {
		outcome = host_run(REPLAY, scheme);
		if (outcome == GOOD)
			outcome = host_compare();
	}
	return outcome;
}

static struct plan plan_of(unsigned run, uint64_t random)
{
	static const uint32_t ranges[] = { 2, 3, 10, 100, 1000, 1 };
	unsigned workload = set.chosen[run % set.count], kinds = 0;

	while (set.threads[kinds])
		kinds++;
	unsigned threads = set.threads[run / set.count % kinds];
	if (threads % workloads[workload].step)
		threads += workloads[workload].step - threads % workloads[workload].step;
	return (struct plan){
		.threads = threads,
		.workload = workload,
		.accesses = set.accesses ? set.accesses : 1500,
		.range = !strcmp(workloads[workload].name, "updates") ? ranges[random % 6] :
			 !strcmp(workloads[workload].name, "table")   ? 64 :
									256 * ((threads + 1) / 2),
		.share = random >> 8 & 1 ? 102 : 500,
		.seed = random,
		.chaos = set.chaos || run / set.count % 2,
		.verify = true,
		.stall = set.stall,
	};
}

/* Sizes that the workloads above need besides their shared range. */
static void widen(struct plan *p)
{
	if (p->range < 256 && !workloads[p->workload].native)
		p->range = 256;
}

static int stress(const struct order_scheme *scheme)
{
	unsigned bad[WORKLOADS_MOST] = { 0 }, count[WORKLOADS_MOST] = { 0 }, wrong = 0;
	uint64_t random = set.seed * 0x9E3779B97F4A7C15ull | 1, events = 0, entries = 0;

	for (unsigned run = 0; run < set.runs; run++) {
		random = xorshift(random);
		struct plan p = plan_of(run, random >> 13);
		widen(&p);
		host_plan(&p);
		enum outcome outcome = record_and_replay(scheme);
		count[p.workload]++;
		for (unsigned i = 0; i < p.threads; i++)
			events += left[i].events, entries += left[i].entries;
		if (outcome == GOOD)
			continue;
		bad[p.workload]++;
		if (wrong++ < 3)
			printf("%s %s: run %u, %u threads, seed %llu: %s: %s\n", scheme->name,
			       workloads[p.workload].name, run, p.threads, (unsigned long long)set.seed,
			       outcome_names[outcome], complaint);
		if (!set.keep_going)
			break;
	}
	printf("%s: %u of %u runs wrong, %llu events, %llu entries;", scheme->name, wrong, set.runs,
	       (unsigned long long)events, (unsigned long long)entries);
	for (unsigned i = 0; workloads[i].name; i++)
		if (count[i])
			printf(" %s %u/%u", workloads[i].name, bad[i], count[i]);
	printf("\n");
	return wrong ? 1 : 0;
}

/* ---- what it costs --------------------------------------------------------------------------------------------------- */

/* ns: the smallest of all rounds. */
struct cost {
	double cpu, wall;
};

static void smallest(struct cost *c)
{
	double cpu = 0, wall = 0;

	for (unsigned i = 0; i < plan.threads; i++) {
		cpu += left[i].cpu;
		if (left[i].wall > wall)
			wall = left[i].wall;
	}
	if (!c->cpu || cpu < c->cpu)
		c->cpu = cpu;
	if (!c->wall || wall < c->wall)
		c->wall = wall;
}

static size_t packed(void)
{
	size_t sum = 0;

	for (unsigned i = 0; i < plan.threads; i++) {
		size_t n = left[i].bytes - left[i].warm_bytes, room = ZSTD_compressBound(n);
		void *to = malloc(room);
		sum += n ? ZSTD_compress(to, room, left[i].log + left[i].warm_bytes, n, 3) : 0;
		free(to);
	}
	return sum;
}

static void run_or_die(enum host_mode mode, const struct order_scheme *scheme)
{
	enum outcome outcome = host_run(mode, scheme);

	if (outcome != GOOD) {
		fprintf(stderr, "order-stress: %s %s: %s: %s\n", scheme->name, workloads[plan.workload].name,
			outcome_names[outcome], complaint);
		exit(1);
	}
}

/* The log varies with luck: the median of all rounds. */
struct sizes {
	double bytes[64], zstd[64];
	unsigned n;
};

static void add_sizes(struct sizes *s)
{
	s->bytes[s->n] = 0;
	for (unsigned i = 0; i < plan.threads; i++)
		s->bytes[s->n] += (double)(left[i].bytes - left[i].warm_bytes);
	s->zstd[s->n++] = (double)packed();
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *of, unsigned n)
{
	qsort(of, n, sizeof *of, by_size);
	return of[n / 2];
}

/* ns per event of the last recording; 0: a scheme that is not exact did not get through. tried, same: such replays, and how
   many of them were the same run. */
static double measure_replay(const struct order_scheme *scheme, unsigned *tried, unsigned *same)
{
	struct cost cost = { 0 };
	double events = 0;

	*tried = *same = 0;

	for (unsigned i = 0; i < plan.threads; i++)
		events += (double)(left[i].events - left[i].warm_events);
	if (!strcmp(scheme->name, "light") && !host_solve(&(struct light_limits){ .seconds = 10 }))
		return 0;
	bool exact = !strncmp(scheme->guarantee, "exact", 5);
	plan.stall = exact ? plan.stall : 3; /* those that stand still are told soon */
	for (; *tried < (set.rounds < 3 ? 1 : 3); ++*tried) {
		if (exact)
			run_or_die(REPLAY, scheme);
		else if (host_run(REPLAY, scheme) != GOOD)
			continue;
		*same += host_compare() == GOOD;
		smallest(&cost);
	}
	return cost.cpu / events;
}

static struct plan plan_of_bench(unsigned workload, unsigned threads)
{
	uint64_t total = set.accesses ? set.accesses : 400000;
	struct plan p = {
		.threads = threads,
		.workload = workload,
		.range = 1 << 14,
		.share = 102,
		.pinned = true,
		.seed = set.seed,
		.stall = 60,
	};

	if (!strcmp(workloads[workload].name, "updates"))
		p.range = 1000;
	if (!strcmp(workloads[workload].name, "private"))
		p.range = 1 << 15, p.share = 1;
	if (!strcmp(workloads[workload].name, "visited"))
		p.range = 1 << 15;
	if (!strcmp(workloads[workload].name, "pingpong"))
		total /= 10;
	p.accesses = total / threads;
	p.warm = p.accesses / 2;
	return p;
}

/* Costs are told per access that the workload asks for: looks at a flag that has not come are no work. */
static void measure(const struct order_scheme *scheme, unsigned workload, unsigned threads)
{
	struct cost native = { 0 }, record = { 0 };
	long native_memory = 0, record_memory = 0;
	unsigned tried, same;
	struct sizes sizes = { .n = 0 };
	struct plan p = plan_of_bench(workload, threads);
	double accesses = (double)(p.accesses * threads);

	host_plan(&p);
	for (unsigned i = 0; i < set.rounds && i < 64; i++) {
		run_or_die(NATIVE, scheme);
		smallest(&native);
		native_memory = host_memory;
		run_or_die(RECORD, scheme);
		smallest(&record);
		record_memory = host_memory;
		add_sizes(&sizes);
	}
	printf("{\"scheme\": \"%s\", \"workload\": \"%s\", \"threads\": %u, \"native\": %.3f, \"record\": %.3f, "
	       "\"native_wall\": %.3f, \"record_wall\": %.3f, \"bytes\": %.2f, \"zstd\": %.2f, ",
	       scheme->name, workloads[workload].name, threads, native.cpu / accesses, record.cpu / accesses,
	       native.wall / accesses, record.wall / accesses, median(sizes.bytes, sizes.n) * 1000 / accesses,
	       median(sizes.zstd, sizes.n) * 1000 / accesses);
	fflush(stdout);
	double replay = measure_replay(scheme, &tried, &same);
	printf("\"replay\": %.3f, \"tried\": %u, \"same\": %u, \"native_kib\": %ld, \"record_kib\": %ld}\n", replay,
	       tried, same, native_memory, record_memory);
	fflush(stdout);
}

/* How long a schedule takes, by the size of the log. */
static void measure_solving(const struct order_scheme *scheme, unsigned workload, unsigned threads)
{
	struct plan p = plan_of_bench(workload, threads);
	struct light_limits limits = { .seconds = set.solve, .every = set.at_once, .window = set.at_once ? ~0u : 0 };

	p.warm = 0;
	host_plan(&p);
	run_or_die(RECORD, scheme);
	uint64_t bytes = 0, entries = 0;
	for (unsigned i = 0; i < threads; i++)
		bytes += left[i].bytes, entries += left[i].entries;
	bool solved = host_solve(&limits);
	printf("{\"workload\": \"%s\", \"threads\": %u, \"accesses\": %llu, \"bytes\": %llu, \"entries\": %llu, "
	       "\"flows\": %zu, \"events\": %zu, \"wrongs\": %zu, \"windows\": %zu, \"largest\": %zu, "
	       "\"choices\": %zu, \"seconds\": %.3f, \"solved\": %s}\n",
	       workloads[workload].name, threads, (unsigned long long)(p.accesses * threads), (unsigned long long)bytes,
	       (unsigned long long)entries, host_solved.flows, host_solved.events, host_solved.wrongs,
	       host_solved.windows, host_solved.largest, host_solved.choices, host_solved.seconds,
	       solved ? "true" : "false");
	fflush(stdout);
}

static int bench(const struct order_scheme *scheme)
{
	for (unsigned i = 0; i < set.count; i++)
		for (unsigned k = 0; set.threads[k]; k++)
			if (workloads[set.chosen[i]].native && set.threads[k] % workloads[set.chosen[i]].step == 0)
				(set.solve ? measure_solving : measure)(scheme, set.chosen[i], set.threads[k]);
	return 0;
}

/* ---- the command ----------------------------------------------------------------------------------------------------- */

static const char *value(const char *word, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(word, name, n) && word[n] == '=' ? word + n + 1 : 0;
}

static uint64_t number_of(const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 10);

	if (!*text || *end)
		usage("not a number: ", text);
	return n;
}

static void read_threads(char *list)
{
	unsigned n = 0;

	for (char *word = strtok(list, ","); word && n < 15; word = strtok(0, ",")) {
		set.threads[n] = (unsigned)number_of(word);
		if (!set.threads[n] || set.threads[n] > MAX_THREADS - 1)
			usage("threads are 1 to 127, not ", word);
		n++;
	}
	set.threads[n] = 0;
}

static void read_workloads(char *list)
{
	for (char *word = strtok(list, ","); word && set.count < WORKLOADS_MOST; word = strtok(0, ",")) {
		unsigned i = 0;
		while (workloads[i].name && strcmp(workloads[i].name, word))
			i++;
		if (!workloads[i].name)
			usage("no workload ", word);
		set.chosen[set.count++] = i;
	}
}

static void read_word(char *word)
{
	const char *v;

	if ((v = value(word, "--runs")))
		set.runs = (unsigned)number_of(v);
	else if ((v = value(word, "--replays")))
		set.replays = (unsigned)number_of(v);
	else if ((v = value(word, "--rounds")))
		set.rounds = (unsigned)number_of(v);
	else if ((v = value(word, "--stall")))
		set.stall = (unsigned)number_of(v);
	else if ((v = value(word, "--solve")))
		set.solve = (unsigned)number_of(v);
	else if ((v = value(word, "--seed")))
		set.seed = number_of(v);
	else if ((v = value(word, "--accesses")))
		set.accesses = number_of(v);
	else if ((v = value(word, "--threads")))
		read_threads((char *)v);
	else if ((v = value(word, "--workload")))
		read_workloads((char *)v);
	else if (!strcmp(word, "--chaos"))
		set.chaos = true;
	else if (!strcmp(word, "--weak"))
		weak_memory = true;
	else if (!strcmp(word, "--bench"))
		set.bench = true;
	else if (!strcmp(word, "--at-once"))
		set.at_once = true;
	else if (!strcmp(word, "--keep-going"))
		set.keep_going = true;
	else if (*word == '-' || set.scheme)
		usage("what is ", word);
	else
		set.scheme = word;
}

static int list(void)
{
	for (unsigned i = 0; order_schemes[i]; i++)
		printf("%s\t%s\t%s\n", order_schemes[i]->name, order_schemes[i]->guarantee, order_schemes[i]->summary);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--list"))
		return list();
	for (int i = 1; i < argc; i++)
		read_word(argv[i]);
	const struct order_scheme *scheme = set.scheme ? order_find(set.scheme) : 0;
	if (!scheme)
		usage(set.scheme ? "no scheme " : "name a scheme", set.scheme ? set.scheme : "");
	if (!set.count)
		while (workloads[set.count].name)
			set.chosen[set.count] = set.count, set.count++;
	host_open();
	if (set.solve && strcmp(scheme->name, "light"))
		usage("--solve is for light, not for ", scheme->name);
	return set.bench || set.solve ? bench(scheme) : stress(scheme);
}
