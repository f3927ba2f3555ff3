/*
 * meta.json: what a trace is a recording of. Written when recording begins
 * (unfinished) and again when it ends, with the list of everything that belongs
 * to the trace. Its last member is a checksum of the others.
 */
#ifndef COMMANDS_META_H
#define COMMANDS_META_H
#include <jansson.h>
#include "commands.h"

struct meta {
	char dir[PATH_ROOM]; /* absolute */
	const char *symbols; /* a file with those of the program, of the same build; NULL: the program in the trace */
	json_t *json;	     /* all members */
	bool finished;
	uint32_t status; /* wait status of the root process, or STATUS_UNKNOWN */
#define SETTING(name) uint32_t name;
	SETTINGS(SETTING)
#undef SETTING
	uint32_t inexact;
	char order[32];
	struct trace_list list; /* of a finished trace */
};

/* Writes the meta.json of a recording that begins now. */
void meta_begin(struct meta *meta, const char *dir, const char *program, char **argv, const struct tree *tree);
/* Measures the trace and writes the final meta.json. control may be NULL. */
int meta_finish(struct meta *meta, uint32_t status, const struct control *control, struct trace_problem *problem);
/* Reads it; dies with file and offset if it is damaged or of another version. */
void meta_load(struct meta *meta, const char *dir);
/* The same, but returns -1: for `heddle ls`, which goes on with the next. */
int meta_try_load(struct meta *meta, const char *dir, struct trace_problem *problem);
/* Dies if the recording was made on another kind of machine. */
void meta_need_same_machine(const struct meta *meta);
void meta_free(struct meta *meta);

/* Members as text. The first is "" where there is no such member. */
const char *meta_text(const struct meta *meta, const char *name);
/* Was the program built by heddle-cc? */
bool meta_is_hooked(const struct meta *meta);
/* The recorded command line, for people, shortened to the room. */
void meta_command(const struct meta *meta, char *text, size_t room);
/* Text that need not be UTF-8, to and from JSON. */
json_t *text_to_json(const char *text, size_t len);
/* In memory that the caller frees; NULL if it is none. */
char *text_from_json(const json_t *value);

/* ---- cpu.c ---- */
/* The features of this processor, by their names in /proc/cpuinfo. To be freed. */
char *cpu_features(void);
/* Dies if the recording was made on a processor with instructions that this one lacks. */
void cpu_need_same(const struct meta *meta);

/* ---- checkpoint.c: a replayed process that stands still, as a file ---- */
/* Dies if processes of this recording cannot go on with the memory of others. */
void checkpoint_need_possible(const struct meta *meta);
/* Dies on a processor whose keys are in no checkpoint; `instead`: what works. */
void checkpoint_need_no_keys(const char *instead);
FILE *checkpoint_create(const char *path);
/* Writes the memory of the process of which c->stopped is a thread. */
void checkpoint_save(FILE *out, const char *path, const struct meta *meta, const struct control *c);
/* Dies if it is damaged, or not of this recording. How many writes had been shown. */
uint64_t checkpoint_check(const char *path, const struct meta *meta, const char *loader);

/* ---- build.c ---- */
/* Dies, with both build ids, if the file is not the program of that image. */
void build_need_same(const struct meta *meta, unsigned image, const char *file);

/* ---- where.c: from addresses of a recorded process to its source ---- */
struct where;
/* What lay in the memory of an image when its thread `slot` was at `event`. NULL: not enough memory. */
struct where *where_open(const struct meta *meta, unsigned image, unsigned slot, uint64_t event);
void where_close(struct where *w);
/* "function (file.c:12)" or "function+0x1c"; false, and only the number, if nothing is known of the address. */
bool where_describe(struct where *w, uint64_t pc, char *text, size_t room);
/* Is pc in the function of that name? Reads no source lines, which takes 30 ms for libc. */
bool where_is_function(struct where *w, uint64_t pc, const char *function);
/* The saved file that lay there, and the address in it; false: none. */
bool where_file(struct where *w, uint64_t addr, char *path, size_t room, uint64_t *address);
/* The SONAME of the object that the address is in, or "". */
const char *where_object(struct where *w, uint64_t pc);
/* The description of each frame of a thread that has left its place, from the innermost on. */
void where_frames(struct where *w, const struct place *place, void (*show)(const char *text));

/* ---- schedule.c: between unpacking and replay ---- */
/* Does each replay follow a schedule that must be found first, and is put into the unpacked streams? */
bool schedule_is_wanted(const struct meta *meta);
/* If the order that was recorded needs a schedule: finds one for each image, and puts it into the streams in `dir`.
   Dies, and says what to do, if there is none within so many seconds (0: no limit). */
void schedule_find(const struct meta *meta, const char *dir, unsigned seconds);

/* ---- rerun.c: a replay that leaves what it sees ---- */
/* Makes a directory for work; it is removed when heddle dies, and by rerun_done(). */
void rerun_prepare(char dir[PATH_ROOM]);
/* Replays without output, watched (see trace/watched.h) for "races", "story", "places", or several. Dies if it left the
   recording. */
void rerun(const struct meta *meta, const char *watch, const char *dir);
void rerun_done(void);
/* A file that it left, whole; NULL: there is none. To be freed. */
void *rerun_read(const char *dir, const char *name, size_t *size);

/* ---- violations.c: of atomicity, for `heddle stat` ---- */
struct order_scheme;
/* A piece of an order log; scheme may be NULL. */
void violations_see(const struct order_scheme *scheme, unsigned image, const struct entry *e);
void violations_print(const struct meta *meta);
/* What the order logged, by kind, after violations_see() of all. */
void order_entries_print(const struct meta *meta);
json_t *order_entries_json(void);
json_t *violations_json(const struct meta *meta);

/* ---- futexes.c ---- */
/* Calls of futex that the program's own locks made, as meta.json has them; NULL: none. */
json_t *futexes_json(const struct meta *meta, const struct control *control);
/* "N calls, first at function (file.c:12)" for people; false: there are none. */
bool futexes_text(const struct meta *meta, char *text, size_t room);

/* ---- dump.c ---- */
/* Prints the entries from `from` to before `to` of a stream, each line after `before`. */
void dump_events(FILE *to_stream, const struct meta *meta, unsigned image, unsigned slot, uint64_t from, uint64_t to,
		 const char *before);

/* The line of one entry, without its number. To be freed. */
char *dump_line(const struct entry *e);

/* ---- open.c ---- */
enum recording { NOT_RECORDING, BEING_RECORDED, BEING_FINISHED };
/* Reads a trace's meta.json; a recording whose heddle was killed is finished first. */
void open_trace(struct meta *meta, const char *named);
/* Does a heddle still write to this trace? */
enum recording recording_now(const char *dir);
/* Dies if one does, and says which. */
void need_nobody_writes(const char *dir);

#endif
