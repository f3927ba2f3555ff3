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
