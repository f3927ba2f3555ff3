/*
 * The pass as LLVM sees it, and the few things that LLVM offers only in C++. Everything else is C.
 *
 * With LTO the linker loads this: the early point sees the whole program before it is optimised, the last one after.
 * In per-file mode clang does, and the last point is the end of its optimiser. For --select=races clang loads it, too:
 * the first point is before a file is optimised.
 */
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/CaptureTracking.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/CodeGen/AtomicExpandUtils.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/Scalar/SimpleLoopUnswitch.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LoopUtils.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>
#include <memory>
extern "C" {
#include "compiler/internal.h"
}

using namespace llvm;

namespace
{
struct Pass : PassInfoMixin<Pass> {
	int (*entry)(LLVMModuleRef);

	explicit Pass(int (*e)(LLVMModuleRef)) : entry(e)
	{
	}
	PreservedAnalyses run(Module &module, ModuleAnalysisManager &)
	{
		return entry(wrap(&module)) ? PreservedAnalyses::none() : PreservedAnalyses::all();
	}
	static bool isRequired() /* also in functions that are not to be optimised */
	{
		return true;
	}
};

/* A loop with a choice that is the same in all rounds becomes two without it. Vectorised loops have such a choice,
   between the vectors and a loop for arrays that overlap, and the loop around them could not be one bracket
   (loops.c). */
struct SplitLoops : PassInfoMixin<SplitLoops> {
	PreservedAnalyses run(Module &module, ModuleAnalysisManager &analyses)
	{
		if (!instrument_comes_next())
			return PreservedAnalyses::all();
		return createModuleToFunctionPassAdaptor(createFunctionToLoopPassAdaptor(SimpleLoopUnswitchPass(true)))
			.run(module, analyses);
	}
};

void last(ModulePassManager &passes, int (*entry)(LLVMModuleRef))
{
	passes.addPass(SplitLoops());
	passes.addPass(Pass(entry));
	passes.addPass(AlwaysInlinerPass());
}

/*
 * An access that was marked as one of a thread's own memory must not become one of other memory. MemCpyOpt does that:
 * it lets a function write its result to where that is copied, or read what was copied for it where it comes from, and
 * the copy, which has the hook, is gone. It has run on each file before; the others move accesses, but not to other
 * objects.
 */
bool keeps_objects(StringRef pass, Any)
{
	return pass != "MemCpyOptPass" || !instrument_has_marked();
}

void add_passes(PassBuilder &builder)
{
	if (auto *callbacks = builder.getPassInstrumentationCallbacks())
		callbacks->registerShouldRunOptionalPassCallback(keeps_objects);
	builder.registerFullLinkTimeOptimizationEarlyEPCallback(
		[](ModulePassManager &passes, OptimizationLevel) { passes.addPass(Pass(instrument_early)); });
	builder.registerFullLinkTimeOptimizationLastEPCallback(
		[](ModulePassManager &passes, OptimizationLevel) { last(passes, instrument_last); });
	builder.registerPipelineStartEPCallback(
		[](ModulePassManager &passes, OptimizationLevel) { passes.addPass(Pass(instrument_start)); });
	builder.registerOptimizerLastEPCallback(
		[](ModulePassManager &passes, OptimizationLevel) { last(passes, instrument_file); });
}
} // namespace

extern "C" __attribute__((visibility("default"))) PassPluginLibraryInfo llvmGetPassPluginInfo()
{
	return { LLVM_PLUGIN_API_VERSION, "heddle", "1", add_passes };
}

namespace
{
/* What is known about a function's loops. */
struct Analyses {
	DominatorTree tree;
	LoopInfo loops;
	TargetLibraryInfoImpl library_impl;
	TargetLibraryInfo library;
	AssumptionCache assumptions;
	ScalarEvolution evolution;

	explicit Analyses(Function &f)
	    : tree(f), loops(tree), library_impl(Triple(f.getParent()->getTargetTriple())), library(library_impl, &f),
	      assumptions(f), evolution(f, library, assumptions, tree, loops)
	{
	}
};
} // namespace

/* The block from this instruction on becomes a block of its own; phis that come after know it. */
LLVMBasicBlockRef plugin_split(LLVMValueRef before)
{
	auto *inst = unwrap<Instruction>(before);

	return wrap(inst->getParent()->splitBasicBlock(inst));
}

LLVMValueRef plugin_after(LLVMValueRef call)
{
	auto *inst = unwrap<Instruction>(call);

	if (auto *invoke = dyn_cast<InvokeInst>(inst))
		return wrap(&*SplitEdge(invoke->getParent(), invoke->getNormalDest())->getFirstInsertionPt());
	return wrap(inst->getNextNode());
}

void plugin_erase_metadata(LLVMModuleRef module, const char *name)
{
	if (auto *list = unwrap(module)->getNamedMetadata(name))
		unwrap(module)->eraseNamedMetadata(list);
}

void plugin_keep(LLVMModuleRef module, LLVMValueRef global)
{
	appendToUsed(*unwrap(module), { unwrap<GlobalValue>(global) });
}

bool plugin_expand_rmw(LLVMValueRef rmw)
{
	auto create = [](IRBuilderBase &builder, Value *addr, Value *loaded, Value *wanted, Align align,
			 AtomicOrdering order, SyncScope::ID scope, Value *&success, Value *&read) {
		Type *type = wanted->getType();
		if (type->isFloatingPointTy() || type->isVectorTy()) {
			auto *integer = builder.getIntNTy(type->getPrimitiveSizeInBits());
			loaded = builder.CreateBitCast(loaded, integer);
			wanted = builder.CreateBitCast(wanted, integer);
		}
		auto *pair = builder.CreateAtomicCmpXchg(addr, loaded, wanted, align, order,
							 AtomicCmpXchgInst::getStrongestFailureOrdering(order), scope);
		success = builder.CreateExtractValue(pair, 1);
		read = builder.CreateBitCast(builder.CreateExtractValue(pair, 0), type);
	};

	return expandAtomicRMWToCmpXchg(unwrap<AtomicRMWInst>(rmw), create);
}

void plugin_objects(LLVMValueRef addr, void (*found)(void *, LLVMValueRef), void *arg)
{
	SmallVector<const Value *, 8> objects;

	getUnderlyingObjects(unwrap(addr), objects);
	for (const Value *object : objects)
		found(arg, wrap(object));
}

/* May the address of this object be known to anyone but the function that has it? */
bool plugin_captured(LLVMValueRef object, bool by_return)
{
	return PointerMayBeCaptured(unwrap(object), by_return, true, 500);
}

void plugin_back_edges(LLVMValueRef function, void (*found)(void *, LLVMBasicBlockRef, LLVMBasicBlockRef), void *arg)
{
	SmallVector<std::pair<const BasicBlock *, const BasicBlock *>, 16> edges;

	FindFunctionBackedges(*unwrap<Function>(function), edges);
	for (auto [from, to] : edges)
		found(arg, wrap(from), wrap(to));
}

/* ---- loops and dominators of one function at a time; they are forgotten when another one is asked for ---- */

namespace
{
struct Shape {
	const Function *function = nullptr;
	std::unique_ptr<DominatorTree> tree;
	std::unique_ptr<LoopInfo> loops;
	std::unique_ptr<Analyses> known; /* only if somebody asks how long a loop is */
};
Shape current;

Shape &shape_of(LLVMBasicBlockRef block)
{
	Function *f = unwrap(block)->getParent();
	if (current.function != f) {
		current.known.reset();
		current.loops.reset();
		current.tree = std::make_unique<DominatorTree>(*f);
		current.loops = std::make_unique<LoopInfo>(*current.tree);
		current.function = f;
	}
	return current;
}

LLVMBasicBlockRef wrap_or_null(BasicBlock *block)
{
	return block ? wrap(block) : nullptr;
}
} // namespace

void plugin_forget_shape(void)
{
	current = Shape();
}

bool plugin_dominates(LLVMBasicBlockRef a, LLVMBasicBlockRef b)
{
	return shape_of(a).tree->dominates(unwrap(a), unwrap(b));
}

LLVMBasicBlockRef plugin_dominator(LLVMBasicBlockRef block)
{
	auto *node = shape_of(block).tree->getNode(unwrap(block));
	return node && node->getIDom() ? wrap(node->getIDom()->getBlock()) : nullptr;
}

bool plugin_edge_dominates(LLVMBasicBlockRef from, LLVMBasicBlockRef to, LLVMBasicBlockRef block)
{
	return shape_of(block).tree->dominates(BasicBlockEdge(unwrap(from), unwrap(to)), unwrap(block));
}

bool plugin_loop(LLVMBasicBlockRef block, unsigned out, struct plugin_loop *found)
{
	Loop *loop = shape_of(block).loops->getLoopFor(unwrap(block));
	while (loop && out--)
		loop = loop->getParentLoop();
	if (!loop)
		return false;
	*found = { wrap(loop->getHeader()), wrap_or_null(loop->getLoopPredecessor()),
		   wrap_or_null(loop->getLoopLatch()), wrap_or_null(loop->getExitingBlock()),
		   wrap_or_null(loop->getExitBlock()) };
	return true;
}

/* How often a loop goes round, with those in it that are as short; 0: often, or nobody knows. */
static unsigned rounds_at_most(const Loop &loop, ScalarEvolution &evolution)
{
	enum { FEW = 4096 };
	uint64_t inside = 1;

	for (const Loop *inner : loop)
		inside = std::max<uint64_t>(inside, rounds_at_most(*inner, evolution));
	uint64_t all = inside * evolution.getSmallConstantMaxTripCount(&loop);
	return all <= FEW ? (unsigned)all : 0;
}

unsigned plugin_rounds(LLVMBasicBlockRef header)
{
	Shape &shape = shape_of(header);
	if (!shape.known)
		shape.known = std::make_unique<Analyses>(*unwrap(header)->getParent());
	const Loop *loop = shape.known->loops.getLoopFor(unwrap(header));
	return loop && loop->getHeader() == unwrap(header) ? rounds_at_most(*loop, shape.known->evolution) : 0;
}

bool plugin_in_loop(LLVMBasicBlockRef header, LLVMBasicBlockRef block)
{
	Loop *loop = shape_of(header).loops->getLoopFor(unwrap(header));
	return loop && loop->contains(unwrap(block));
}

/* ---- copies of loops --------------------------------------------------------------------------------------------- */

void plugin_tidy_loops(LLVMValueRef function)
{
	DominatorTree tree(*unwrap<Function>(function));
	LoopInfo loops(tree);
	for (Loop *loop : loops) {
		simplifyLoop(loop, &tree, &loops, nullptr, nullptr, nullptr, false);
		formLCSSARecursively(*loop, tree, &loops, nullptr);
	}
}

bool plugin_is_safe_earlier(LLVMValueRef inst)
{
	return isSafeToSpeculativelyExecute(unwrap<Instruction>(inst));
}

namespace
{
/* An address as base + index * size + constant, as far as one getelementptr tells; a sum in the index is taken apart
   where widening it cannot make a difference. */
struct Place {
	const Value *base, *index = nullptr;
	uint64_t size = 0;
	bool is_signed = false;
	int64_t constant;

	Place(const Value *addr, const DataLayout &layout)
	{
		APInt offset(layout.getIndexTypeSizeInBits(addr->getType()), 0);
		base = addr->stripAndAccumulateConstantOffsets(layout, offset, true);
		constant = offset.getSExtValue();
		const auto *gep = dyn_cast<GetElementPtrInst>(base);
		if (!gep || gep->getNumIndices() != 1 || gep->getType()->isVectorTy() ||
		    gep->getSourceElementType()->isScalableTy())
			return;
		size = layout.getTypeAllocSize(gep->getSourceElementType());
		take_index(gep->getOperand(1));
		if (index)
			base = gep->getPointerOperand();
	}
	void take_index(const Value *sum)
	{
		bool widens = isa<ZExtInst>(sum) || isa<SExtInst>(sum);
		const Value *inner = widens ? cast<CastInst>(sum)->getOperand(0) : sum;
		bool widened = !inner->getType()->isIntegerTy(64);
		is_signed = widened && !isa<ZExtInst>(sum); /* a narrow index is extended so, too */
		const auto *two = dyn_cast<BinaryOperator>(inner);
		const auto *number = two ? dyn_cast<ConstantInt>(two->getOperand(1)) : nullptr;
		if (!number || number->getBitWidth() > 64) {
			index = inner;
			return;
		}
		bool either = isa<PossiblyDisjointInst>(two) && cast<PossiblyDisjointInst>(two)->isDisjoint();
		bool adds = two->getOpcode() == Instruction::Add &&
			    (!widened || (is_signed ? two->hasNoSignedWrap() : two->hasNoUnsignedWrap()));
		index = either || adds ? two->getOperand(0) : inner;
		if (either || adds)
			constant += (int64_t)size *
				    (is_signed || !widened ? number->getSExtValue() : (int64_t)number->getZExtValue());
	}
	bool is_beside(const Place &other) const
	{
		return base == other.base && index == other.index && size == other.size && is_signed == other.is_signed;
	}
};
} // namespace

/* How far is b behind a, if that is always the same? */
bool plugin_apart(LLVMModuleRef module, LLVMValueRef a, LLVMValueRef b, int64_t *bytes)
{
	const DataLayout &layout = unwrap(module)->getDataLayout();
	Place from(unwrap(a), layout), to(unwrap(b), layout);

	if (!from.is_beside(to))
		return false;
	*bytes = to.constant - from.constant;
	return true;
}

namespace
{
/*
 * A loop with loops in it, as far as what it accesses is known before it begins. A value that changes in it is one
 * of `low`, `low` + 1, ..., `low` + `length`, if the conditions hold: numbers of 64 bits that are below limits, which
 * are asked before it begins, too. The conditions keep all parts of a sum so small that it does not wrap around.
 *
 * How often an inner loop goes round is what its own beginning knows. Before the nest that expression may be another
 * number, such as -1 for a loop that will not be entered: then a condition fails.
 */
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

	/* So many, if they are in each round of this loop. */
	const SCEV *in_all_rounds(const Loop *loop, uint64_t each)
	{
		const SCEV *all = constant(each);
		for (; loop; loop = loop == &outer ? nullptr : loop->getParentLoop())
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

	bool span_of(Value *address, Span &to)
	{
		const SCEV *number = evolution.getPtrToIntExpr(evolution.getSCEV(address), type);
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
} // namespace

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

	bool can_be_copied(const Loop &loop)
	{
		const BasicBlock *latch = loop.getLoopLatch();
		return loop.isLoopSimplifyForm() && latch && loop.getExitingBlock() == latch && loop.getExitBlock() &&
		       loop.isLCSSAForm(tree) && loop.isSafeToClone();
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
			if (!nest->span_of(unwrap(ranges[i].addr), span) ||
			    !copier.add(copier.arg, this, span.low, span.length, &ranges[i]))
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

/* ---- loops with a held bracket ----------------------------------------------------------------------------------- */

size_t plugin_loops_in(LLVMValueRef function, LLVMBasicBlockRef header, LLVMBasicBlockRef *to, size_t room)
{
	Function &f = *unwrap<Function>(function);
	LoopInfo &info = *shape_of(wrap(&f.getEntryBlock())).loops;
	const auto &inner = header ? info.getLoopFor(unwrap(header))->getSubLoops() : info.getTopLevelLoops();

	for (size_t i = 0; i < inner.size() && i < room; i++)
		to[i] = wrap(inner[i]->getHeader());
	return inner.size();
}

bool plugin_nest(LLVMBasicBlockRef header, struct plugin_nest *nest)
{
	static SmallVector<BasicBlock *, 4> exits; /* until the next one is asked for */
	const Loop &loop = *shape_of(header).loops->getLoopFor(unwrap(header));

	exits.clear();
	loop.getUniqueExitBlocks(exits);
	auto *blocks = reinterpret_cast<const LLVMBasicBlockRef *>(loop.getBlocks().data());
	auto *after = reinterpret_cast<const LLVMBasicBlockRef *>(exits.data());
	*nest = { wrap_or_null(loop.getLoopPreheader()), blocks, after, loop.getNumBlocks(), exits.size() };
	return nest->before && loop.hasDedicatedExits();
}

bool plugin_is_irreducible(LLVMValueRef function)
{
	const Function *f = unwrap<Function>(function);
	ReversePostOrderTraversal<const Function *> order(f);
	LoopInfo &info = *shape_of(wrap(const_cast<BasicBlock *>(&f->getEntryBlock()))).loops;

	return containsIrreducibleCFG<const BasicBlock *>(order, info);
}

bool plugin_returns_twice(LLVMValueRef function)
{
	return unwrap<Function>(function)->callsFunctionThatReturnsTwice();
}

void plugin_promote(const LLVMValueRef *variables, size_t count)
{
	SmallVector<AllocaInst *, 8> list;

	for (size_t i = 0; i < count; i++)
		list.push_back(unwrap<AllocaInst>(variables[i]));
	DominatorTree tree(*list[0]->getFunction());
	PromoteMemToReg(list, tree);
}
