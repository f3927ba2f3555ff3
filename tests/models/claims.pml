/*
 * The claims of `region`: one page, two or three threads, the inlined bracket of compiler/hooks.h, and revocation.
 *
 * Checked: two accesses by different threads, one of them a write, are always ordered by a logged edge (or one that it
 * implies), whatever the machine does with stores and loads; nobody waits for ever; and the log can be replayed.
 * With one of the names below defined, something that the scheme needs is left out, and spin must find an error:
 *
 *   NO_MEMBARRIER     the byte is cleared, but cores are not made to see it
 *   NO_WAIT           the victim's bracket is not waited for
 *   LATE_CLEAR        the byte is cleared only after the victim's count was read
 *   PLAIN_CLOSE       the bracket's end is no release store
 *   NO_READER_EDGES   a writer ignores who read before
 *   NO_OPEN           an access in a miss is made outside any bracket
 *   FINISHED_ONLY     the event that the victim is in is not counted
 *   NO_CUT            an entry does not begin a new region
 *   SEEN_ONLY         of a bracket that was waited for only the event counts in which it was seen (with LOOPS)
 *   PLAIN_PUBLISH     in a held bracket, the count before a miss is no release store (with HELD)
 *   NO_PUBLISH        ... is not stored at all (with HELD)
 *   CHECKED_ONCE      the claim that one access in a held bracket had counts for the next, after a miss (with HELD)
 *   NO_FOLLOWING      who finds a page let go takes it although it does not follow that region (with QUICK)
 *   PLAIN_LET_GO      the byte and the name that say that a page is let go are no release stores (with LETS_GO)
 *   LATE_LET_GO       the byte is stored before the region (with LETS_GO)
 *   OLD_LET_GO        ... stays although its thread uses the page again (with LETS_GO)
 *   OLD_NAME          the name does (with LETS_GO)
 *   ANY_NAME          the name is taken for that of any thread (with LETS_GO=2)
 *   PLAIN_ANSWER      who is asked to look answers with no release store (with ASKS)
 *   EARLY_QUESTION    who asks does so before the claim is cleared (with ASKS)
 *   NO_ANSWER         who asks does not wait for the answer (with ASKS)
 *
 * ASKS: who takes a claim away asks its thread to look at it, and has a membarrier only if there is no answer.
 * LETS_GO: as many threads may each let go of the page once, or LETS_GO_TIMES, between two accesses. Here it does not cut, which makes its region longer.
 * QUICK: a miss may be made in its open bracket, if the page comes free.
 * LOOPS: two accesses may be a loop in one bracket (compiler/loops.c).
 * HELD: two accesses may be in one bracket that is held over them, each with a look at its claim (compiler/held.c).
 */
#define READ  1
#define WRITE 2
#define BOTH  3
#define GONE  4
#ifndef ACCESSES
#define ACCESSES 2
#endif

#ifndef LETS_GO_TIMES
#define LETS_GO_TIMES 1
#endif

#include "weak.pml"

#ifdef PLAIN_LET_GO
#define RELEASED 0
#else
#define RELEASED 1
#endif

/* Who let go of the page last, and where its region ends. */
#define LEFT_BY	      WRITER
#define NAME(t, upto) (32 * ((t) + 1) + (upto))

/* The page. Its lock is a real one: taking it acquires, giving it back releases. */
bool page_locked;
byte owner;	    /* 1 + thread that has it alone */
byte writer, writer_until; /* otherwise: who wrote last (1 + thread), and the end of its region */
bool readers[THREADS];	   /* who has read since */
bool waiting[THREADS];	   /* replay */

#ifdef ASKS
inline question(u)
{
	atomic { fence(t) -> memory[ASKED(u)] = memory[ASKED(u)] + 1; asked = memory[ASKED(u)] }
}

/* As all_answer() of region_show.c; the answer may be too late. */
inline make_see(u)
{
#ifndef EARLY_QUESTION
	question(u);
#endif
	if
#ifdef NO_ANSWER
	:: skip
#else
	:: memory[ANSWERED(u)] == asked
#endif
	:: membarrier()
	fi;
	asked = 0
}

/* Wherever the thread comes by. */
inline answer(t)
{
	get(t, ASKED(t), byte_);
	if
	:: byte_ != answered ->
		answered = byte_;
#ifdef PLAIN_ANSWER
		put(t, ANSWERED(t), answered, 0)
#else
		put(t, ANSWERED(t), answered, 1)
#endif
	:: else
	fi;
	byte_ = 0
}
#endif

/* Takes `bits` from u's claim; `end`: where u's region ends, which holds its last access of the page. */
inline revoke(t, u, bits, upto)
{
	get(t, LEFT_BY, was);
	if
#ifdef ANY_NAME
	:: was -> upto = was % 32; had = 0
#else
	:: was / 32 == u + 1 -> upto = was % 32; had = 0 /* so its byte need not be looked at */
#endif
	:: else -> revoke_claim(t, u, bits, upto)
	fi;
	was = 0
}

inline revoke_claim(t, u, bits, upto)
{
	was = 0;
	get(t, CLAIM(u), byte_);
	if
	:: byte_ & bits ->
#ifdef LATE_CLEAR
		get(t, EVENTS(u), e);
#endif
#ifdef EARLY_QUESTION
		question(u);
#endif
		/* in one step, since u may just let go of it */
		atomic { byte_ = memory[CLAIM(u)]; memory[CLAIM(u)] = byte_ & ~bits };
#ifdef ASKS
		make_see(u);
#elif !defined(NO_MEMBARRIER)
		membarrier();
#endif
#ifndef LATE_CLEAR
		get(t, EVENTS(u), e);
#endif
#ifndef NO_WAIT
		if
		:: e & 1 ->
			was = e;
			memory[EVENTS(u)] != e;
#ifndef SEEN_ONLY
			get(t, EVENTS(u), e);
			e = (e > was -> e : was);
#endif
			was = 0
		:: else
		fi
#endif
	:: else -> get(t, EVENTS(u), e)
	fi;
	upto = END_OF(BEGUN(e));
	had = (byte_ & BOTH) != 0;
	if
	:: byte_ == GONE -> get(t, LET_GO(u), upto) /* its name is not there yet, or lost */
	:: else
	fi
}

/* By the thread itself, outside its bracket. */
inline let_go(t)
{
	get(t, CLAIM(t), byte_);
	if
	:: byte_ & BOTH ->
#ifdef LATE_LET_GO
		put(t, CLAIM(t), GONE, 1);
		put(t, LET_GO(t), END_OF(BEGUN(events)), 0)
#else
		put(t, LET_GO(t), END_OF(BEGUN(events)), 0);
		if /* one fence before both, and none between them */
		:: put(t, CLAIM(t), GONE, RELEASED); put(t, LEFT_BY, NAME(t, END_OF(BEGUN(events))), RELEASED)
		:: put(t, LEFT_BY, NAME(t, END_OF(BEGUN(events))), RELEASED); put(t, CLAIM(t), GONE, RELEASED)
		fi
#endif
	:: else
	fi
}

/* The access itself, within the page's lock. */
inline access_here(t, kind)
{
#ifndef NO_OPEN
	events = events | 1;
	put(t, EVENTS(t), events, 0);
#endif
	if
	:: kind == READ -> atomic {
			load_datum(rby, rat);
			seen_read(t, events / 2, rby, rat)
		}
	:: else -> put(t, DATUM, events / 2, 0)
	fi
}

/* Who may access the page after this access, and the end of the page's lock. */
inline settle(t, kind)
{
	if
	:: kind == WRITE && visit -> writer = t + 1; writer_until = END_OF(BEGUN(events)); put(t, CLAIM(t), 0, 0)
#ifdef OLD_LET_GO
	:: owner == t + 1 -> skip
	:: kind == WRITE && !visit && owner == 0 -> owner = t + 1; writer = 0; put(t, CLAIM(t), BOTH, 0)
#else
	:: owner == t + 1 -> put(t, CLAIM(t), BOTH, 0)
	:: kind == WRITE && !visit && owner == 0 -> owner = t + 1; writer = 0; put(t, CLAIM(t), BOTH, 0)
#endif
	:: kind == READ && owner == 0 -> readers[t] = 1;
		if
		:: !visit -> put(t, CLAIM(t), READ, 0)
		:: else -> put(t, CLAIM(t), 0, 0)
		fi
	:: else
	fi;
#ifndef OLD_NAME
	get(t, LEFT_BY, was);
	if
	:: was / 32 == t + 1 -> put(t, LEFT_BY, 0, 0)
	:: else
	fi;
	was = 0;
#endif
	fence(t);
	page_locked = 0
}

/* Has u let go of the page, in a region that this thread follows? As has_left() has it. */
inline look_whether_left(t, u)
{
	upto = 0;
	get(t, LEFT_BY, was);
	if
	:: was / 32 == u + 1 -> upto = was % 32
	:: else ->
		get(t, CLAIM(u), byte_);
		if
		:: byte_ == GONE -> get(t, LET_GO(u), upto)
		:: else
		fi
	fi;
	was = 0;
	if
#ifdef NO_FOLLOWING
	:: upto
#else
	:: upto && known[t].by[u] >= upto
#endif
	:: else -> free = 0
	fi
}

/* A miss in the open bracket, where the page comes free: claims_quick(). */
inline quick(t, kind)
{
	visit = 0;
	free = 1;
	if
	:: owner && owner != t + 1 ->
		u = owner - 1;
		look_whether_left(t, u);
		if
		:: free -> writer = owner; writer_until = upto; owner = 0; readers[u] = 0
		:: else
		fi
	:: owner == 0 && writer && writer != t + 1 && known[t].by[writer - 1] < writer_until -> free = 0
	:: owner == 0 && kind == WRITE && !(writer && writer != t + 1 && known[t].by[writer - 1] < writer_until) ->
		u = 0;
		do
		:: u < THREADS ->
			if
			:: u != t && readers[u] -> look_whether_left(t, u)
			:: else
			fi;
			u++
		:: else -> break
		od
	:: else
	fi;
	if
	:: free ->
		if
		:: kind == WRITE && owner == 0 -> readers[0] = 0; readers[1] = 0; readers[THREADS - 1] = 0
		:: else
		fi;
		access_here(t, kind);
		settle(t, kind)
	:: else -> page_locked = 0
	fi
}

inline miss(t, kind)
{
#ifdef QUICK
	free = 0;
	if
	:: atomic { !page_locked -> page_locked = 1 }; quick(t, kind)
	:: skip
	fi;
	if
	:: !free -> miss_slowly(t, kind)
	:: else
	fi
#else
	miss_slowly(t, kind)
#endif
}

inline miss_slowly(t, kind)
{
#ifdef ASKS
	answer(t);
#endif
	events = events & 254; /* nobody shall wait for this thread while it waits */
	put(t, EVENTS(t), events, 0);
	atomic { !page_locked -> page_locked = 1 };
	visit = 0;
	if
	:: owner == t + 1 || kind == READ && owner == 0 && readers[t] -> skip
	:: owner && owner != t + 1 -> /* somebody else has it: take it away, and leave it to who comes next */
		u = owner - 1;
		if
		:: kind == READ -> revoke(t, u, WRITE, upto); writer = owner; writer_until = upto; readers[u] = had
		:: else -> revoke(t, u, BOTH, upto)
		fi;
		owner = 0;
		edge(t, u, upto);
		visit = had
	:: else
	fi;
	if
	:: owner == 0 && writer && writer != t + 1 -> u = writer - 1; edge(t, u, writer_until)
	:: else
	fi;
	if
	:: kind == WRITE && owner == 0 -> /* from whoever may have read */
		u = 0;
		do
		:: u < THREADS ->
			if
			:: u != t && readers[u] ->
				revoke(t, u, BOTH, upto);
#ifndef NO_READER_EDGES
				edge(t, u, upto)
#endif
			:: else
			fi;
			readers[u] = 0;
			u++
		:: else -> break
		od
	:: else
	fi;
	access_here(t, kind);
	settle(t, kind)
}

/* As compiler/fast.c has it. */
inline hooked(t, kind)
{
	events = events | 1;
	put(t, EVENTS(t), events, 0);
	if
	:: kind == WRITE ->
		get(t, CLAIM(t), byte_);
		if
		:: byte_ & WRITE -> put(t, DATUM, events / 2, 0)
		:: else -> miss(t, kind)
		fi
	:: else ->
		/* Nothing forbids the core to load the datum before the byte. */
		if
		:: d_step { load_datum(rby, rat) }; get(t, CLAIM(t), byte_)
		:: get(t, CLAIM(t), byte_); d_step { load_datum(rby, rat) }
		fi;
		if
		:: byte_ & READ -> d_step { seen_read(t, events / 2, rby, rat) }
		:: else -> miss(t, kind)
		fi
	fi;
	events = (events | 1) + 1;
#ifdef PLAIN_CLOSE
	put(t, EVENTS(t), events, 0)
#else
	put(t, EVENTS(t), events, 1)
#endif
}

/* The loop without hooks counts as many events as the one with hooks. */
inline looped(t, kind)
{
	events = events | 1;
	put(t, EVENTS(t), events, 0);
	get(t, CLAIM(t), byte_);
	if
	:: (byte_ & kind) && kind == WRITE ->
		put(t, DATUM, events / 2, 0);
		put(t, DATUM, events / 2 + 1, 0);
		events = events + 3;
		put(t, EVENTS(t), events, 1)
	:: (byte_ & kind) && kind == READ ->
		d_step { load_datum(rby, rat) };
		d_step { seen_read(t, events / 2, rby, rat) };
		d_step { load_datum(rby, rat) };
		d_step { seen_read(t, events / 2 + 1, rby, rat) };
		events = events + 3;
		put(t, EVENTS(t), events, 1)
	:: else ->
		events = events - 1;
		put(t, EVENTS(t), events, 0);
		hooked(t, kind);
		hooked(t, kind)
	fi
}

/* One access in a held bracket. The count moves on in a register; a miss stores it, and the bracket is then another one. */
inline checked(t, kind)
{
	if
	:: kind == WRITE ->
		get(t, CLAIM(t), byte_);
		if
		:: byte_ & WRITE -> put(t, DATUM, events / 2, 0)
		:: else -> publish(t); miss(t, kind)
		fi
	:: else ->
		if
		:: d_step { load_datum(rby, rat) }; get(t, CLAIM(t), byte_)
		:: get(t, CLAIM(t), byte_); d_step { load_datum(rby, rat) }
		fi;
		if
		:: byte_ & READ -> d_step { seen_read(t, events / 2, rby, rat) }
		:: else -> publish(t); miss(t, kind)
		fi
	fi;
	events = (events | 1) + 2
}

inline publish(t)
{
#if defined(PLAIN_PUBLISH)
	put(t, EVENTS(t), events, 0)
#elif defined(NO_PUBLISH)
	skip
#else
	put(t, EVENTS(t), events, 1)
#endif
}

inline held(t, kind, kind2)
{
	events = events | 1;
	put(t, EVENTS(t), events, 0);
	checked(t, kind);
#ifdef CHECKED_ONCE
	if
	:: kind2 == WRITE -> put(t, DATUM, events / 2, 0)
	:: else -> d_step { load_datum(rby, rat); seen_read(t, events / 2, rby, rat) }
	fi;
	events = events + 2;
#else
	checked(t, kind2);
#endif
	events = events - 1;
	put(t, EVENTS(t), events, 1)
}

proctype thread(byte t)
{
	byte events, e, upto, u, j, k, rby, rat, byte_, n, was;
	bool visit, had, free;
	byte gone, asked, answered;

	do
#ifdef LETS_GO
	:: t < LETS_GO && n < ACCESSES && gone < LETS_GO_TIMES -> let_go(t); gone++
#endif
#ifdef ASKS
	:: memory[ASKED(t)] != answered -> answer(t) /* at a lock, or where it waits */
#endif
	:: n < ACCESSES ->
		if
		:: hooked(t, READ)
		:: hooked(t, WRITE)
#ifdef LOOPS
		:: n + 1 < ACCESSES -> looped(t, READ); n++
		:: n + 1 < ACCESSES -> looped(t, WRITE); n++
#endif
#ifdef HELD
		:: n + 1 < ACCESSES -> held(t, READ, READ); n++
		:: n + 1 < ACCESSES -> held(t, READ, WRITE); n++
		:: n + 1 < ACCESSES -> held(t, WRITE, READ); n++
		:: n + 1 < ACCESSES -> held(t, WRITE, WRITE); n++
#endif
		fi;
		n++
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
#if defined(HELD) || defined(LETS_GO)
		/* so that two accesses are enough for a hit and then a miss */
		if
		:: owner = 1; memory[CLAIM(0)] = BOTH
		:: skip
		fi;
#endif
		do
		:: i < THREADS -> run thread(i); run buffer_of(i); i++
		:: else -> break
		od
	}
}
