/* How the runtime ends when it cannot go on: one text for the user, left where heddle finds it; heddle
   puts its name before the first line. */
#include "runtime/runtime.h"
#include <stdarg.h>

void text_add_list(struct text *t, const char *format, va_list ap);

_Noreturn static void end_process(enum stop_kind kind)
{
	for (;;)
		SYS1(__NR_exit_group, kind == STOP_DIVERGED ? EXIT_DIVERGED : kind == STOP_ENDED ? 0 : EXIT_CANNOT);
}

void stop_begin(enum stop_kind kind)
{
	uint32_t none = 0;
	if (!control ||
	    __atomic_compare_exchange_n(&control->stop_lock, &none, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	/* To end this process now could end the thread that still writes its text, and nobody would be told why. That
	   thread waits for nobody; the limit is for one that was killed meanwhile. */
	for (int tries = 0; tries < 500 && !__atomic_load_n(&control->stop, __ATOMIC_ACQUIRE); tries++)
		futex_wait(&control->stop, STOP_NONE, 10);
	end_process(kind);
}

_Noreturn void stop_tell(enum stop_kind kind, const char *message)
{
	if (!control) {
		SYS3(__NR_write, 2, "heddle: ", 8);
		SYS3(__NR_write, 2, message, strlen(message));
	} else {
		/* The text is complete before `stop` tells that it is there. */
		struct text out = { control->stop_text, control->stop_text + sizeof control->stop_text - 1 };
		text_add(&out, "%s", message);
		__atomic_store_n(&control->stop, kind, __ATOMIC_RELEASE);
		futex_wake(&control->work);
	}
	end_process(kind);
}

_Noreturn void stop_tree(enum stop_kind kind, const char *message)
{
	stop_begin(kind);
	stop_tell(kind, message);
}

static _Noreturn void stop_with(const char *format, va_list ap, const char *end)
{
	TEXT(message, 4096);
	text_add_list(&message, format, ap);
	text_add(&message, "%s\n", end);
	stop_tree(STOP_CANNOT, TEXT_OF(message));
}

_Noreturn void cannot(const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	stop_with(format, ap, "");
}

_Noreturn void damaged(const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	stop_with(format, ap,
		  ": the trace is damaged\nheddle: `heddle stat` checks it; copy it again from where it was recorded, "
		  "or record again");
}

_Noreturn void no_memory(const char *what, long error)
{
	cannot("no memory for %s: error %d\n"
	       "heddle: is there a limit on memory, address space (ulimit -v) or mappings (vm.max_map_count), or "
	       "strict overcommit? `heddle doctor` tells some",
	       what, -error);
}

_Noreturn void bug_at(const char *file, int line, const char *what)
{
	cannot("BUG at %s:%d: %s\nheddle: please report this with the trace directory", file, (long)line, what);
}
