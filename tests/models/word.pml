/*
 * The words of `region`: one granule of a fine page, read like a seqlock and written under a lock in the word, with
 * regions that nobody is told of until a fence. Besides reads and writes of the granule, threads make accesses of their
 * own, which only count, and pass a lock around.
 *
 * Checked as in claims.pml. What may be left out, and must then be found:
 *
 *   NO_VALIDATION     a read does not look at the word again
 *   EARLY_LOOK        a read may look again before its load (no load barrier)
 *   NO_STORE_BARRIER  the data may be seen before the lock
 *   PLAIN_UNLOCK      the word's new value is no release store
 *   NO_READ_FENCE     a thread reads among many in a new region that nobody may have seen
 *   FENCED_FOR_GOOD   the fence counts even after a read that was in vain and a wait, which closes the bracket (needs LOCKS)
 *   FENCED_AFTER_ALL  ... after a read that was in vain, but not after a wait (needs LOCKS and SIGNALS)
 *   NO_WRITE_FENCE    a writer looks at the counts of many readers before its lock is seen
 *   NO_READER_EDGES   a writer ignores who read before
 *   NO_WRITER_EDGES   who comes after a writer ignores it
 *   STALE_REGION      a thread that reads again in a later region does not say so in the word
 *   FINISHED_ONLY     the event that a reader is in is not counted
 *   NO_CUT            an entry does not begin a new region
 *   NO_PAUSE          a lock operation does not begin a new region
 *   NO_MEMBARRIER     who takes a word from its owner does not make cores see that (with OWNS)
 *   NO_WAIT           ... does not wait for the owner's bracket (with OWNS)
 *   SEEN_EARLY        ... looks at the owner's count before the barrier (with OWNS)
 *   PLAIN_CLOSE       the bracket's end is no release store (with OWNS)
 *   KEPT              a word that was taken from its owner says so only after the access of who took it (with OWNS)
 *   AMONG_READERS     a word becomes a thread's own though others have read it (with OWNS)
 *
 * SIGNALS: after a read that was in vain the bracket may be closed and opened again: a signal came that comes to nothing.
 * OWNS: a thread that has accessed the word may make it its own, and then needs no lock as long as it is.
 */
#ifndef ACCESSES
#define ACCESSES 3
#endif
#define LOCKED 128
#define MANY   128
#define OWNED  64 /* of the writer, with its slot and without a region */
bool reserved; /* somebody's compare-and-swap of the word has succeeded, seen or not */
#define WORD_MODEL

#include "weak.pml"

#define NAME(t)	    (((t) + 1) << 4 | region)
#define MINE(t)	    (OWNED | ((t) + 1) << 4)
#define SLOT(name)  (((name) >> 4 & 3) - 1)
#define ENDS(name)  (((name)&15) << SHIFT)
#define REGION	    ((events / 2 >> SHIFT) + 1)

bool waiting[THREADS]; /* replay */
/* The lock that is passed around: its operations, and what who takes it next may know. */
byte turns;
row told;

/* The lock's store need not be seen when the lock is taken. A store barrier after it: no later store is seen before. */
#ifdef NO_STORE_BARRIER
#define AFTER_LOCK 0
#else
#define AFTER_LOCK 1
#endif

inline take_lock(t, was, got)
{
	atomic {
		if
		:: memory[WRITER] == was && !reserved -> reserved = 1; got = 1
		:: else -> got = 0
		fi
	};
	if
	:: got ->
		put(t, WRITER, LOCKED, 0)
	:: else
	fi
}

inline give_back(t, name)
{
#ifdef PLAIN_UNLOCK
	put(t, WRITER, name, 0)
#else
	put(t, WRITER, name, 1)
#endif
}

/* After an access under the lock: with OWNS, as it likes. */
inline leave_word(t, name)
{
	if
	:: give_back(t, name)
#ifdef OWNS
	:: name == NAME(t) -> give_back(t, MINE(t))
#endif
	fi
}

/* The word that `was` its owner's becomes one like any other, with the owner's last region that may have an access of it. As revoke() of claims.pml. */
inline disown(t, was)
{
	u = SLOT(was);
#ifdef SEEN_EARLY
	get(t, EVENTS(u), e);
#endif
#ifdef KEPT
	got = 1;
#else
	take_lock(t, was, got);
#endif
	if
	:: got ->
		events = events & 254;
		put(t, EVENTS(t), events, 0);
		fenced = 0;
#ifndef NO_MEMBARRIER
		membarrier();
#endif
#ifndef SEEN_EARLY
		get(t, EVENTS(u), e);
#endif
#ifndef NO_WAIT
		if
		:: e & 1 ->
			memory[EVENTS(u)] != e;
			b = e;
			get(t, EVENTS(u), e);
			e = (e > b -> e : b)
		:: else
		fi;
#endif
#ifdef KEPT
		take_lock(t, was, got);
#endif
		if
		:: got -> give_back(t, (u + 1) << 4 | (END_OF(BEGUN(e)) >> SHIFT))
		:: else
		fi;
		events = events | 1;
		put(t, EVENTS(t), events, 0)
	:: else -> wait_for_word(t)
	fi
}

inline writer_edge(t, was)
{
#ifndef NO_WRITER_EDGES
	if
	:: was && SLOT(was) != t -> edge(t, SLOT(was), ENDS(was))
	:: else
	fi
#else
	skip
#endif
}

inline reader_edges(t, b)
{
#ifndef NO_READER_EDGES
	if
	:: b & MANY ->
#ifndef NO_WRITE_FENCE
		atomic { fence(t) };
#endif
		u = 0;
		do
		:: u < THREADS ->
			if
			:: u != t && b & (1 << u) ->
				get(t, EVENTS(u), e);
				upto = END_OF(BEGUN(e));
				edge(t, u, upto)
			:: else
			fi;
			u++
		:: else -> break
		od
	:: b && !(b & MANY) && SLOT(b) != t -> u = SLOT(b); edge(t, u, ENDS(b))
	:: else
	fi
#else
	skip
#endif
}

/* After an edge the bracket is closed; the access is in the new region. */
inline again_open(t)
{
	if
	:: !(events & 1) -> events = events | 1; put(t, EVENTS(t), events, 0)
	:: else
	fi;
	region = REGION
}

inline add_reader(t, a, b)
{
	if
	:: b == 0 && a && SLOT(a) == t -> a = NAME(t) /* its own: the word's one name says all */
	:: b == 0 && !(a && SLOT(a) == t) || b && !(b & MANY) && SLOT(b) == t -> put(t, READERS, NAME(t), AFTER_LOCK)
	:: else ->
		if
		:: b & MANY -> put(t, READERS, b | 1 << t, AFTER_LOCK)
		:: else -> put(t, READERS, MANY | 1 << SLOT(b) | 1 << t, AFTER_LOCK)
		fi
	fi
}

/* Waits outside the bracket for a word that somebody holds. If this was the first event of its region, the region has
   not begun any more; so the fence that showed its beginning does not count. */
inline wait_for_word(t)
{
	events = events & 254;
	put(t, EVENTS(t), events, 0);
#ifndef FENCED_FOR_GOOD
	fenced = 0;
#endif
	memory[WRITER] < LOCKED && !reserved;
	events = events | 1;
	put(t, EVENTS(t), events, 0)
}

/* A read whose word has changed. Before the next look, the runtime looks whether there is a signal (hook_run()). */
inline in_vain(t)
{
#if !defined(FENCED_AFTER_ALL) && !defined(FENCED_FOR_GOOD)
	fenced = 0;
#endif
#ifdef SIGNALS
	if
	:: skip
	:: events = events & 254; put(t, EVENTS(t), events, 0); events = events | 1; put(t, EVENTS(t), events, 0)
	fi
#else
	skip
#endif
}

#ifdef STALE_REGION
#define OF_NOW(name) 1
#else
#define OF_NOW(name) (((name)&15) == region)
#endif

inline read_word(t)
{
	done = 0;
	do
	:: done -> break
	:: else ->
		get(t, WRITER, a);
		if
		:: a & LOCKED -> wait_for_word(t)
#ifdef OWNS
		:: a == MINE(t) -> d_step { load_datum(rby, rat) }; d_step { seen_read(t, events / 2, rby, rat) }; done = 1
		:: a & OWNED && !(a & LOCKED) && a != MINE(t) -> disown(t, a)
#endif
		:: else ->
			get(t, READERS, b);
			region = REGION;
			if
			:: b & MANY && b & (1 << t) || b == 0 && a && SLOT(a) == t && OF_NOW(a) ||
			   b && !(b & MANY) && SLOT(b) == t && OF_NOW(b) -> /* covered: stores nothing */
#ifndef NO_READ_FENCE
				if
				:: b & MANY && fenced != region -> atomic { fence(t) }; fenced = region
				:: else
				fi;
#endif
#ifdef EARLY_LOOK
				get(t, WRITER, again); d_step { load_datum(rby, rat) };
#else
				d_step { load_datum(rby, rat) }; get(t, WRITER, again);
#endif
#ifdef NO_VALIDATION
				again = a;
#endif
				if
				:: again == a -> d_step { seen_read(t, events / 2, rby, rat) }; done = 1
				:: else -> in_vain(t)
				fi
			:: else ->
				take_lock(t, a, got);
				if
				:: got ->
					get(t, READERS, b);
					writer_edge(t, a);
					again_open(t);
					d_step { load_datum(rby, rat); seen_read(t, events / 2, rby, rat) };
					add_reader(t, a, b);
#ifdef AMONG_READERS
					leave_word(t, a);
#else
					if
					:: b == 0 -> leave_word(t, a)
					:: else -> give_back(t, a) /* others have read it: it is nobody's own */
					fi;
#endif
					done = 1
				:: else -> wait_for_word(t)
				fi
			fi
		fi
	od
}

inline write_word(t)
{
	done = 0;
	do
	:: done -> break
	:: else ->
		get(t, WRITER, a);
		if
		:: a & LOCKED -> wait_for_word(t)
#ifdef OWNS
		:: a == MINE(t) -> put(t, DATUM, events / 2, 0); done = 1
		:: a & OWNED && !(a & LOCKED) && a != MINE(t) -> disown(t, a)
#endif
		:: else ->
			take_lock(t, a, got);
			if
			:: got ->
				get(t, READERS, b);
				writer_edge(t, a);
				reader_edges(t, b);
				again_open(t);
				put(t, DATUM, events / 2, AFTER_LOCK);
				put(t, READERS, 0, AFTER_LOCK);
				leave_word(t, NAME(t));
				done = 1
			:: else -> wait_for_word(t)
			fi
		fi
	od
}

/* A lock operation: it comes after all before it, as its own log entry says. */
inline lock_op(t)
{
	logs[t].at[logs[t].n] = events / 2;
#ifndef NO_PAUSE
	events = CUT(events);
	put(t, EVENTS(t), events, 1);
#endif
	atomic {
		fence(t);
		logs[t].slot[logs[t].n] = TURN;
		logs[t].until[logs[t].n] = turns;
		logs[t].n++;
		turns++;
		u = 0;
		do
		:: u < THREADS ->
			if
			:: u == t && events / 2 > told.by[t] -> told.by[t] = events / 2
			:: u != t && told.by[u] > known[t].by[u] -> known[t].by[u] = told.by[u]
			:: u != t && told.by[u] < known[t].by[u] -> told.by[u] = known[t].by[u]
			:: else
			fi;
			u++
		:: else -> break
		od
	}
}

inline open_bracket(t)
{
	events = events | 1;
	put(t, EVENTS(t), events, 0)
}

inline close_bracket(t)
{
	events = (events | 1) + 1;
#ifdef PLAIN_CLOSE
	put(t, EVENTS(t), events, 0)
#else
	put(t, EVENTS(t), events, 1)
#endif
}

proctype thread(byte t)
{
	byte events, e, upto, u, j, k, rby, rat, a, b, again, n, region, fenced, locks;
	bool done, got;

	do
	:: n < ACCESSES ->
		if
		:: open_bracket(t); read_word(t); close_bracket(t); n++
		:: open_bracket(t); write_word(t); close_bracket(t); n++
#ifdef OWN_ACCESSES
		:: open_bracket(t); close_bracket(t); n++ /* of its own */
#endif
#ifdef LOCKS
		:: locks < LOCKS -> lock_op(t); locks++
#endif
		fi
	:: else -> break
	od;
	fence(t);
	ended++;
	if
	:: t == 0 -> ended == THREADS; replay(ACCESSES)
	:: else
	fi
}

init {
	byte i;
	atomic {
		do
		:: i < THREADS -> run thread(i); run buffer_of(i); i++
		:: else -> break
		od
	}
}
