/*
 * The two functions of the compiler's unwinder that libheddle.so itself needs, for its cleanups.
 *
 * They are called while a thread unwinds, so the unwinder is there already: libgcc_s.so.1 is loaded by whoever throws
 * or cancels. To name it as a library that we need would load it into every program, which costs more than the rest of
 * us.
 */
#include <stddef.h>
#include "interpose/libc/libc.h"

typedef int personality(int version, int actions, unsigned long class, void *exception, void *context);
typedef void resume(void *exception);

static void *find(const char *name)
{
	void *f = libc_find_in("libgcc_s.so.1", name);
	if (!f) { /* another unwinder, linked into the program */
		libc_before_unwinding();
		f = libc_find_in("libgcc_s.so.1", name);
	}
	return f;
}

__attribute__((visibility("hidden"))) personality __gcc_personality_v0;
int __gcc_personality_v0(int version, int actions, unsigned long class, void *exception, void *context)
{
	static personality *real; /* whoever comes first finds the same address */
	if (!real)
		real = (personality *)find("__gcc_personality_v0");
	return real(version, actions, class, exception, context);
}

__attribute__((visibility("hidden"))) resume _Unwind_Resume;
void _Unwind_Resume(void *exception)
{
	static resume *real;
	if (!real)
		real = (resume *)find("_Unwind_Resume");
	real(exception);
}
