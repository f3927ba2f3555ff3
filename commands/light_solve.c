/*
 * The schedule that light's replay follows: see commands/light.h for the words.
 *
 * The walk is right but for some places. Around each a window is cut from it and given to Z3. All nodes of a window
 * come after those before it and before those after it; if there is no schedule so, the window is widened, to twice its
 * size, and over the windows before it that it touches: in the end it is the whole walk. With limits.every window by
 * window over everything, whether the walk was right or not: for measuring the solver.
 *
 * The result is checked by is_schedule(), which shares no code with the constraints, and becomes edges.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "commands/light.h"

enum { WINDOW = 200 };

struct solving {
	const struct problem *p;
	struct walk walk;
	const struct light_limits *limits;
	struct light_outcome *outcome;
	int64_t *schedule;
	struct window w;
	size_t *begins; /* of the windows before this one: where each began */
	size_t *ends;
	size_t windows;
	double began;
};

static double now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void tell(const struct solving *s, size_t done)
{
	if (s->limits->progress)
		s->limits->progress(done, s->p->nodes, now() - s->began);
}

/* The walk's own order, where a window had put another. */
static void put_back(struct solving *s, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		s->schedule[i] = s->walk.order[i];
}

/* Windows before this one that it touches become part of it. */
static void join_windows(struct solving *s)
{
	while (s->windows && s->ends[s->windows - 1] > s->w.from) {
		s->windows--;
		s->w.from = least(s->w.from, s->begins[s->windows]);
		put_back(s, s->begins[s->windows], s->ends[s->windows]);
	}
}

static void widen(struct solving *s)
{
	size_t size = s->w.to - s->w.from;

	s->w.to = s->p->nodes - s->w.to > size / 2 ? s->w.to + size / 2 + 1 : s->p->nodes;
	s->w.from = s->w.from > size / 2 ? s->w.from - size / 2 : 0;
	join_windows(s);
}

/* ---- a window, in a process of its own --------------------------------------------------------------------------- */

/* What the child has found; the schedule follows. */
struct found {
	enum answer answer;
	size_t choices;
	int64_t order[];
};

/* Z3 does not look at its clock while it prepares, and cannot be stopped: so it works in a child that can. */
static enum answer wait_for(pid_t child, const struct found *found, double until)
{
	int status;

	while (waitpid(child, &status, WNOHANG) == 0) {
		if (until && now() > until) {
			kill(child, SIGKILL);
			waitpid(child, &status, 0);
			return TIME_IS_UP;
		}
		nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
	}
	return WIFEXITED(status) && !WEXITSTATUS(status) ? found->answer : TIME_IS_UP;
}

static enum answer solve_in_child(struct solving *s, double seconds)
{
	size_t n = s->w.to - s->w.from, size = sizeof(struct found) + n * sizeof(int64_t);
	struct found *found = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	double until = seconds ? now() + seconds : 0;

	if (found == MAP_FAILED)
		zeroed(SIZE_MAX / 2, 1); /* says so, and ends */
	pid_t child = fork();
	if (!child) {
		found->answer = solve_window(&s->w, s->schedule, seconds);
		found->choices = s->w.choices;
		for (size_t i = 0; i < n; i++)
			found->order[i] = s->schedule[s->w.from + i];
		_exit(0);
	}
	enum answer answer = child < 0 ? solve_window(&s->w, s->schedule, seconds) : wait_for(child, found, until);
	for (size_t i = 0; child > 0 && answer == SCHEDULE && i < n; i++)
		s->schedule[s->w.from + i] = found->order[i];
	s->w.choices = child > 0 && answer != TIME_IS_UP ? found->choices : s->w.choices;
	munmap(found, size);
	return answer;
}

static enum answer try_window(struct solving *s)
{
	double left = s->limits->seconds - (now() - s->began);

	if (s->w.to - s->w.from > s->outcome->largest)
		s->outcome->largest = s->w.to - s->w.from;
	if (s->limits->seconds && left <= 0)
		return TIME_IS_UP;
	return solve_in_child(s, s->limits->seconds ? left : 0);
}

/* s->w, or more. false: see outcome->problem. */
static bool order_window(struct solving *s)
{
	enum answer answer;

	while ((answer = try_window(s)) == NO_SCHEDULE && s->w.to - s->w.from < s->p->nodes)
		widen(s);
	tell(s, s->w.to);
	if (answer == TIME_IS_UP)
		s->outcome->problem = SCHEDULE_TIME_IS_UP;
	else if (answer == NO_SCHEDULE)
		s->outcome->problem = "these flows have no schedule: the log is damaged";
	s->begins[s->windows] = s->w.from;
	s->ends[s->windows++] = s->w.to;
	s->outcome->windows++;
	return answer == SCHEDULE;
}

static bool solve_everywhere(struct solving *s, size_t size)
{
	size_t done = 0;

	while (done < s->p->nodes) {
		s->w.from = done;
		s->w.to = s->p->nodes - done > size ? done + size : s->p->nodes;
		if (!order_window(s))
			return false;
		done = s->w.to;
	}
	return true;
}

/* The flows that the write at `place` has cut in two are in the window whole. */
static void take_in(const struct solving *s, size_t place, size_t *from, size_t *to)
{
	const struct problem *p = s->p;
	const struct node *n = &p->node[s->walk.order[place]];

	for (unsigned k = 0; k < 2 && n->granule[k] != NONE; k++)
		for (size_t i = p->of_granule.from[n->granule[k] + 1]; i > p->of_granule.from[n->granule[k]]; i--) {
			const struct flow *f = &p->flow[p->of_granule.item[i - 1]];
			size_t begins = f->write == NONE ? 0 : s->walk.place[f->write], ends = s->walk.place[f->last];
			if (s->walk.latest[i - 1] <= place)
				break; /* nor does any before it reach so far */
			if (begins >= place || ends <= place)
				continue;
			*from = least(*from, begins);
			*to = ends + 1 > *to ? ends + 1 : *to;
		}
}

static bool solve_wrong_places(struct solving *s, size_t size)
{
	size_t done = 0;

	for (size_t i = 0; i < s->walk.wrongs; i++) {
		size_t place = s->walk.wrong[i];
		size_t from = place > size / 2 ? place - size / 2 : 0, to = least(place + size / 2 + 1, s->p->nodes);
		if (place < done)
			continue; /* in the window before */
		take_in(s, place, &from, &to);
		s->w.from = from;
		s->w.to = to;
		join_windows(s);
		if (!order_window(s))
			return false;
		done = s->w.to;
	}
	return true;
}

static bool solve_all(struct solving *s)
{
	size_t size = s->limits->window ? s->limits->window : WINDOW;
	bool fine;

	s->began = now();
	s->outcome->wrongs = s->walk.wrongs;
	s->w = (struct window){ .p = s->p, .walk = &s->walk, .plain = s->limits->every };
	s->begins = zeroed(s->p->nodes + 1, sizeof *s->begins);
	s->ends = zeroed(s->p->nodes + 1, sizeof *s->ends);
	put_back(s, 0, s->p->nodes);
	fine = s->limits->every ? solve_everywhere(s, size) : solve_wrong_places(s, size);
	if (fine && !is_schedule(s->p, s->schedule)) {
		s->outcome->problem = "the schedule found is none: this is a bug of heddle's";
		fine = false;
	}
	s->outcome->choices = s->w.choices;
	free(s->begins);
	free(s->ends);
	return fine;
}

static const char *read_flows(struct order_log_text *logs, uint32_t threads, const struct light_limits *limits,
			      struct light_flows *flows)
{
	for (uint32_t i = 0; i < threads; i++)
		if (!light_flows_of(i, logs[i].entry, logs[i].n, flows))
			return "this is no log of light's, or it has been solved already";
	for (size_t i = 0; i < flows->n; i++) {
		if (flows->at[i].writer >= (int64_t)threads)
			return "a flow comes from a thread that there is not: the log is damaged";
		if (flows->at[i].write < limits->first)
			flows->at[i].writer = -1; /* before the fork: it was there at first */
	}
	return NULL;
}

int light_solve(struct order_log_text *logs, uint32_t threads, const struct light_limits *limits,
		struct light_outcome *outcome)
{
	struct light_flows flows = { 0 };
	struct problem p;
	double began = now();
	bool fine = false;

	*outcome = (struct light_outcome){ .problem = solver_load() };
	if (!outcome->problem)
		outcome->problem = read_flows(logs, threads, limits, &flows);
	if (!outcome->problem) {
		problem_open(&p, &flows, 0, threads);
		struct solving s = { .p = &p, .limits = limits, .outcome = outcome };
		outcome->flows = p.flows;
		outcome->events = p.nodes;
		s.schedule = zeroed(p.nodes, sizeof *s.schedule);
		if (walk_open(&s.walk, &p))
			fine = solve_all(&s);
		else
			outcome->problem = "the flows are circular: the log is damaged";
		if (fine)
			write_edges(&p, s.schedule, logs);
		walk_close(&s.walk);
		free(s.schedule);
		problem_close(&p);
	}
	free(flows.at);
	outcome->seconds = now() - began;
	return fine ? 0 : -1;
}

/* ---- all schedules of a written trace ---------------------------------------------------------------------------- */

struct telling {
	const struct problem *p;
	uint32_t *slots;
	uint64_t *events;
	void (*each)(void *arg, const uint32_t *slots, const uint64_t *events, size_t n);
	void *arg;
};

static void tell_schedule(void *arg, const int64_t *order)
{
	struct telling *t = arg;

	for (size_t i = 0; i < t->p->nodes; i++) {
		t->slots[i] = t->p->node[order[i]].slot;
		t->events[i] = t->p->node[order[i]].event;
	}
	t->each(t->arg, t->slots, t->events, t->p->nodes);
}

long light_schedules(const struct light_flows *flows, const uint64_t *events, uint32_t threads, long most,
		     void (*each)(void *arg, const uint32_t *slots, const uint64_t *events, size_t n), void *arg)
{
	struct problem p;
	struct walk walk;
	long found = 0;

	if (solver_load())
		return -2;
	problem_open(&p, flows, events, threads);
	if (walk_open(&walk, &p) && p.nodes) {
		struct window w = { .p = &p, .walk = &walk, .to = p.nodes };
		struct telling t = { &p, zeroed(p.nodes, sizeof *t.slots), zeroed(p.nodes, sizeof *t.events), each,
				     arg };
		found = solve_every(&w, most, tell_schedule, &t);
		free(t.slots);
		free(t.events);
	}
	walk_close(&walk);
	problem_close(&p);
	return found;
}
