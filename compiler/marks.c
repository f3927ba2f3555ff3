/*
 * Marks that outlive the optimiser. They are written as annotations of the memory model (!mmra), a pair of our prefix
 * and the reason: what makes several accesses one, CSE and both vectorisers among them, keeps such pairs where all have
 * some with the prefix, and whatever does not know them loses them, which is the safe side. (Access groups, which look
 * as if they were made for it, are lost by the vectoriser of straight code.)
 */
#include <string.h>
#include "compiler/internal.h"

#define PREFIX "heddle.left_out"

static unsigned kind(const struct module *m)
{
	return LLVMGetMDKindIDInContext(m->context, "mmra", 4);
}

void mark_left_out(struct module *m, LLVMValueRef inst, const char *why)
{
	LLVMMetadataRef pair[] = { LLVMMDStringInContext2(m->context, PREFIX, strlen(PREFIX)),
				   LLVMMDStringInContext2(m->context, why, strlen(why)) };

	LLVMSetMetadata(inst, kind(m), LLVMMetadataAsValue(m->context, LLVMMDNodeInContext2(m->context, pair, 2)));
}

/* The reason, if the node is such a pair. */
static const char *reason(LLVMValueRef node)
{
	LLVMValueRef pair[2];
	unsigned len;

	if (!LLVMIsAMDNode(node) || LLVMGetMDNodeNumOperands(node) != 2)
		return NULL;
	LLVMGetMDNodeOperands(node, pair);
	if (!pair[0] || !LLVMIsAMDString(pair[0]) || strcmp(LLVMGetMDString(pair[0], &len), PREFIX) != 0)
		return NULL;
	return pair[1] && LLVMIsAMDString(pair[1]) ? LLVMGetMDString(pair[1], &len) : NULL;
}

/* One pair is its own list. Of several reasons, the first. */
const char *marked_left_out(struct module *m, LLVMValueRef inst)
{
	LLVMValueRef marks = LLVMGetMetadata(inst, kind(m)), nodes[64];
	const char *why = marks ? reason(marks) : NULL;
	unsigned n = marks && !why ? (unsigned)LLVMGetMDNodeNumOperands(marks) : 0;

	if (n > sizeof nodes / sizeof *nodes)
		return NULL;
	if (n)
		LLVMGetMDNodeOperands(marks, nodes);
	for (unsigned i = 0; i < n && !why; i++)
		why = reason(nodes[i]);
	return why;
}

void marks_remove(struct module *m)
{
	for (LLVMValueRef f = LLVMGetFirstFunction(m->module); f; f = LLVMGetNextFunction(f))
		for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
			for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
				if (marked_left_out(m, i))
					LLVMSetMetadata(i, kind(m), NULL);
}
