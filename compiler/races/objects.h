/*
 * Which objects, and where in them, may an address point to? Inclusion-based (Andersen), with places in objects told
 * apart.
 *
 * Words
 *   object   a global variable, a local variable, a place of allocation, a function; all instances of one are one
 *            object. Object 0 is the unknown: whatever code outside the program may hold.
 *   place    bytes of an object: offset, or all of offset + k * stride. Stride 1 is "anywhere in it". Place 0 is the
 *            unknown.
 *   node     a value, or what is stored at a place. It has a set of places that it may point to.
 *   given    an object that code outside may get at. A set that holds place 0 may point to any given object.
 */
#ifndef COMPILER_RACES_OBJECTS_H
#define COMPILER_RACES_OBJECTS_H
#include "compiler/internal.h"
#include "compiler/races/bits.h"

typedef uint32_t node;
enum { NO_NODE = 0, UNKNOWN_PLACE = 0, UNKNOWN_OBJECT = 0 };

enum object_kind { OBJECT_UNKNOWN, OBJECT_GLOBAL, OBJECT_TLS, OBJECT_STACK, OBJECT_HEAP, OBJECT_FUNCTION };

struct object {
	LLVMValueRef value;
	enum object_kind kind;
	bool constant;	/* a variable that the program defines, and nobody can write */
	bool given;	/* code outside may access it */
	bool shared;	/* filled in by sharing.c: a second thread can reach it */
	uint32_t first; /* its places, linked by struct place.next; 0: none */
	uint32_t places;
};

struct place {
	uint32_t object, next;
	uint32_t stride; /* 0: exactly there */
	int64_t offset;	 /* below the stride, if there is one */
	node in, out;	 /* what is stored there; what may be read there */
	uint32_t part;	 /* so many bytes of what may be pointers are stored there, one part at a time */
};

/* solve.c: building. A node that is NO_NODE stands for "holds no pointer" and may be given everywhere. */
void solve_begin(void);
void solve_end(void);
node solve_node(void);
uint32_t solve_object(enum object_kind kind, LLVMValueRef value);
void solve_points(node n, uint32_t object, int64_t offset);
void solve_points_anywhere(node n); /* at the unknown */
void solve_copy(node to, node from);
void solve_move(node to, node from, int64_t offset, uint64_t stride); /* to = from + offset + k * stride */
void solve_load(node to, node address);
void solve_number(node n);			    /* a pointer that was a number */
void solve_store_part(node address, uint32_t size); /* some bytes, of a pointer perhaps: nobody knows of which */
void solve_store(node address, node from);
void solve_give(node n);	       /* code outside may know it */
void solve_difference(node a, node b); /* it is kept how far it is from a to b */
/* called() is run for each function that the node comes to point to, once; (call, NULL): it may be any. */
void solve_call(node function, LLVMValueRef call);
void solve_run(void (*called)(LLVMValueRef call, LLVMValueRef function), void (*given)(LLVMValueRef function));

/* Afterwards. */
const struct bits *solve_places(node n);
struct place *solve_place(uint32_t place);
struct object *solve_object_at(uint32_t object);
uint32_t solve_object_count(void);
uint32_t solve_node_count(void);
/* May accesses of these sizes (0: any) at these places touch the same byte? Both are in the same object. */
bool solve_overlap(uint32_t a, uint64_t size_a, uint32_t b, uint64_t size_b);

/* constraints.c, constraints_calls.c */
void objects_solve(struct module *m, LLVMValueRef main_function);
void objects_end(void);
/* Where an address may point to. NULL: nowhere that is known, so anywhere. */
const struct bits *objects_of(LLVMValueRef address);
node objects_node(LLVMValueRef value);
/* Calls found() for each function of the program that may be called; returns whether code outside may be, too. */
bool objects_callees(LLVMValueRef call, void (*found)(void *arg, LLVMValueRef function), void *arg);
/* The same for what a pointer may point to. */
bool objects_functions(LLVMValueRef pointer, void (*found)(void *arg, LLVMValueRef function), void *arg);
/* sharing.c: which objects can a second thread reach? */
void sharing_find(struct module *m);
node objects_thread_results(void);

/* externals.c: what is known of functions that are not seen. */
enum external {
	EXTERNAL_UNKNOWN,  /* may do anything */
	EXTERNAL_LIBC,	   /* libc's list describes it: it keeps nothing and calls nobody */
	EXTERNAL_HARMLESS, /* keeps nothing, calls nobody, accesses nothing of the program's that matters */
	EXTERNAL_USES,	   /* accesses what its arguments point to while it runs, and keeps nothing: system calls */
	EXTERNAL_LOCK,	   /* locks.c knows it */
	EXTERNAL_ALLOCATES,
	EXTERNAL_REALLOCATES,
	EXTERNAL_FREES,
	EXTERNAL_CREATES, /* a thread */
	EXTERNAL_JOINS,
	EXTERNAL_ENDS_THREAD,
	EXTERNAL_SORTS, /* calls its last argument with pointers into its first */
	EXTERNAL_AT_EXIT,
	EXTERNAL_STD, /* a function of the C++ library: may keep and call what it is given, creates no thread */
	EXTERNAL_INTRINSIC,
};
enum external external_kind(LLVMValueRef function);
const char *external_name(LLVMValueRef function);
/* Inline assembler that makes a system call (clone, perhaps) or calls a function. */
bool external_asm_leaves(LLVMValueRef text_and_constraints);
bool external_copies(LLVMValueRef function);	/* from its second argument to its first */
bool external_returns_twice(LLVMValueRef call); /* setjmp */
#endif
