/*
 * A page of `region` that becomes fine, and coarse again: one page with one granule. Claims and words are as simple as
 * can be, since claims.pml and word.pml are about them: a claim is for all, and who holds the word's lock leaves its
 * name whatever it did. A read whose word has its own name of this region needs no lock. Who makes the page coarse locks
 * the word, which stays locked; or does nothing if somebody else has it. It takes the edges; or it does so in its
 * bracket, when all that the word tells of is past, and leaves the page to anybody. Not here: granules that a thread owns,
 * several readers, a page that becomes coarse for reading alone.
 *
 * AT_REST: the second way, instead of the first. Checked as in claims.pml. What may be left out, and must then be found:
 *
 *   NOT_LOCKED        who makes a page coarse leaves the word as it was
 *   NO_WORD_EDGE      ... ignores what the word says
 *   NO_PAGE_EDGE      ... ignores who made the page fine
 *   NOT_PAST          AT_REST: whether it is, is not asked
 *   BEGUN_ONLY        ... only whether anything of the word's thread is past
 *   OLD_WRITER        ... the page keeps the name of who made it fine
 *   NOT_CLEARED       the word of a page that becomes fine again is not cleared
 *   PLAIN_CLEAR       that it is cleared is no release store
 *   NO_PAGE_WRITER    who comes to a word that nobody has touched ignores who made the page fine
 *   NO_SECOND_LOOK    after a wait for a word the page's state is not looked at again
 */
#define BOTH 3
#ifndef ACCESSES
#define ACCESSES 2
#endif
#define LOCKED 128
bool reserved; /* somebody's compare-and-swap of the word has succeeded, seen or not */
#define WORD_MODEL

#include "weak.pml"

#define STATE	LET_GO(0) /* of the page */
#define PWRITER LET_GO(1) /* its `writer`: a name, changed under the page's lock, looked at without */
#define FINE	1

#define READ	   1
#define WRITE	   2
#define NAME(t)	   (((t) + 1) << 4 | ((events / 2 >> SHIFT) + 1))
#define SLOT(name) (((name) >> 4 & 3) - 1)
#define ENDS(name) (((name)&15) << SHIFT)

bool page_locked;
byte owner; /* 1 + thread; 0: nobody, or the page is fine */
bool waiting[THREADS]; /* replay */

inline bracket(t, open)
{
	events = (open -> events | 1 : events & 254);
	put(t, EVENTS(t), events, 0)
}

/* Waits for the bracket that u may be in; e: how far it has come. */
inline await_bracket(t, u)
{
	get(t, EVENTS(u), e);
	if
	:: e & 1 ->
		was = e;
		memory[EVENTS(u)] != e;
		get(t, EVENTS(u), e);
		e = (e > was -> e : was);
		was = 0
	:: else
	fi
}

inline follow(t, name)
{
	assert(name < LOCKED); /* or somebody is in the middle of an access */
	if
	:: name && SLOT(name) != t -> edge(t, SLOT(name), ENDS(name))
	:: else
	fi
}

/* After an edge the bracket is closed; the access is in the new region. */
inline again_open(t)
{
	if
	:: !(events & 1) -> bracket(t, 1)
	:: else
	fi
}

inline datum(t, kind, barrier)
{
	if
	:: kind == READ -> d_step { load_datum(rby, rat); seen_read(t, events / 2, rby, rat) }
	:: else -> put(t, DATUM, events / 2, barrier)
	fi
}

inline lock_page(t)
{
	atomic { !page_locked -> page_locked = 1 }
}

inline unlock_page(t)
{
	atomic { fence(t) -> page_locked = 0 }
}

inline make_mine(t)
{
	put(t, PWRITER, NAME(t), 0);
	owner = t + 1;
	put(t, CLAIM(t), BOTH, 0)
}

/* ---- coarse ------------------------------------------------------------------------------------------------------ */

/* Takes the page from its owner. `had`: it had the claim. */
inline revoke(t)
{
	u = owner - 1;
	get(t, CLAIM(u), a);
	had = a != 0;
	if
	:: had ->
		put(t, CLAIM(u), 0, 0);
		membarrier();
		await_bracket(t, u)
	:: else -> get(t, EVENTS(u), e)
	fi;
	upto = END_OF(BEGUN(e));
	get(t, PWRITER, a); /* it may have got the page in a region that it has not begun since */
	upto = (ENDS(a) > upto -> ENDS(a) : upto);
	owner = 0;
	edge(t, u, upto)
}

inline make_fine(t)
{
#ifndef NOT_CLEARED
#ifdef PLAIN_CLEAR
	put(t, WRITER, 0, 0);
#else
	put(t, WRITER, 0, 1);
#endif
#endif
	put(t, STATE, FINE, 1)
}

inline miss(t, kind)
{
	bracket(t, 0);
	lock_page(t);
	get(t, STATE, a);
	if
	:: a == FINE -> unlock_page(t); bracket(t, 1)
	:: else ->
		had = 0;
		if
		:: owner == t + 1 -> skip
		:: owner && owner != t + 1 -> revoke(t)
		:: owner == 0 -> get(t, PWRITER, a); follow(t, a)
		fi;
		bracket(t, 1);
		datum(t, kind, 0);
		if
		:: !had -> make_mine(t)
		:: had -> put(t, PWRITER, NAME(t), 0); make_fine(t)
		:: had -> put(t, PWRITER, NAME(t), 0) /* left to who comes next */
		fi;
		unlock_page(t);
		done = 1
	fi
}

/* ---- fine -------------------------------------------------------------------------------------------------------- */

inline take_word(t, was)
{
	atomic {
		if
		:: memory[WRITER] == was && !reserved -> reserved = 1; got = 1
		:: else -> got = 0
		fi
	};
	if
	:: got -> put(t, WRITER, LOCKED, 0)
	:: else
	fi
}

inline keep_word(t)
{
#ifdef NOT_LOCKED
	put(t, WRITER, a, 0)
#else
	skip
#endif
}

inline coarsen(t)
{
	bracket(t, 0);
	lock_page(t);
	got = 0;
	get(t, STATE, a);
	if
	:: a == FINE ->
		get(t, WRITER, a);
		if
		:: !(a & LOCKED) -> take_word(t, a)
		:: else
		fi
	:: else
	fi;
	if
	:: got ->
		got = 0;
		keep_word(t);
#ifndef NO_WORD_EDGE
		follow(t, a);
#endif
#ifndef NO_PAGE_EDGE
		get(t, PWRITER, a);
		follow(t, a);
#endif
		put(t, STATE, 0, 1);
		bracket(t, 1);
		make_mine(t)
	:: else
	fi;
	unlock_page(t);
	bracket(t, 1)
}

#ifdef BEGUN_ONLY
#define PAST(t, name) (!(name) || SLOT(name) == t || known[t].by[SLOT(name)] > 0)
#else
#define PAST(t, name) (!(name) || SLOT(name) == t || known[t].by[SLOT(name)] >= ENDS(name))
#endif

/* In the bracket. a: the word, b: the page's writer. */
inline coarsen_at_rest(t)
{
	atomic {
		if
		:: !page_locked -> page_locked = 1; locked = 1
		:: else -> locked = 0
		fi
	};
	if
	:: locked ->
		get(t, STATE, s);
		get(t, WRITER, a);
		get(t, PWRITER, again);
		if
#ifdef NOT_PAST
		:: s == FINE && a && !(a & LOCKED) ->
#else
		:: s == FINE && a && !(a & LOCKED) && PAST(t, a) && PAST(t, again) ->
#endif
			take_word(t, a);
			if
			:: got ->
				got = 0;
				keep_word(t);
#ifndef OLD_WRITER
				if
				:: put(t, PWRITER, a, 0)
				:: put(t, PWRITER, NAME(t), 0) /* as where several were there */
				fi;
#endif
				put(t, STATE, 0, 1)
			:: else
			fi
		:: else
		fi;
		unlock_page(t);
		locked = 0;
		s = 0
	:: else
	fi
}

/* Somebody has it, or the page is coarse. */
inline await_word()
{
#ifdef NO_SECOND_LOOK
	memory[WRITER] < LOCKED && !reserved
#else
	(memory[WRITER] < LOCKED && !reserved) || memory[STATE] != FINE
#endif
}

/* Outside the bracket, so that nobody waits for this thread meanwhile. */
inline wait_for_word(t)
{
	bracket(t, 0);
	await_word();
	bracket(t, 1)
}

/* The page was seen to be fine in this bracket. Perhaps nothing is done: then all is looked at again. */
inline word(t, kind)
{
	if
	:: a & LOCKED -> wait_for_word(t)
	:: kind == READ && a == NAME(t) ->
		d_step { load_datum(rby, rat) };
		get(t, WRITER, again);
		if
		:: again == a -> d_step { seen_read(t, events / 2, rby, rat) }; done = 1
		:: else
		fi
	:: !(a & LOCKED) && !(kind == READ && a == NAME(t)) ->
		take_word(t, a);
		if
		:: got ->
			if
#ifndef NO_PAGE_WRITER
			:: a == 0 -> get(t, PWRITER, a)
#endif
			:: else
			fi;
			follow(t, a);
			again_open(t);
			datum(t, kind, 1);
			put(t, WRITER, NAME(t), 1);
			done = 1
		:: else -> wait_for_word(t)
		fi
	fi
}

/* ---- a hook -------------------------------------------------------------------------------------------------------- */

/* The state and the word are looked at in any order: region_words.c says why that is enough. */
inline look(t)
{
	if
	:: get(t, STATE, s); get(t, WRITER, a)
	:: get(t, WRITER, a); get(t, STATE, s)
	fi
}

inline slowly(t, kind)
{
	done = 0;
	s = 0;
	do
	:: done -> break
	:: !done ->
#ifdef NO_SECOND_LOOK
		if
		:: s == FINE -> get(t, WRITER, a)
		:: else -> look(t)
		fi;
#else
		look(t);
#endif
		if
#ifdef AT_REST
		:: s == FINE && !changed && kind == READ -> coarsen_at_rest(t); changed = 1; s = 0
#else
		:: s == FINE && !changed -> coarsen(t); changed = 1; s = 0
#endif
		:: s == FINE -> word(t, kind)
		:: s != FINE -> miss(t, kind)
		fi
	od
}

inline hooked(t, kind)
{
	bracket(t, 1);
	if
	:: kind == WRITE ->
		get(t, CLAIM(t), a);
		if
		:: a & WRITE -> put(t, DATUM, events / 2, 0)
		:: else -> slowly(t, kind)
		fi
	:: else ->
		/* Nothing forbids the core to load the datum before the byte. */
		if
		:: d_step { load_datum(rby, rat) }; get(t, CLAIM(t), a)
		:: get(t, CLAIM(t), a); d_step { load_datum(rby, rat) }
		fi;
		if
		:: a & READ -> d_step { seen_read(t, events / 2, rby, rat) }
		:: else -> slowly(t, kind)
		fi
	fi;
	events = (events | 1) + 1;
	put(t, EVENTS(t), events, 1)
}

proctype thread(byte t)
{
	byte events, e, upto, u, j, k, rby, rat, a, again, n, was, s;
	bool done, got, had, changed, locked;

	do
	:: n < ACCESSES ->
		if
		:: hooked(t, READ)
		:: hooked(t, WRITE)
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
		/* so that few accesses are enough */
		if
		:: memory[STATE] = FINE
		:: owner = 1; memory[CLAIM(0)] = BOTH
		:: skip
		fi;
		do
		:: i < THREADS -> run thread(i); run buffer_of(i); i++
		:: else -> break
		od
	}
}
