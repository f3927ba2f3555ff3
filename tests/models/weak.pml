/*
 * A weakly ordered machine, for the models beside this file.
 *
 * Each thread has a buffer of stores that others do not see yet. They come out in any order, except that stores to one
 * place keep theirs, and a release store waits for all before it: weaker than x86, and as aarch64 for stores. Loads take
 * the thread's own latest store, or memory. That a load may also happen earlier than the program says is written into
 * the models, where nothing forbids it. Regions and replay are here too, since all models have them.
 *
 * Ghosts (what no real thread sees): who accessed the datum last, under which number, and what it knew.
 */
#ifndef THREADS
#define THREADS 2
#endif
#define ROOM	6	/* stores in a buffer */
#define ENTRIES 8	/* of a log */
#define TURN	9	/* instead of a slot: the entry of a lock operation, which waits for its turn */
#define EVENTS(t) (t)	/* place of a thread's count of events */
#define CLAIM(t)  (THREADS + (t))
#define DATUM	  (2 * THREADS)
#define WRITER	  (2 * THREADS + 1) /* the word's, see word.pml */
#define READERS	  (2 * THREADS + 2)
#define LET_GO(t) (2 * THREADS + 3 + (t)) /* where the region ends in which it let go of the page, see claims.pml */
#define ASKED(t)    (3 * THREADS + 3 + (t)) /* how often others have asked it to look, and up to which it has: claims.pml */
#define ANSWERED(t) (4 * THREADS + 3 + (t))
#ifdef ASKS
#define PLACES	  (5 * THREADS + 3)
#else
#define PLACES	  (3 * THREADS + 3)
#endif

byte memory[PLACES];
typedef buffer {
	byte n, place[ROOM], value[ROOM];
	bool release[ROOM]
};
buffer stores[THREADS];

typedef log {
	byte n, at[ENTRIES], slot[ENTRIES], until[ENTRIES]
};
log logs[THREADS];
typedef row {
	byte by[THREADS]
};
row known[THREADS];  /* events of others that are finished before this thread's next access, says its log */
row written_knowing; /* what the last writer of the datum knew */
byte written_by, written_at;  /* 1 + thread, number; 0: nobody */
row read_at;         /* 1 + number of each thread's last read since */
byte ended;

/* ---- regions: 1 << SHIFT numbers each ----------------------------------------------------------------------------- */
#ifndef SHIFT
#define SHIFT 1
#endif
#define MASK	   ((2 << SHIFT) - 1)
#define CUT(e)	   (((e) | MASK) + 1)                       /* of a count of events: the next region's first */
#ifdef FINISHED_ONLY
#define BEGUN(e)   ((e) / 2)
#else
#define BEGUN(e)   (((e) + 1) / 2)
#endif
#define END_OF(n)  ((((n) + (1 << SHIFT) - 1) >> SHIFT) << SHIFT) /* n events have begun: where the last one's region ends */

#ifdef NO_CUT
#define ENTRY_CUT(number) number
#else
#define ENTRY_CUT(number) (CUT(2 * number) / 2)
#endif
#ifdef NO_PAUSE
#define PAUSE_CUT(number) number
#else
#define PAUSE_CUT(number) (CUT(2 * number) / 2)
#endif

/* ---- the machine -------------------------------------------------------------------------------------------------- */

inline put(t, p, v, rel)
{
	atomic {
		stores[t].n < ROOM; /* a full buffer must let something out first */
		stores[t].place[stores[t].n] = p;
		stores[t].value[stores[t].n] = v;
		stores[t].release[stores[t].n] = rel;
		stores[t].n++;
	}
}

/* The datum becomes visible as this thread's write under number `number`: all that came before must be known. */
inline seen_write(t, number)
{
	k = 0;
	do
	:: k < THREADS ->
		if
		:: k != t && written_by == k + 1 -> assert(known[t].by[k] > written_at)
		:: k != t && read_at.by[k] -> assert(known[t].by[k] > read_at.by[k] - 1)
		:: else
		fi;
		if
		:: k != t && written_by == k + 1 && read_at.by[k] -> assert(known[t].by[k] > read_at.by[k] - 1)
		:: else
		fi;
		read_at.by[k] = 0;
		written_knowing.by[k] = known[t].by[k];
		k++
	:: else -> break
	od;
	written_by = t + 1;
	written_at = number;
	k = 0
}

/* Takes store i out of the buffer. */
inline drain(t, i)
{
	if
	:: stores[t].place[i] == DATUM -> seen_write(t, stores[t].value[i])
	:: else ->
		memory[stores[t].place[i]] = stores[t].value[i];
#ifdef WORD_MODEL
		if
		:: stores[t].place[i] == WRITER && stores[t].value[i] < LOCKED -> reserved = 0
		:: else
		fi
#endif
	fi;
	k = i;
	do
	:: k + 1 < stores[t].n ->
		stores[t].place[k] = stores[t].place[k + 1];
		stores[t].value[k] = stores[t].value[k + 1];
		stores[t].release[k] = stores[t].release[k + 1];
		k++
	:: else -> break
	od;
	stores[t].n--;
	stores[t].place[stores[t].n] = 0;
	stores[t].value[stores[t].n] = 0;
	stores[t].release[stores[t].n] = 0;
	k = 0
}

#define SAME(t, i, j) (stores[t].place[i] == stores[t].place[j])
#define FREE_TO_GO(t, i)                                                                                               \
	(stores[t].n > i && (i == 0 || (!stores[t].release[i] && !SAME(t, 0, i) && (i < 2 || !SAME(t, 1, i)) &&        \
					(i < 3 || !SAME(t, 2, i)))))

/* One per thread: lets its stores out whenever it likes. */
proctype buffer_of(byte t)
{
	byte k;
end:	do
	:: atomic { FREE_TO_GO(t, 0) -> drain(t, 0) }
	:: atomic { FREE_TO_GO(t, 1) -> drain(t, 1) }
	:: atomic { FREE_TO_GO(t, 2) -> drain(t, 2) }
	:: atomic { FREE_TO_GO(t, 3) -> drain(t, 3) }
	:: ended == THREADS && stores[t].n == 0 -> break
	od
}

inline get(t, p, to)
{
	d_step {
		to = memory[p];
		k = 0;
		do
		:: k < stores[t].n ->
			if
			:: stores[t].place[k] == p -> to = stores[t].value[k]
			:: else
			fi;
			k++
		:: else -> break
		od;
		k = 0
	}
}

/* A full barrier, and what comes before a release that is not a plain store. */
#define fence(t) (stores[t].n == 0)

/* Every thread runs a barrier. */
inline membarrier()
{
	d_step {
		j = 0;
		do
		:: j < THREADS ->
			do
			:: stores[j].n > 0 -> drain(j, 0)
			:: else -> break
			od;
			j++
		:: else -> break
		od;
		j = 0
	}
}

/* ---- reading the datum: a ghost, since only the order matters ------------------------------------------------------- */

/* The load takes place now; whether it counts is found out later. */
inline load_datum(rby, rat)
{
	rby = written_by;
	rat = written_at
}

/* It counts. rby, rat: whose write it read. */
inline seen_read(t, number, rby, rat)
{
	if
	:: rby == written_by && rat == written_at ->
		if
		:: rby && rby != t + 1 -> assert(known[t].by[rby - 1] > rat)
		:: else
		fi;
		read_at.by[t] = number + 1
	:: else -> /* somebody has written since: it must have known of this read, unless it is the reader itself */
		assert(written_by == t + 1 || written_knowing.by[t] > number);
		if
		:: rby && rby != t + 1 -> assert(known[t].by[rby - 1] > rat)
		:: else
		fi
	fi
}

/* ---- edges ------------------------------------------------------------------------------------------------------- */

/* My next access comes after the first `until` events of thread u. `events` is mine, and moves on. */
inline edge(t, u, until_)
{
	if
	:: until_ > known[t].by[u] ->
		d_step {
			assert(logs[t].n < ENTRIES);
			logs[t].at[logs[t].n] = events / 2;
			logs[t].slot[logs[t].n] = u;
			logs[t].until[logs[t].n] = until_;
			logs[t].n++;
			known[t].by[u] = until_;
#ifdef NO_CUT
			events = events | 1
#else
			events = CUT(events)
#endif
		};
		put(t, EVENTS(t), events, 1)
	:: else
	fi
}

/* When all have ended: can the recording be replayed to its end? Each thread made `accesses` accesses. */
inline replay(accesses)
{
	d_step {
		byte number[THREADS], made[THREADS], taken[THREADS], moved, turn;
		moved = 1;
		do
		:: moved ->
			moved = 0;
			j = 0;
			do
			:: j < THREADS ->
				do
				:: taken[j] < logs[j].n && logs[j].at[taken[j]] == number[j] && !waiting[j] ->
					/* Published before it waits. */
					if
					:: logs[j].slot[taken[j]] == TURN -> number[j] = PAUSE_CUT(number[j])
					:: else -> number[j] = ENTRY_CUT(number[j])
					fi;
					waiting[j] = 1;
					moved = 1
				:: waiting[j] && logs[j].slot[taken[j]] == TURN && turn == logs[j].until[taken[j]] ->
					waiting[j] = 0;
					taken[j]++;
					turn++;
					moved = 1
				:: waiting[j] && logs[j].slot[taken[j]] != TURN &&
				   number[logs[j].slot[taken[j]]] >= logs[j].until[taken[j]] ->
					waiting[j] = 0;
					taken[j]++;
					moved = 1
				:: !waiting[j] && !(taken[j] < logs[j].n && logs[j].at[taken[j]] == number[j]) &&
				   made[j] < accesses ->
					number[j]++;
					made[j]++;
					if
					:: made[j] == accesses -> number[j] = 250
					:: else
					fi;
					moved = 1
				:: else -> break
				od;
				j++
			:: else -> break
			od
		:: else -> break
		od;
		j = 0;
		do
		:: j < THREADS -> assert(made[j] == accesses); j++
		:: else -> break
		od
	}
}
