/*
 * Threads on one sqlite database in memory, with a cache that they share: each has a connection of its own, adds rows, moves amounts
 * between accounts, and tries again when another one has the table. What it prints depends on who came first.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "sqlite3.h"

enum { THREADS = 4, ROUNDS = 60, ACCOUNTS = 8 };

static const char *const name = "file:shared?mode=memory&cache=shared";
static unsigned refused[THREADS];

static sqlite3 *opened(void)
{
	sqlite3 *db;

	if (sqlite3_open_v2(name, &db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | SQLITE_OPEN_FULLMUTEX,
			    NULL)) {
		fprintf(stderr, "%s\n", sqlite3_errmsg(db));
		exit(1);
	}
	return db;
}

static int execute(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static void insist(sqlite3 *db, unsigned me, const char *sql)
{
	int status;

	while ((status = execute(db, sql)) == SQLITE_LOCKED || status == SQLITE_BUSY) {
		refused[me]++;
		sched_yield();
	}
	if (status) {
		fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
		exit(1);
	}
}

static void *work(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;
	sqlite3 *db = opened();
	char sql[200];

	for (unsigned i = 0; i < ROUNDS; i++) {
		insist(db, me, "begin immediate");
		snprintf(sql, sizeof sql, "update account set amount = amount - %u where id = %u", i,
			 (me + i) % ACCOUNTS);
		insist(db, me, sql);
		snprintf(sql, sizeof sql, "update account set amount = amount + %u where id = %u", i,
			 (me * 3 + i) % ACCOUNTS);
		insist(db, me, sql);
		snprintf(sql, sizeof sql, "insert into history (thread, round) values (%u, %u)", me, i);
		insist(db, me, sql);
		insist(db, me, "commit");
	}
	sqlite3_close(db);
	return NULL;
}

static int print_row(void *arg, int columns, char **values, char **names)
{
	(void)arg, (void)names;
	for (int i = 0; i < columns; i++)
		printf("%s%c", values[i], i + 1 < columns ? ' ' : '\n');
	return 0;
}

int main(void)
{
	pthread_t threads[THREADS];
	sqlite3 *db = opened();

	if (execute(db, "create table account (id integer primary key, amount integer);"
			"create table history (n integer primary key autoincrement, thread integer, round integer)"))
		return 1;
	for (unsigned i = 0; i < ACCOUNTS; i++) {
		char sql[100];
		snprintf(sql, sizeof sql, "insert into account values (%u, 1000)", i);
		if (execute(db, sql))
			return 1;
	}
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			return 1;
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	sqlite3_exec(db, "select id, amount from account", print_row, NULL, NULL);
	sqlite3_exec(db, "select thread, round from history order by n", print_row, NULL, NULL);
	for (unsigned i = 0; i < THREADS; i++)
		printf("thread %u was refused %u times\n", i, refused[i]);
	sqlite3_close(db);
	return 0;
}
