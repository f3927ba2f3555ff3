/*
 * LEAP's static elements (its section 2.2): which accesses can never meet in memory? Each site gets the number of an
 * element; two accesses with different numbers touch different bytes, for a program that stays within its objects. For
 * --order=leap:field, whose vectors are by element.
 *
 * Java's elements are a type and a field. In C they are a class of objects (points_to.c) and a field of the type with
 * which the compiler says that they are accessed (TBAA), if all accesses of the class agree in that type. Merged into
 * one element are
 *   - a class whose accesses do not agree: casts, unions, characters, pointers to members, arrays in structures;
 *   - the two ends of a copy;
 *   - whatever libc, assembler or the kernel may touch, with what pointers in there point to: element 0, as is
 *     everything that is not known, or that code outside of this link can reach.
 */
#include <stdlib.h>
#include <string.h>
#include "compiler/points_to.h"

/* What an access is to its class. */
struct field {
	uint32_t class;
	LLVMValueRef base; /* the type; NULL: not told, or not just one field */
	uint64_t offset;
	uint32_t size;
	size_t access;
};

/* ---- classes that are merged ------------------------------------------------------------------------------------- */

static uint32_t *parent; /* of a class; 0 is what is not known */
static size_t classes;

static uint32_t find(uint32_t class)
{
	if (class >= classes) {
		size_t room = classes ? classes : 1024;
		while (room <= class)
			room *= 2;
		parent = realloc(parent, room * sizeof *parent);
		if (!parent)
			compiler_die("out of memory");
		while (classes < room)
			parent[classes] = (uint32_t)classes, classes++;
	}
	while (parent[class] != class)
		class = parent[class] = parent[parent[class]];
	return class;
}

/* 0 stays 0. */
static void merge(uint32_t a, uint32_t b)
{
	a = find(a);
	b = find(b);
	if (a < b)
		parent[b] = a;
	else
		parent[a] = b;
}

static void give_away(LLVMValueRef addr)
{
	merge(points_to_number(addr), 0);
	merge(points_to_contents(addr), 0);
}

static bool is_copy(const struct access *a)
{
	return a->shape == SHAPE_COPY || a->shape == SHAPE_COPY_IN || a->shape == SHAPE_COPY_OUT;
}

static void merge_of(const struct access *a)
{
	for (unsigned i = 0; i < a->range_count; i++) {
		give_away(a->ranges[i].addr);
		if (a->ranges[i].other)
			give_away(a->ranges[i].other);
	}
	if (is_copy(a))
		merge(points_to_number(LLVMGetOperand(a->inst, 0)), points_to_number(LLVMGetOperand(a->inst, 1)));
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

static bool is_one_value(const struct access *a)
{
	switch (a->shape) {
	case SHAPE_LOAD:
	case SHAPE_STORE:
	case SHAPE_RMW:
	case SHAPE_CAS: return true;
	default: return false;
	}
}

/* The type and the field in it. A tag has three or four operands: base type, access type, offset. */
static void read_tag(struct field *f, const struct access *a)
{
	unsigned kind = LLVMGetMDKindID("tbaa", 4);
	LLVMValueRef tag = is_one_value(a) ? LLVMGetMetadata(a->inst, kind) : NULL, operand[4];
	unsigned n = tag ? (unsigned)LLVMGetMDNodeNumOperands(tag) : 0;

	if (n < 3 || n > 4)
		return;
	LLVMGetMDNodeOperands(tag, operand);
	if (!operand[0] || !operand[2] || !LLVMIsAConstantInt(operand[2]))
		return;
	f->base = operand[0];
	f->offset = LLVMConstIntGetZExtValue(operand[2]);
}

static int by_class(const void *a, const void *b)
{
	const struct field *x = a, *y = b;

	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->access < y->access ? -1 : x->access > y->access;
}

/* Of one class, sorted by offset: are these fields of one type, none over another? */
static bool agree(const struct field *f, size_t n)
{
	uint64_t end = 0; /* of the fields before */

	for (size_t i = 0, k; i < n; i = k) {
		uint64_t own = end;
		for (k = i; k < n && f[k].offset == f[i].offset; k++) {
			if (!f[k].base || f[k].base != f[0].base || !f[k].size)
				return false;
			own = f[k].offset + f[k].size > own ? f[k].offset + f[k].size : own;
		}
		if (f[i].offset < end)
			return false;
		end = own;
	}
	return true;
}

static void number_class(struct module *m, const struct field *f, size_t n, uint32_t *elements)
{
	bool apart = f->class && agree(f, n);

	for (size_t i = 0; i < n; i++) {
		if (f->class && (!i || (apart && f[i].offset != f[i - 1].offset)))
			++*elements;
		m->accesses[f[i].access].element = f->class ? *elements : 0;
	}
}

void elements_find(struct module *m)
{
	struct field *fields = calloc(m->count + 1, sizeof *fields);
	uint32_t elements = 0;
	size_t n = 0;

	if (!fields)
		compiler_die("out of memory");
	points_to_solve(m, LLVMGetNamedFunction(m->module, "main"), 0);
	for (size_t i = 0; i < m->count; i++)
		merge_of(&m->accesses[i]);
	for (size_t i = 0; i < m->count; i++) {
		const struct access *a = &m->accesses[i];
		if (!a->addr)
			continue; /* with ranges: element 0 */
		fields[n] = (struct field){ .class = find(points_to_number(a->addr)), .size = a->size, .access = i };
		read_tag(&fields[n++], a);
	}
	qsort(fields, n, sizeof *fields, by_class);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i; k < n && fields[k].class == fields[i].class; k++)
			;
		number_class(m, fields + i, k - i, &elements);
	}
	points_to_end();
	free(fields);
	free(parent);
	parent = NULL;
	classes = 0;
}
