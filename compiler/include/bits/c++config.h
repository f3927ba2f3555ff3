/*
 * Found before libstdc++'s own by what heddle-cc compiles: std::string becomes code of the program, with hooks.
 * libstdc++ has it compiled already, for C++17 and before, and nobody sees what that accesses. -1 is its own way to
 * say so, which _GLIBCXX_ASSERTIONS takes.
 */
#include_next <bits/c++config.h>
#if defined _GLIBCXX_EXTERN_TEMPLATE && _GLIBCXX_EXTERN_TEMPLATE > 0
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE -1
#endif
