/*
 * The reference model: every run that there is.
 *
 * One run is a sequence of choices: at each step one of the threads that can go on is chosen, and runs until it has
 * done its event, waits, or comes to a place where another might interfere (order_chaos(), and between before, access
 * and after). A run is repeated from its beginning with the choices of the run before, the last one changed, until
 * there is no other: an exhaustive search that needs no copy of a state.
 */
#include "model_run.h"
#ifdef HEDDLE_TOOL
#include <stdlib.h>
#include <string.h>

static struct plan *plan;

static unsigned choose(unsigned n)
{
	if (n == 1)
		return 0;
	if (plan->random) {
		plan->random ^= plan->random << 13;
		plan->random ^= plan->random >> 7;
		plan->random ^= plan->random << 17;
		return (unsigned)((plan->random >> 20) % n);
	}
	if (plan->at == STEPS)
		return 0;
	if (plan->at == plan->n) {
		plan->choice[plan->n] = 0;
		plan->of[plan->n++] = n;
	}
	return plan->choice[plan->at++];
}

/* False: that was the last. */
static bool next_plan(void)
{
	plan->at = 0;
	while (plan->n && plan->choice[plan->n - 1] + 1 == plan->of[plan->n - 1])
		plan->n--;
	if (!plan->n)
		return false;
	plan->choice[plan->n - 1]++;
	return true;
}

static void run_choices(void)
{
	for (;;) {
		uint32_t can[MODEL_THREADS];
		unsigned n = 0, left = 0;
		for (uint32_t i = 0; i < run.trace->threads; i++) {
			left += !run.threads[i].ended;
			if (run_can_go_on(&run.threads[i]))
				can[n++] = i;
		}
		if (run.failed || !left)
			return;
		if (!n) {
			snprintf(run.failure, sizeof run.failure, "nobody can go on: %u threads wait for ever", left);
			run.failed = true;
			return;
		}
		run_step(&run.threads[can[choose(n)]]);
	}
}

static void check_memory(void)
{
	for (unsigned i = 0; i < run.trace->objects && !run.failed; i++)
		if (run.memory[i] != run.memory_recorded[i]) {
			snprintf(run.failure, sizeof run.failure, "%s is %llu at the end, recorded was %llu",
				 run.trace->object[i], (unsigned long long)run.memory[i],
				 (unsigned long long)run.memory_recorded[i]);
			run.failed = true;
		}
}

static void tell_failure(struct model_result *r)
{
	size_t n = (size_t)snprintf(r->text, sizeof r->text, "%s; the events came as", run.failure);

	r->wrong = true;
	for (size_t i = 0; i < run.came_count && i < STEPS && n < sizeof r->text - 20; i++)
		n += (size_t)snprintf(r->text + n, sizeof r->text - n, " e%zu", run.came[i] + 1);
}

static void replay_once(struct model_result *r)
{
	run_set_up(true);
	run_choices();
	check_memory();
	r->replays++;
	if (run.failed)
		tell_failure(r);
}

/* light: the log of the recording becomes the one that replay reads. */
static void solve_log(struct model_result *r)
{
	struct order_log_text logs[MODEL_THREADS] = { 0 };

	if (!run.scheme->solve)
		return;
	for (uint32_t i = 0; i < run.trace->threads; i++) {
		logs[i] = (struct order_log_text){ run_memory(ENTRIES * sizeof(struct order_entry)),
						   run.threads[i].entries, ENTRIES };
		memcpy(logs[i].entry, run.threads[i].entry, logs[i].n * sizeof(struct order_entry));
	}
	const char *problem = run.scheme->solve(logs, run.trace->threads, 0, 0, 0);
	for (uint32_t i = 0; i < run.trace->threads; i++) {
		if (!problem && logs[i].n > ENTRIES)
			problem = "the solved log is too long for the model";
		if (!problem)
			memcpy(run.threads[i].entry, logs[i].entry, logs[i].n * sizeof(struct order_entry));
		run.threads[i].entries = problem ? run.threads[i].entries : logs[i].n;
		free(logs[i].entry);
	}
	r->wrong = problem != 0;
	snprintf(r->text, sizeof r->text, "%s", problem ? problem : "");
}

/* In turn up to `limit`, then as many again at random, stopping within events too. */
static void check_replays(uint64_t limit, struct model_result *r, struct plan *p)
{
	uint64_t first = r->replays;

	solve_log(r);
	*p = (struct plan){ 0 };
	plan = p;
	run.searches = false;
	bool more = true;
	while (more && !r->wrong && r->replays - first < limit) {
		replay_once(r);
		more = next_plan();
	}
	r->all = r->all && !more;
	run.searches = true;
	plan->random = 88172645463325252ull;
	for (uint64_t i = 0, n = more ? limit : r->replays - first; i < n && i < limit && !r->wrong; i++)
		replay_once(r);
	run.searches = false;
}

void model_check(uint64_t limit, struct model_result *r)
{
	struct plan *p = run_memory(sizeof *p);

	*r = (struct model_result){ .recordings = 1, .all = true };
	run.splits = false;
	check_replays(limit, r, p);
	free(p);
}

static bool record_once(struct plan *p)
{
	plan = p;
	run.searches = true;
	run_set_up(false);
	run_choices();
	memcpy(run.memory_recorded, run.memory, sizeof run.memory);
	return !run.failed;
}

void model_check_all(const struct order_scheme *s, const struct model_trace *t, uint64_t limit, struct model_result *r)
{
	struct plan *recording = run_memory(sizeof *recording), *replay = run_memory(sizeof *replay);
	bool more = true;

	if (run.trace)
		run_close();
	run_open(s, t);
	run.splits = false;
	*r = (struct model_result){ .all = true };
	for (; more && !r->wrong && r->recordings < 2 * limit; r->recordings++) {
		if (!record_once(recording))
			tell_failure(r);
		else
			check_replays(20, r, replay);
		plan = recording;
		if (recording->random)
			continue;
		more = next_plan();
		if (r->recordings + 1 == limit)
			recording->random = 88172645463325252ull;
	}
	r->all = r->all && !more && !recording->random;
	free(recording), free(replay);
}
#endif
