#pragma once
/*
 * C++. A loop with loops in it, as far as what it accesses is known before it begins. A value that changes in it is one
 * of `low`, `low` + 1, ..., `low` + `length`, if the conditions hold: numbers of 64 bits that are below limits, which
 * are asked before it begins, too. The conditions keep all parts of a sum so small that it does not wrap around.
 *
 * How often an inner loop goes round is what its own beginning knows. Before the nest that expression may be another
 * number, such as -1 for a loop that will not be entered: then a condition fails.
 */
#include <llvm/ADT/MapVector.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>
#include "compiler/plugin.h"

struct Nest {
	struct Span {
		const SCEV *low, *length; /* length: 64 bits */
	};
	struct Hooks {
		unsigned accesses = 0, polls = 0;
	};
	/* What a loop that goes on while a number is below a limit, but might wrap around, says of that number. */
	struct Control {
		const SCEVAddRecExpr *number = nullptr;
		const SCEV *last = nullptr; /* it is at most this */
	};
	enum : uint64_t { SMALL = 1ull << 20, LONGEST = 1ull << 40, DEPTH_MOST = 3, BLOCKS_MOST = 60 };
	const Loop &outer;
	const LoopInfo &loops;
	ScalarEvolution &evolution;
	SCEVExpander &expander;
	Type *type;
	const Instruction *end;
	MapVector<BasicBlock *, Hooks> hooks;
	SmallSetVector<std::pair<const SCEV *, uint64_t>, 8> conditions;
	DenseMap<const Loop *, const SCEV *> taken; /* how often each loop jumps back, at most; null: not known */
	DenseMap<const Loop *, Control> controls;

	Nest(const Loop &loop, const LoopInfo &l, ScalarEvolution &e, SCEVExpander &x)
	    : outer(loop), loops(l), evolution(e), expander(x), type(Type::getInt64Ty(e.getContext())),
	      end(loop.getLoopPreheader()->getTerminator())
	{
	}

	const SCEV *constant(uint64_t value)
	{
		return evolution.getConstant(type, value);
	}

	const SCEV *wide(const SCEV *value)
	{
		return evolution.getTruncateOrZeroExtend(value, type);
	}

	bool is_known(const SCEV *value)
	{
		return evolution.isLoopInvariant(value, &outer) && expander.isSafeToExpandAt(value, end) &&
		       evolution.getTypeSizeInBits(value->getType()) <= 64;
	}

	/* False: it never holds, or cannot be asked. */
	bool ask(const SCEV *value, uint64_t below)
	{
		if (const auto *number = dyn_cast<SCEVConstant>(value))
			return number->getAPInt().ult(below);
		if (!expander.isSafeToExpandAt(value, end))
			return false;
		conditions.insert({ value, below });
		return true;
	}

	/* `for (n = start; n < limit; n += step)`, unsigned; start < limit is known where it is entered. */
	bool find_control(const Loop &loop, Control &to)
	{
		const ICmpInst *compare = loop.getLatchCmpInst();
		if (!compare || loop.getExitingBlock() != loop.getLoopLatch())
			return false;
		const auto *jump = cast<BranchInst>(loop.getLoopLatch()->getTerminator());
		auto holds = jump->getSuccessor(0) == loop.getHeader() ? compare->getPredicate() :
									 compare->getInversePredicate();
		const auto *next = dyn_cast<SCEVAddRecExpr>(evolution.getSCEV(compare->getOperand(0)));
		const SCEV *limit = evolution.getSCEV(compare->getOperand(1));
		if (holds != CmpInst::ICMP_ULT || !next || next->getLoop() != &loop || !next->isAffine() ||
		    !next->getType()->isIntegerTy() || !is_known(limit))
			return false;
		const SCEV *step = next->getStepRecurrence(evolution);
		const SCEV *start = evolution.getMinusSCEV(next->getStart(), step);
		if (!is_known(step) || !evolution.isLoopEntryGuardedByCond(&loop, holds, start, limit))
			return false;
		to.number = dyn_cast<SCEVAddRecExpr>(evolution.getAddRecExpr(start, step, &loop, SCEV::FlagAnyWrap));
		to.last = evolution.getMinusSCEV(wide(limit), constant(1));
		/* then the number does not wrap before it comes to the limit */
		uint64_t half = 1ull << (evolution.getTypeSizeInBits(step->getType()) - 1);
		return to.number && ask(to.last, half) &&
		       ask(evolution.getMinusSCEV(wide(step), constant(1)), half - 1);
	}

	const SCEV *find_taken(const Loop &loop)
	{
		const SCEV *count = evolution.getBackedgeTakenCount(&loop);
		if (!isa<SCEVCouldNotCompute>(count) && is_known(count))
			return ask(wide(count), HOOK_ROUNDS_MAX) ? wide(count) : nullptr;
		Control &control = controls[&loop];
		if (!find_control(loop, control)) {
			control = Control();
			return nullptr;
		}
		const SCEV *step = wide(control.number->getStepRecurrence(evolution));
		count = evolution.getUDivExpr(control.last, evolution.getUMaxExpr(step, constant(1)));
		return ask(count, HOOK_ROUNDS_MAX) ? count : nullptr;
	}

	const SCEV *taken_by(const Loop &loop)
	{
		if (taken.insert({ &loop, nullptr }).second)
			taken[&loop] = find_taken(loop);
		return taken[&loop];
	}

	static unsigned depth(const Loop &loop)
	{
		unsigned most = 0;
		for (const Loop *inner : loop)
			most = std::max(most, depth(*inner));
		return most + 1;
	}

	bool is_bounded()
	{
		return depth(outer) <= DEPTH_MOST && outer.getNumBlocks() <= BLOCKS_MOST &&
		       all_of(outer.getLoopsInPreorder(), [this](const Loop *loop) { return taken_by(*loop); });
	}

	/* So many, if they are in each round of this loop; of a value: of those in which it changes. */
	const SCEV *in_all_rounds(const Loop *loop, uint64_t each, const SCEV *value = nullptr)
	{
		const SCEV *all = constant(each);
		for (; loop; loop = loop == &outer ? nullptr : loop->getParentLoop())
			if (!value || !evolution.isLoopInvariant(value, loop))
				all = evolution.getMulExpr(all, evolution.getAddExpr(taken_by(*loop), constant(1)));
		return all;
	}

	const SCEV *rounds()
	{
		const SCEV *all = constant(0);
		for (const Loop *loop : outer.getLoopsInPreorder())
			all = evolution.getAddExpr(all, in_all_rounds(loop, 1));
		return all;
	}

	const SCEV *all_accesses()
	{
		const SCEV *all = constant(0);
		for (auto [block, has] : hooks)
			all = evolution.getAddExpr(all, in_all_rounds(loops.getLoopFor(block), has.accesses));
		return all;
	}

	const SCEV *address_of(Value *address)
	{
		return evolution.getPtrToIntExpr(evolution.getSCEV(address), type);
	}

	/* How many different addresses there are, at most. */
	const SCEV *places(Value *address, const BasicBlock *block)
	{
		return in_all_rounds(loops.getLoopFor(block), 1, address_of(address));
	}

	bool span_of(Value *address, Span &to)
	{
		const SCEV *number = address_of(address);
		return !isa<SCEVCouldNotCompute>(number) && find_span(number, to) &&
		       expander.isSafeToExpandAt(to.low, end) && expander.isSafeToExpandAt(to.length, end);
	}

	bool find_span(const SCEV *value, Span &to)
	{
		if (evolution.isLoopInvariant(value, &outer)) {
			to = { value, constant(0) };
			return true;
		}
		if (const auto *moves = dyn_cast<SCEVAddRecExpr>(value))
			return outer.contains(moves->getLoop()) && moves->isAffine() && find_moving(*moves, to);
		if (const auto *sum = dyn_cast<SCEVAddExpr>(value))
			return find_sum(*sum, to);
		if (const auto *product = dyn_cast<SCEVMulExpr>(value))
			return find_product(*product, to);
		if (isa<SCEVZeroExtendExpr, SCEVSignExtendExpr>(value))
			return find_extended(*cast<SCEVCastExpr>(value), to);
		return false;
	}

	bool find_moving(const SCEVAddRecExpr &moves, Span &to)
	{
		const Loop &loop = *moves.getLoop();
		const SCEV *count = taken_by(loop);
		if (!count)
			return false;
		const Control control = controls.lookup(&loop);
		if (!control.number)
			return find_span(moves.getStart(), to) && move(to, moves.getStepRecurrence(evolution), count);
		/* a fixed way from that number, or from a multiple of it */
		uint64_t times =
			how_many(moves.getStepRecurrence(evolution), control.number->getStepRecurrence(evolution));
		if (!times || moves.getType() != control.number->getType() || !ask(control.last, LONGEST))
			return false;
		const SCEV *multiple = evolution.getConstant(moves.getType(), times);
		const SCEV *way = evolution.getMinusSCEV(&moves, evolution.getMulExpr(multiple, control.number));
		if (!evolution.isLoopInvariant(way, &loop) || !find_span(way, to))
			return false;
		const SCEV *most = evolution.getMulExpr(constant(times), control.last);
		to.length = evolution.getAddExpr(to.length, most);
		return ask(to.length, LONGEST);
	}

	/* A step as a number and what it is multiplied with; null: with nothing. The number is 0 where it is none. */
	static std::pair<uint64_t, const SCEV *> factor(const SCEV *step)
	{
		const auto *product = dyn_cast<SCEVMulExpr>(step);
		const auto *number = dyn_cast<SCEVConstant>(product ? product->getOperand(0) : step);
		if (!number)
			return { 1, step };
		if (product && product->getNumOperands() != 2)
			return { 0, nullptr };
		bool is_small = !number->getAPInt().isNegative() && number->getAPInt().ult(SMALL);
		return { is_small ? number->getAPInt().getZExtValue() : 0, product ? product->getOperand(1) : nullptr };
	}

	/* How many of the one step are the other? 0: that is not known. */
	static uint64_t how_many(const SCEV *step, const SCEV *one)
	{
		auto [all, of] = factor(step);
		auto [each, each_of] = factor(one);
		return of == each_of && each && all % each == 0 ? all / each : 0;
	}

	/* Moved on by up to so many steps. */
	bool move(Span &to, const SCEV *step, const SCEV *count)
	{
		const auto *number = dyn_cast<SCEVConstant>(step);
		const SCEV *size = step;
		if (number && number->getAPInt().isNegative()) {
			size = evolution.getNegativeSCEV(step);
			to.low = evolution.getAddExpr(
				to.low,
				evolution.getMulExpr(step, evolution.getTruncateOrZeroExtend(count, step->getType())));
		}
		if (!is_known(size) || !ask(wide(size), SMALL))
			return false;
		to.length = evolution.getAddExpr(to.length, evolution.getMulExpr(wide(size), count));
		return ask(to.length, LONGEST);
	}

	bool find_sum(const SCEVAddExpr &sum, Span &to)
	{
		to = { nullptr, constant(0) };
		for (const SCEV *part : sum.operands()) {
			Span span;
			if (!find_span(part, span))
				return false;
			to.low = to.low ? evolution.getAddExpr(to.low, span.low) : span.low;
			to.length = evolution.getAddExpr(to.length, span.length);
		}
		return ask(to.length, LONGEST);
	}

	/* By a constant, which stands first. */
	bool find_product(const SCEVMulExpr &product, Span &to)
	{
		const auto *by = dyn_cast<SCEVConstant>(product.getOperand(0));
		if (!by || product.getNumOperands() != 2 || by->getAPInt().isNegative() || by->getAPInt().uge(SMALL) ||
		    !find_span(product.getOperand(1), to))
			return false;
		to.low = evolution.getMulExpr(by, to.low);
		to.length = evolution.getMulExpr(wide(by), to.length);
		return ask(to.length, LONGEST);
	}

	/* It must not wrap in its narrow type. */
	bool find_extended(const SCEVCastExpr &cast, Span &to)
	{
		const SCEV *narrow = cast.getOperand();
		uint64_t bits = evolution.getTypeSizeInBits(narrow->getType());
		if (bits >= 64 || cast.getType() != type || !find_span(narrow, to))
			return false;
		bool is_signed = isa<SCEVSignExtendExpr>(cast);
		to.low = is_signed ? evolution.getSignExtendExpr(to.low, type) : wide(to.low);
		const SCEV *from = is_signed ? evolution.getAddExpr(to.low, constant(1ull << (bits - 1))) : to.low;
		return ask(evolution.getAddExpr(from, to.length), 1ull << bits);
	}
};
