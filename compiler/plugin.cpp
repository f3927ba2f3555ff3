/*
 * The pass as LLVM sees it, and the few things that LLVM offers only in C++. Everything else is C.
 *
 * With LTO the linker loads this: the early point sees the whole program before it is optimised, the last one after.
 * In per-file mode clang does, and the last point is the end of its optimiser.
 */
#include <llvm/Analysis/CaptureTracking.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/CodeGen/AtomicExpandUtils.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>
#include <map>
#include <memory>
#include <string>
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

void last(ModulePassManager &passes)
{
	passes.addPass(Pass(instrument_last));
	passes.addPass(AlwaysInlinerPass());
}

void add_passes(PassBuilder &builder)
{
	builder.registerFullLinkTimeOptimizationEarlyEPCallback(
		[](ModulePassManager &passes, OptimizationLevel) { passes.addPass(Pass(instrument_early)); });
	builder.registerFullLinkTimeOptimizationLastEPCallback(
		[](ModulePassManager &passes, OptimizationLevel) { last(passes); });
	builder.registerOptimizerLastEPCallback([](ModulePassManager &passes, OptimizationLevel) { last(passes); });
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

/* fast.bc says how it was compiled; the program's own flags are the ones that count. */
void plugin_forget_flags(LLVMModuleRef module)
{
	if (auto *flags = unwrap(module)->getModuleFlagsMetadata())
		unwrap(module)->eraseNamedMetadata(flags);
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

void plugin_loops(LLVMValueRef function, bool (*hooked)(void *, LLVMBasicBlockRef), void (*found)(void *, LLVMValueRef),
		  void *arg)
{
	Function &f = *unwrap<Function>(function);
	SmallVector<std::pair<const BasicBlock *, const BasicBlock *>, 16> edges;
	SmallPtrSet<const BasicBlock *, 16> done;

	FindFunctionBackedges(f, edges);
	if (edges.empty())
		return;
	DominatorTree tree(f);
	for (auto [from, to] : edges) {
		bool surely = false;
		/* Up the tree from the jump to the loop's head: every round passes these blocks. */
		if (tree.dominates(to, from))
			for (auto *node = tree.getNode(from); node && !surely; node = node->getIDom()) {
				surely = hooked(arg, wrap(node->getBlock()));
				if (node->getBlock() == to)
					break;
			}
		if (!surely && done.insert(from).second)
			found(arg, wrap(from->getTerminator()));
	}
}

/* ---- loops and dominators of one function at a time; they are forgotten when another one is asked for ---- */

namespace
{
struct Shape {
	const Function *function = nullptr;
	std::unique_ptr<DominatorTree> tree;
	std::unique_ptr<LoopInfo> loops;
};
Shape current;

Shape &shape_of(LLVMBasicBlockRef block)
{
	Function *f = unwrap(block)->getParent();
	if (current.function != f) {
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

bool plugin_in_loop(LLVMBasicBlockRef header, LLVMBasicBlockRef block)
{
	Loop *loop = shape_of(header).loops->getLoopFor(unwrap(header));
	return loop && loop->contains(unwrap(block));
}

/* ---- marks that outlive the optimiser: groups of accesses are kept by what merges or vectorises them, and are lost by
   all else, which is the safe side. Each instruction is in one group for all and in one for its reason. ---- */

namespace
{
std::map<std::string, MDNode *> groups;		  /* by reason, while the early entry runs */
std::map<const Metadata *, const char *> reasons; /* by group, while the last one does */
} // namespace

void plugin_mark(LLVMModuleRef module, LLVMValueRef inst, const char *why)
{
	Module &m = *unwrap(module);
	LLVMContext &c = m.getContext();
	NamedMDNode *list = m.getOrInsertNamedMetadata("heddle.left_out");
	auto add = [&](const char *text) {
		MDNode *group = MDNode::getDistinct(c, {});
		list->addOperand(MDNode::get(c, { group, MDString::get(c, text) }));
		return group;
	};

	if (!list->getNumOperands()) {
		groups.clear();
		reasons.clear();
		add("several accesses that cannot race were made one");
	}
	MDNode *&group = groups[why];
	if (!group)
		group = add(why);
	unwrap<Instruction>(inst)->setMetadata(LLVMContext::MD_access_group,
					       MDNode::get(c, { list->getOperand(0)->getOperand(0), group }));
}

/* One group is its own list. The first one is for all. */
const char *plugin_marked(LLVMModuleRef module, LLVMValueRef inst)
{
	NamedMDNode *list = unwrap(module)->getNamedMetadata("heddle.left_out");
	MDNode *marks = list ? unwrap<Instruction>(inst)->getMetadata(LLVMContext::MD_access_group) : nullptr;
	const char *why = nullptr;
	bool common = false;

	if (!marks)
		return nullptr;
	if (reasons.empty())
		for (MDNode *row : list->operands())
			reasons[row->getOperand(0)] = cast<MDString>(row->getOperand(1))->getString().data();
	const Metadata *first = list->getOperand(0)->getOperand(0);
	auto look = [&](const Metadata *group) {
		auto found = reasons.find(group);
		common |= group == first;
		if (found != reasons.end() && (!why || group != first))
			why = found->second;
	};
	look(marks);
	for (const MDOperand &one : marks->operands())
		look(one.get());
	return common ? why : nullptr;
}

/* The code that is made must not say that anything of this is parallel. */
void plugin_unmark(LLVMModuleRef module)
{
	if (auto *list = unwrap(module)->getNamedMetadata("heddle.left_out"))
		unwrap(module)->eraseNamedMetadata(list);
}
