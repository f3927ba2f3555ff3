/*
 * Marks that outlive the optimiser: groups of accesses are kept by what merges or vectorises them, and are lost by all
 * else, which is the safe side. Each instruction is in one group for all and in one for its reason. The list of groups,
 * with their reasons, is part of the module.
 */
#include <stdlib.h>
#include <string.h>
#include "compiler/internal.h"

#define LIST "heddle.left_out"

static struct group {
	LLVMValueRef node; /* as a value: there is one for each node */
	const char *why;
} * groups; /* while one of the two entries runs; the first is for all */
static size_t count;

static unsigned kind(const struct module *m)
{
	return LLVMGetMDKindIDInContext(m->context, "llvm.access.group", 17);
}

static void note_group(LLVMValueRef node, const char *why)
{
	groups = realloc(groups, (count + 1) * sizeof *groups);
	if (!groups)
		compiler_die("out of memory");
	groups[count++] = (struct group){ node, why };
}

static LLVMValueRef add_group(struct module *m, const char *why)
{
	LLVMMetadataRef node = plugin_distinct_node(m->context);
	LLVMMetadataRef text = LLVMMDStringInContext2(m->context, why, strlen(why)), row[] = { node, text };
	unsigned len;

	LLVMAddNamedMetadataOperand(m->module, LIST,
				    LLVMMetadataAsValue(m->context, LLVMMDNodeInContext2(m->context, row, 2)));
	/* its own text: the caller's will be gone when the other entry runs */
	note_group(LLVMMetadataAsValue(m->context, node), LLVMGetMDString(LLVMMetadataAsValue(m->context, text), &len));
	return groups[count - 1].node;
}

void mark_left_out(struct module *m, LLVMValueRef inst, const char *why)
{
	LLVMValueRef own = NULL;

	if (!LLVMGetNamedMetadataNumOperands(m->module, LIST)) {
		count = 0;
		add_group(m, "several accesses that cannot race were made one");
	}
	for (size_t i = 1; i < count && !own; i++)
		if (!strcmp(groups[i].why, why))
			own = groups[i].node;
	if (!own)
		own = add_group(m, why);
	LLVMMetadataRef both[] = { LLVMValueAsMetadata(groups[0].node), LLVMValueAsMetadata(own) };
	LLVMSetMetadata(inst, kind(m), LLVMMetadataAsValue(m->context, LLVMMDNodeInContext2(m->context, both, 2)));
}

/* The list that the early entry has left in the module. */
static void read_list(struct module *m)
{
	unsigned n = LLVMGetNamedMetadataNumOperands(m->module, LIST), len;
	LLVMValueRef *rows = calloc(n + 1, sizeof *rows), parts[2];

	if (!rows)
		compiler_die("out of memory");
	LLVMGetNamedMetadataOperands(m->module, LIST, rows);
	count = 0;
	for (unsigned i = 0; i < n; i++) {
		LLVMGetMDNodeOperands(rows[i], parts);
		note_group(parts[0], LLVMGetMDString(parts[1], &len));
	}
	free(rows);
}

static const struct group *find(LLVMValueRef node)
{
	for (size_t i = 0; i < count; i++)
		if (groups[i].node == node)
			return &groups[i];
	return NULL;
}

/* One group is its own list. */
const char *marked_left_out(struct module *m, LLVMValueRef inst)
{
	LLVMValueRef marks = LLVMGetMetadata(inst, kind(m)), nodes[65];
	const char *why = NULL;
	bool common = false;

	if (!marks || !LLVMGetNamedMetadataNumOperands(m->module, LIST))
		return NULL;
	if (!count)
		read_list(m);
	unsigned n = (unsigned)LLVMGetMDNodeNumOperands(marks);
	if (n > 64)
		return NULL;
	LLVMGetMDNodeOperands(marks, nodes + 1);
	nodes[0] = marks;
	for (unsigned i = 0; i <= n; i++) {
		const struct group *g = find(nodes[i]);
		common |= g == groups;
		if (g && (!why || g != groups))
			why = g->why;
	}
	return common ? why : NULL;
}
