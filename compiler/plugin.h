#pragma once
/* C++: what the files of the shim share; the rest of the compiler is C. */
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Module.h>
extern "C" {
#include "compiler/internal.h"
}

using namespace llvm;

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
