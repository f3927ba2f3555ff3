/*
 * Copies of loops without hooks, which run where all that a loop accesses can be had before it begins (loops.c): what
 * LLVM offers for that only in C++.
 */
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/LoopIterator.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LoopUtils.h>
#include <memory>
#include "compiler/nest.h"

void plugin_tidy_loops(LLVMValueRef function)
{
	DominatorTree tree(*unwrap<Function>(function));
	LoopInfo loops(tree);
	for (Loop *loop : loops) {
		simplifyLoop(loop, &tree, &loops, nullptr, nullptr, nullptr, false);
		formLCSSARecursively(*loop, tree, &loops, nullptr);
	}
}

struct plugin_copying {
	Function &f;
	const loop_copier &copier;
	Analyses known;
	DominatorTree &tree = known.tree;
	LoopInfo &loops = known.loops;
	ScalarEvolution &evolution = known.evolution;
	SCEVExpander expander;
	SmallSetVector<const SCEVPredicate *, 4> conditions;
	const SCEV *more = nullptr;
	bool some = false; /* is hooked */
	std::unique_ptr<Nest> nest;
	LLVMValueRef rounds = nullptr;

	plugin_copying(Function &function, const loop_copier &c)
	    : f(function), copier(c), known(f), expander(evolution, f.getDataLayout(), "")
	{
	}

	/* An index that might overflow moves on evenly if it does not, which can be asked before the loop. */
	const SCEV *with_conditions(const Loop &loop, const SCEV *pointer)
	{
		SmallPtrSet<const SCEVPredicate *, 4> needed;
		const SCEVAddRecExpr *moves = evolution.convertSCEVToAddRecWithPredicates(pointer, &loop, needed);
		if (!moves)
			return pointer;
		for (const SCEVPredicate *condition : needed) {
			const auto *wrap = dyn_cast<SCEVWrapPredicate>(condition);
			if (!wrap || !expander.isSafeToExpandAt(wrap->getExpr()->getStart(),
								loop.getLoopPreheader()->getTerminator()))
				return pointer;
		}
		conditions.insert(needed.begin(), needed.end());
		return moves;
	}

	bool add(const Loop &loop, const plugin_range &range)
	{
		const Instruction *end = loop.getLoopPreheader()->getTerminator();
		const SCEV *first = evolution.getSCEV(unwrap(range.addr)), *stride = nullptr;
		if (!evolution.isLoopInvariant(first, &loop) && !isa<SCEVAddRecExpr>(first))
			first = with_conditions(loop, first);
		if (const auto *moves = dyn_cast<SCEVAddRecExpr>(first); moves && moves->getLoop() == &loop) {
			if (!moves->isAffine())
				return false;
			first = moves->getStart();
			stride = moves->getStepRecurrence(evolution);
		}
		return evolution.isLoopInvariant(first, &loop) && expander.isSafeToExpandAt(first, end) &&
		       (!stride || expander.isSafeToExpandAt(stride, end)) &&
		       copier.add(copier.arg, this, first, stride, &range);
	}

	/* The ranges of an instruction. Every round must pass it. */
	bool add(const Loop &loop, Instruction &inst)
	{
		plugin_range ranges[2];
		int count = copier.ranges(copier.arg, wrap(&inst), ranges);
		if (count <= 0)
			return !count;
		some = true;
		return tree.dominates(inst.getParent(), loop.getLoopLatch()) && add(loop, ranges[0]) &&
		       (count == 1 || add(loop, ranges[1]));
	}

	/* A cycle that is entered at several places is no loop, and nobody knows how often it goes round. */
	bool has_such_cycle(const Loop &loop)
	{
		LoopBlocksRPO order(const_cast<Loop *>(&loop));
		order.perform(&loops);
		return containsIrreducibleCFG<const BasicBlock *>(order, loops);
	}

	bool can_be_copied(const Loop &loop)
	{
		const BasicBlock *latch = loop.getLoopLatch();
		return loop.isLoopSimplifyForm() && latch && loop.getExitingBlock() == latch && loop.getExitBlock() &&
		       loop.isLCSSAForm(tree) && loop.isSafeToClone() && !has_such_cycle(loop);
	}

	bool is_suited(const Loop &loop)
	{
		if (!loop.isInnermost() || !can_be_copied(loop) ||
		    !copier.begin(copier.arg, wrap(loop.getHeader()), false))
			return false;
		conditions.clear();
		nest.reset();
		some = false;
		for (BasicBlock *block : loop.blocks())
			for (Instruction &inst : *block)
				if (!add(loop, inst))
					return false;
		if (!some)
			return false;
		more = evolution.getBackedgeTakenCount(&loop);
		return !isa<SCEVCouldNotCompute>(more) && evolution.getTypeSizeInBits(more->getType()) <= 64 &&
		       expander.isSafeToExpandAt(more, loop.getLoopPreheader()->getTerminator());
	}

	/* The same of a nest. Not every round must pass its accesses: that they could be anywhere in what is checked
	   is enough, since the copy counts them as it goes. */
	bool is_suited_nest(const Loop &loop)
	{
		if (loop.isInnermost() || !can_be_copied(loop) ||
		    !copier.begin(copier.arg, wrap(loop.getHeader()), true))
			return false;
		conditions.clear();
		nest = std::make_unique<Nest>(loop, loops, evolution, expander);
		some = false;
		if (!nest->is_bounded())
			return false;
		for (BasicBlock *block : loop.blocks())
			for (Instruction &inst : *block)
				if (!add_to_nest(inst))
					return false;
		more = nest->rounds();
		return some && nest->ask(more, HOOK_ROUNDS_MAX);
	}

	bool add_to_nest(Instruction &inst)
	{
		plugin_range ranges[2];
		if (copier.is_poll(copier.arg, wrap(&inst)))
			return ++nest->hooks[inst.getParent()].polls;
		int count = copier.ranges(copier.arg, wrap(&inst), ranges);
		if (count > 0)
			nest->hooks[inst.getParent()].accesses++;
		some |= count > 0;
		for (int i = 0; i < count; i++) {
			Nest::Span span;
			if (!nest->span_of(unwrap(ranges[i].addr), span))
				return false;
			ranges[i].places = nest->places(unwrap(ranges[i].addr), inst.getParent());
			if (!copier.add(copier.arg, this, span.low, span.length, &ranges[i]))
				return false;
		}
		return count >= 0;
	}

	LLVMValueRef number(const SCEV *value, Instruction *at)
	{
		Type *type = Type::getInt64Ty(f.getContext());
		if (value->getType()->isPointerTy())
			return wrap(IRBuilder<>(at).CreatePtrToInt(expander.expandCodeFor(value, value->getType(), at),
								   type));
		return wrap(expander.expandCodeFor(value, type, at));
	}

	/* Is it worth to look whether the copy may run? */
	LLVMValueRef is_worth(Instruction *at)
	{
		if (!nest)
			return copier.worth(copier.arg, wrap(at), rounds);
		Value *bounded = unwrap(copier.worth(copier.arg, wrap(at), rounds));
		for (auto [value, below] : nest->conditions) {
			auto *limit = ConstantInt::get(Type::getInt64Ty(f.getContext()), below);
			auto *holds = IRBuilder<>(at).CreateICmpULT(unwrap(number(value, at)), limit);
			bounded = IRBuilder<>(at).CreateAnd(bounded, holds);
		}
		return wrap(bounded);
	}

	LLVMValueRef check(Instruction *at)
	{
		LLVMValueRef accesses = nest ? number(nest->all_accesses(), at) : nullptr;
		copier.expand(copier.arg, this, wrap(at));
		SmallVector<Value *, 4> broken;
		for (const SCEVPredicate *condition : conditions)
			broken.push_back(expander.expandCodeForPredicate(condition, at));
		LLVMValueRef ok = copier.check(copier.arg, wrap(at), rounds, accesses);
		for (Value *condition : broken)
			ok = wrap(IRBuilder<>(at).CreateAnd(unwrap(ok), IRBuilder<>(at).CreateNot(condition)));
		return ok;
	}

	void count(ValueToValueMapTy &map)
	{
		for (auto [block, hooks] : nest->hooks)
			copier.count(copier.arg, wrap(cast<BasicBlock>(map[block])->getTerminator()), hooks.accesses,
				     hooks.polls);
	}

	static void branch(BasicBlock *block, LLVMValueRef condition, BasicBlock *yes, BasicBlock *no, MDNode *weights)
	{
		Instruction *jump = block->getTerminator();
		auto *choice = BranchInst::Create(yes, no, unwrap(condition), jump->getIterator());
		choice->setDebugLoc(jump->getDebugLoc());
		choice->setMetadata(LLVMContext::MD_prof, weights);
		jump->eraseFromParent();
	}

	void copy(Loop &loop)
	{
		BasicBlock *before = loop.getLoopPreheader(), *exit = loop.getExitBlock();
		BasicBlock *latch = loop.getLoopLatch();
		Instruction *at = before->getTerminator();
		rounds = number(evolution.getTruncateOrZeroExtend(more, Type::getInt64Ty(f.getContext())), at);
		LLVMValueRef worth = is_worth(at);
		BasicBlock *looks = SplitBlock(before, at, &tree, &loops);
		LLVMValueRef ok = check(at);
		BasicBlock *inside = SplitBlock(looks, at, &tree, &loops);
		ValueToValueMapTy map;
		SmallVector<BasicBlock *, 8> blocks;
		Loop *other = cloneLoopWithPreheader(inside, looks, &loop, map, "", &loops, &tree, blocks);
		remapInstructionsInBlocks(blocks, map);
		branch(looks, ok, other->getLoopPreheader(), inside,
		       MDBuilder(f.getContext()).createBranchWeights(1 << 20, 1));
		/* without weights the code generator lays out what follows as if loops were mostly short */
		branch(before, worth, looks, inside, MDBuilder(f.getContext()).createBranchWeights(3, 2));
		auto *latch_copy = cast<BasicBlock>(map[latch]);
		for (PHINode &phi : exit->phis()) {
			Value *value = phi.getIncomingValueForBlock(latch), *copied = map.lookup(value);
			phi.addIncoming(copied ? copied : value, latch_copy);
		}
		if (nest)
			count(map);
		BasicBlock *after = SplitEdge(latch_copy, exit);
		copier.after_copy(copier.arg, wrap(after->getTerminator()));
	}

	/* Copies the first suited loop that is not yet done, and notes both as done. False: there is none. */
	bool run(SmallPtrSetImpl<const BasicBlock *> &done)
	{
		for (Loop *loop : loops.getLoopsInPreorder())
			if (done.insert(loop->getHeader()).second && (is_suited(*loop) || is_suited_nest(*loop))) {
				copy(*loop);
				return true;
			}
		return false;
	}
};

bool plugin_always_apart(struct plugin_copying *c, const void *a, const void *b, int64_t *bytes)
{
	const auto *apart = dyn_cast<SCEVConstant>(c->evolution.getMinusSCEV((const SCEV *)b, (const SCEV *)a));

	if (apart)
		*bytes = apart->getAPInt().getSExtValue();
	return apart;
}

LLVMValueRef plugin_expand_address(struct plugin_copying *c, const void *address, int64_t plus, LLVMValueRef at)
{
	Type *type = Type::getInt64Ty(c->f.getContext());
	ScalarEvolution &e = c->evolution;
	const SCEV *first = (const SCEV *)address;
	if (first->getType()->isPointerTy())
		first = e.getPtrToIntExpr(first, type);
	const SCEV *sum = e.getAddExpr(first, e.getConstant(type, (uint64_t)plus, true));

	return c->number(sum, unwrap<Instruction>(at));
}

LLVMValueRef plugin_expand_stride(struct plugin_copying *c, const void *stride, LLVMValueRef at)
{
	Type *type = Type::getInt64Ty(c->f.getContext());

	return c->number(c->evolution.getTruncateOrSignExtend((const SCEV *)stride, type), unwrap<Instruction>(at));
}

/* What scalar evolution knows does not outlive a copy, so it is asked anew for each. */
void plugin_copy_loops(LLVMValueRef function, const struct loop_copier *copier)
{
	SmallPtrSet<const BasicBlock *, 32> done;

	while (plugin_copying(*unwrap<Function>(function), *copier).run(done))
		;
}
