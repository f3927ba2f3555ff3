/*
 * The pass as LLVM sees it, and the few things that LLVM offers only in C++. Everything else is C.
 *
 * With LTO the linker loads this: the early point sees the whole program before it is optimised, the last one after.
 * In per-file mode clang does, and the last point is the end of its optimiser. For --select=races clang loads it, too:
 * the first point is before a file is optimised.
 */
#include <llvm/Analysis/CaptureTracking.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/CodeGen/AtomicExpandUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/Scalar/SimpleLoopUnswitch.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>
#include <memory>
#include "compiler/plugin.h"

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

/* ---- addresses -------------------------------------------------------------------------------------------------- */
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

/* What is known of an address, whatever an access there promises. */
unsigned plugin_alignment(LLVMValueRef access, LLVMValueRef addr)
{
	return (unsigned)getKnownAlignment(unwrap(addr), unwrap<Instruction>(access)->getDataLayout()).value();
}

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
