/*
 * Sparse Cholesky: the matrix of a grid whose points are ordered by nested dissection. A column is a task: when it is
 * done it is taken off the later columns that it touches, each under its lock, and a column from which nothing is to be
 * taken off any more goes into the shared queue. Free of races; but who is first there differs, so that the last digits
 * of the factor, and who did how many columns, differ from run to run.
 *
 * The result is right if the system that was factored has the solution that was put in.
 */
#include "kernels.h"
#include <math.h>
#include <string.h>

/* Column j of the factor: rows[0] is j, the others follow in order; values in the same places. */
struct column {
	unsigned count, *rows;
	double *values;
	unsigned waits_for; /* columns that are still to be taken off */
	pthread_mutex_t lock;
};

static unsigned side, n;
static unsigned *order; /* of the grid's points, by their place in the matrix */
static unsigned *where; /* the other way round */
static struct column *columns;
static unsigned *queue, queue_head, queue_tail;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_more = PTHREAD_COND_INITIALIZER;
static unsigned done_by[THREADS_MAX];
static double worst;

/* The points of a rectangle: both halves first, then the line that parts them. */
static unsigned dissect(unsigned x, unsigned y, unsigned width, unsigned height, unsigned at)
{
	if (!width || !height)
		return at;
	if (width * height <= 3) {
		for (unsigned i = 0; i < width * height; i++)
			order[at++] = (y + i / width) * side + x + i % width;
	} else if (width >= height) {
		at = dissect(x, y, width / 2, height, at);
		at = dissect(x + width / 2 + 1, y, width - width / 2 - 1, height, at);
		for (unsigned i = 0; i < height; i++)
			order[at++] = (y + i) * side + x + width / 2;
	} else {
		at = dissect(x, y, width, height / 2, at);
		at = dissect(x, y + height / 2 + 1, width, height - height / 2 - 1, at);
		for (unsigned i = 0; i < width; i++)
			order[at++] = (y + height / 2) * side + x + i;
	}
	return at;
}

/* The neighbour of point p on side `which` of 4, if there is one. */
static bool neighbour(unsigned p, unsigned which, unsigned *q)
{
	unsigned x = p % side, y = p / side;

	switch (which) {
	case 0: *q = p - 1; return x > 0;
	case 1: *q = p + 1; return x + 1 < side;
	case 2: *q = p - side; return y > 0;
	default: *q = p + side; return y + 1 < side;
	}
}

static void add_row(struct column *column, unsigned char *seen, unsigned row)
{
	if (!seen[row]) {
		seen[row] = 1;
		column->rows[column->count++] = row;
	}
}

static int compare(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return (x > y) - (x < y);
}

/* Which places of the factor are not 0: those of the matrix, and those of each column whose first row below is this. */
static void find_shape(void)
{
	unsigned char *seen = allocate(n);
	unsigned *rows = allocate(n * sizeof *rows), *first_child = allocate(n * sizeof *rows),
		 *next_child = allocate(n * sizeof *rows);

	memset(first_child, 0xff, n * sizeof *first_child);
	for (unsigned j = 0; j < n; j++) {
		struct column *column = &columns[j];
		column->count = 0;
		column->rows = rows;
		memset(seen, 0, n);
		add_row(column, seen, j);
		for (unsigned side_of = 0, q; side_of < 4; side_of++)
			if (neighbour(order[j], side_of, &q) && where[q] > j)
				add_row(column, seen, where[q]);
		for (unsigned c = first_child[j]; c != ~0u; c = next_child[c])
			for (unsigned i = 1; i < columns[c].count; i++)
				if (columns[c].rows[i] > j)
					add_row(column, seen, columns[c].rows[i]);
		qsort(rows, column->count, sizeof *rows, compare);
		column->rows = memcpy(allocate(column->count * sizeof *rows), rows, column->count * sizeof *rows);
		column->values = allocate(column->count * sizeof(double));
		if (column->count > 1) {
			next_child[j] = first_child[column->rows[1]];
			first_child[column->rows[1]] = j;
		}
	}
	free(seen);
	free(rows);
	free(first_child);
	free(next_child);
}

static double *value_at(struct column *column, unsigned row)
{
	unsigned low = 0, high = column->count;

	while (high - low > 1) {
		unsigned middle = (low + high) / 2;
		if (column->rows[middle] <= row)
			low = middle;
		else
			high = middle;
	}
	return &column->values[low];
}

static void fill(unsigned first, unsigned last)
{
	for (unsigned j = first; j < last; j++) {
		memset(columns[j].values, 0, columns[j].count * sizeof(double));
		columns[j].values[0] = 4.01;
		for (unsigned side_of = 0, q; side_of < 4; side_of++)
			if (neighbour(order[j], side_of, &q) && where[q] > j)
				*value_at(&columns[j], where[q]) = -1;
	}
}

/* Queue of columns that wait for nothing. It holds each once, so it never runs over. */
static void put(unsigned j)
{
	pthread_mutex_lock(&queue_lock);
	queue[queue_tail++] = j;
	pthread_cond_signal(&queue_more);
	if (queue_tail == n)
		pthread_cond_broadcast(&queue_more);
	pthread_mutex_unlock(&queue_lock);
}

static bool get(unsigned *j)
{
	bool found;

	pthread_mutex_lock(&queue_lock);
	while (queue_head == queue_tail && queue_tail < n)
		pthread_cond_wait(&queue_more, &queue_lock);
	found = queue_head < queue_tail;
	if (found)
		*j = queue[queue_head++];
	pthread_mutex_unlock(&queue_lock);
	return found;
}

/* Take column j, from its row i on, off the column of that row. */
static void take_off(const struct column *column, unsigned i)
{
	struct column *to = &columns[column->rows[i]];
	double factor = column->values[i];
	unsigned at = 0, waits_for;

	pthread_mutex_lock(&to->lock);
	for (unsigned k = i; k < column->count; k++) {
		while (to->rows[at] != column->rows[k])
			at++;
		to->values[at] -= factor * column->values[k];
	}
	waits_for = --to->waits_for;
	pthread_mutex_unlock(&to->lock);
	if (!waits_for)
		put(column->rows[i]);
}

static void finish(unsigned j)
{
	struct column *column = &columns[j];
	double root = sqrt(column->values[0]);

	for (unsigned i = 0; i < column->count; i++)
		column->values[i] /= root;
	column->values[0] = root;
	for (unsigned i = 1; i < column->count; i++)
		take_off(column, i);
}

static void begin(void)
{
	queue_head = queue_tail = 0;
	for (unsigned j = 0; j < n; j++)
		columns[j].waits_for = 0;
	for (unsigned j = 0; j < n; j++)
		for (unsigned i = 1; i < columns[j].count; i++)
			columns[columns[j].rows[i]].waits_for++;
	for (unsigned j = 0; j < n; j++)
		if (!columns[j].waits_for)
			queue[queue_tail++] = j;
}

/* The solution that was put in is number(0) ... number(n - 1), by point; how far the one found is from it at most. */
static double distance(void)
{
	double *x = allocate(n * sizeof *x), most = 0;

	for (unsigned j = 0; j < n; j++) {
		x[j] = 4.01 * number(order[j]);
		for (unsigned side_of = 0, q; side_of < 4; side_of++)
			if (neighbour(order[j], side_of, &q))
				x[j] -= number(q);
	}
	for (unsigned j = 0; j < n; j++) {
		x[j] /= columns[j].values[0];
		for (unsigned i = 1; i < columns[j].count; i++)
			x[columns[j].rows[i]] -= columns[j].values[i] * x[j];
	}
	for (unsigned j = n; j-- > 0;) {
		for (unsigned i = 1; i < columns[j].count; i++)
			x[j] -= columns[j].values[i] * x[columns[j].rows[i]];
		x[j] /= columns[j].values[0];
		most = fmax(most, fabs(x[j] - number(order[j])));
	}
	free(x);
	return most;
}

static void *work(void *argument)
{
	unsigned me = (unsigned)(uintptr_t)argument, first, last, j;

	share(me, n, &first, &last);
	for (unsigned r = 0; r < rounds; r++) {
		fill(first, last);
		if (me == 0)
			begin();
		meet();
		while (get(&j)) {
			finish(j);
			done_by[me]++;
		}
		meet();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	options(argc, argv);
	side = (unsigned)sqrt(scaled(3600)) < 5 ? 5 : (unsigned)sqrt(scaled(3600));
	n = side * side;
	order = allocate(n * sizeof *order);
	where = allocate(n * sizeof *where);
	columns = allocate(n * sizeof *columns);
	queue = allocate(n * sizeof *queue);
	dissect(0, 0, side, side, 0);
	for (unsigned j = 0; j < n; j++) {
		where[order[j]] = j;
		pthread_mutex_init(&columns[j].lock, NULL);
	}
	find_shape();
	start(work);
	worst = rounds ? distance() : 0;
	for (unsigned t = 0; t < threads; t++)
		printf("cholesky: thread %u did %u columns\n", t, done_by[t]);
	printf("cholesky: %u columns, corner %.17g, off by %.3g\n", n, rounds ? columns[n - 1].values[0] : 0, worst);
	return worst > 1e-9;
}
