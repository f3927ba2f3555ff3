/*
 * System V semaphores, messages and memory. What could go wrong: a message's type
 * in front of its text, which the result does not count; the fourth argument of
 * semctl, a number or a pointer; the structs of IPC_STAT.
 */
// run: varies
#include "check.h"
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/wait.h>

union semun {
	int val;
	struct semid_ds *buf;
	unsigned short *array;
};

static void semaphores(void)
{
	int id = semget(IPC_PRIVATE, 3, 0600 | IPC_CREAT);
	if (id < 0) {
		skipped("semaphores");
		return;
	}
	say("semaphores %d", id);
	CHECK(semctl(id, 1, SETVAL, (union semun){ .val = 2 }) == 0 && semctl(id, 1, GETVAL) == 2);
	struct sembuf down[2] = { { 1, -2, 0 }, { 0, 1, 0 } };
	CHECK(semop(id, down, 2) == 0 && semctl(id, 0, GETVAL) == 1 && semctl(id, 1, GETPID) == getpid());
	struct sembuf never = { 2, -1, IPC_NOWAIT };
	FAILS(semop(id, &never, 1), EAGAIN);
	never.sem_flg = 0;
	FAILS(semtimedop(id, &never, 1, &(struct timespec){ 0, 1000000 }), EAGAIN);
	struct semid_ds ds;
	memset(&ds, 0x5a, sizeof ds);
	CHECK(semctl(id, 0, IPC_STAT, (union semun){ .buf = &ds }) == 0 && ds.sem_nsems == 3);
	say("operated on at %ld", (long)ds.sem_otime);
	pid_t child = fork();
	CHECK(child >= 0);
	if (!child) {
		struct sembuf up = { 2, 1, 0 };
		usleep(1000);
		_exit(semop(id, &up, 1) != 0);
	}
	CHECK(semop(id, &never, 1) == 0); /* waits for the child */
	int status;
	CHECK(wait(&status) == child && status == 0);
	CHECK(semctl(id, 0, IPC_RMID) == 0);
	FAILS(semctl(id, 0, GETVAL), EINVAL);
}

static void messages(void)
{
	int id = msgget(IPC_PRIVATE, 0600 | IPC_CREAT);
	if (id < 0) {
		skipped("messages");
		return;
	}
	struct {
		long type;
		char text[64];
	} m = { 5, "text of type five" }, got;
	CHECK(msgsnd(id, &m, 17, 0) == 0);
	m.type = 3;
	strcpy(m.text, "three");
	CHECK(msgsnd(id, &m, 5, 0) == 0);
	struct msqid_ds ds;
	memset(&ds, 0x5a, sizeof ds);
	CHECK(msgctl(id, IPC_STAT, &ds) == 0 && ds.msg_qnum == 2 && ds.msg_lspid == getpid());
	say("queue %d, sent at %ld by %d", id, (long)ds.msg_stime, ds.msg_lspid);
	memset(&got, '.', sizeof got);
	CHECK(msgrcv(id, &got, sizeof got.text, 3, 0) == 5 && got.type == 3 && !memcmp(got.text, "three.", 6));
	FAILS(msgrcv(id, &got, 4, 0, 0), E2BIG);
	CHECK(got.type == 3);
	memset(&got, '.', sizeof got);
	CHECK(msgrcv(id, &got, 4, 0, MSG_NOERROR) == 4 && got.type == 5 && !memcmp(got.text, "text.", 5));
	FAILS(msgrcv(id, &got, sizeof got.text, 0, IPC_NOWAIT), ENOMSG);
	CHECK(msgctl(id, IPC_RMID, 0) == 0);
	FAILS(msgsnd(id, &m, 5, 0), EINVAL);
}

static void memory(void)
{
	int id = shmget(IPC_PRIVATE, 10000, 0600 | IPC_CREAT);
	if (id < 0) {
		skipped("shared memory");
		return;
	}
	char *p = shmat(id, 0, 0);
	CHECK(p != (void *)-1 && p[0] == 0 && p[9999] == 0);
	snprintf(p, 100, "shared by %d", getpid()); /* that no second run has */
	struct shmid_ds ds;
	CHECK(shmctl(id, IPC_STAT, &ds) == 0 && ds.shm_segsz == 10000 && ds.shm_nattch == 1);
	say("memory %d at %p, attached at %ld", id, (void *)p, (long)ds.shm_atime);
	/* a second time, with what is there; read only, and at a place that we choose */
	char *q = shmat(id, 0, SHM_RDONLY), *place = p + (1 << 20);
	CHECK(q != (void *)-1 && q != p && !strcmp(p, q));
	CHECK(shmat(id, place, 0) == place && !strcmp(p, place));
	say("%s at %p and %p", q, (void *)q, (void *)place);
	FAILS(shmat(id, place, 0) == (void *)-1 ? -1 : 0, EINVAL);
	strcpy(p + 5000, "seen at all three");
	CHECK(!strcmp(q + 5000, p + 5000) && !strcmp(place + 5000, p + 5000));
	CHECK(shmdt(q) == 0 && shmdt(place) == 0 && shmdt(p) == 0);
	FAILS(shmdt(p), EINVAL);
	FAILS(shmat(-1, 0, 0) == (void *)-1 ? -1 : 0, EINVAL);
	CHECK(shmctl(id, IPC_RMID, 0) == 0);
}

int main(void)
{
	say("pid %d", getpid());
	semaphores();
	messages();
	memory();
	return done();
}
