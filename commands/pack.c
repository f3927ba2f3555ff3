/*
 * heddle pack: a trace as one file, to be carried elsewhere. A trace holds the program and its libraries anyhow, as
 * files that it may share with other traces by hard links; in the pack they are all there. The file is a tar archive,
 * packed by zstd: other programs can open it, too.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include "meta.h"

static const char help[] =
	"usage: heddle pack [-o FILE] [TRACE]\n"
	"       heddle pack --open [--trust] [-o DIR] FILE\n"
	"\n"
	"Makes one file of a recording, with the program and the libraries that it used. On another\n"
	"machine of the same architecture `heddle pack --open FILE` makes a trace of it again, which\n"
	"`heddle replay` runs: neither program nor libraries need to be there.\n"
	"\n"
	"      --open         unpack instead\n"
	"      --trust        with --open: also a recording made with --ring, whose replay runs whatever\n"
	"                     is in the file, as starting a program would\n"
	"  -o, --output=NAME  the file, instead of NAME.heddle here; or the new directory\n";

#define BLOCK_SIZE 512
#define LEVEL	   9
#define NAME_ROOM  257 /* a prefix, a '/' and a name, of those below */

/* A header of a tar archive, as POSIX has it. */
struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], time[12], sum[8], type, link[100];
	char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], pad[12];
};
_Static_assert(sizeof(struct header) == BLOCK_SIZE, "fixed by the format");

static unsigned sum_of(const struct header *h)
{
	struct header copy = *h;
	unsigned sum = 0;

	memset(copy.sum, ' ', sizeof copy.sum);
	for (size_t i = 0; i < sizeof copy; i++)
		sum += ((const unsigned char *)&copy)[i];
	return sum;
}

static void show_checking(uint64_t done, uint64_t all)
{
	end_if_interrupted();
	progress("checking", done, all);
}

/* ---- packing --------------------------------------------------------------------------------------------------- */

static struct {
	char path[PATH_ROOM]; /* what it is to be called, when it is whole; and until then: */
	char part[PATH_ROOM + 8];
	FILE *out;
	ZSTD_CCtx *zstd;
	char buffer[1 << 17];
} pack;

static void remove_part(void)
{
	unlink(pack.part);
}

static void put(const void *data, size_t n, ZSTD_EndDirective how)
{
	ZSTD_inBuffer in = { data, n, 0 };
	size_t left;

	do {
		ZSTD_outBuffer to = { pack.buffer, sizeof pack.buffer, 0 };
		left = ZSTD_compressStream2(pack.zstd, &to, &in, how);
		if (ZSTD_isError(left))
			die("zstd: %s", ZSTD_getErrorName(left));
		end_if_interrupted();
		if (fwrite(pack.buffer, 1, to.pos, pack.out) != to.pos)
			die("%s: %s", pack.part, strerror(errno));
	} while (in.pos < in.size || (how == ZSTD_e_end && left));
}

static void put_padding(uint64_t size)
{
	static const char zeros[BLOCK_SIZE];

	put(zeros, (BLOCK_SIZE - size % BLOCK_SIZE) % BLOCK_SIZE, ZSTD_e_continue);
}

/* Sizes from 8 GiB on are binary, as GNU and BSD write them. */
static void put_size(struct header *h, uint64_t size)
{
	if (size < 1ull << 33) {
		snprintf(h->size, sizeof h->size, "%011llo", (unsigned long long)size);
		return;
	}
	h->size[0] = (char)0x80;
	for (int i = 0; i < 8; i++)
		h->size[11 - i] = (char)(size >> 8 * i);
}

/* A long one in two parts; `base` is cut if it is still too long. */
static void put_name(struct header *h, const char *base, const char *name)
{
	if ((size_t)snprintf(h->name, sizeof h->name, "%s/%s", base, name) < sizeof h->name)
		return;
	memset(h->name, 0, sizeof h->name);
	snprintf(h->prefix, sizeof h->prefix, "%s", base);
	if ((size_t)snprintf(h->name, sizeof h->name, "%s", name) >= sizeof h->name)
		die("%s: this name is too long for a pack", name);
}

static void put_file(const char *dir, const char *base, const char *name)
{
	char path[2 * PATH_ROOM], data[1 << 16], sum[8];
	struct header h = { .mode = "0000600", .uid = "0000000", .gid = "0000000", .time = "00000000000", .type = '0' };
	uint64_t left;
	struct stat st;
	size_t n;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *file = fopen(path, "re");
	if (!file || fstat(fileno(file), &st))
		die("%s: %s", path, strerror(errno));
	put_name(&h, base, name);
	memcpy(h.magic, "ustar", 6);
	memcpy(h.version, "00", 2);
	put_size(&h, left = (uint64_t)st.st_size);
	snprintf(sum, sizeof sum, "%06o", sum_of(&h));
	memcpy(h.sum, sum, 7);
	h.sum[7] = ' ';
	put(&h, sizeof h, ZSTD_e_continue);
	for (; left && (n = fread(data, 1, left < sizeof data ? left : sizeof data, file)); left -= n)
		put(data, n, ZSTD_e_continue);
	if (left)
		die("%s became shorter while it was packed", path);
	fclose(file);
	put_padding((uint64_t)st.st_size);
}

static void put_all(const struct meta *meta, const char *base)
{
	char name[PATH_ROOM];

	put_file(meta->dir, base, "meta.json");
	snprintf(name, sizeof name, "%.*s/" CHECKPOINT, PATH_ROOM - 16, meta->dir);
	if (!access(name, F_OK))
		put_file(meta->dir, base, CHECKPOINT);
	for (size_t i = 0; i < meta->list.nstreams; i++) {
		trace_path(name, ".", meta->list.streams[i].image, meta->list.streams[i].slot);
		put_file(meta->dir, base, name + 2);
		progress("packing", i, meta->list.nstreams + meta->list.nfiles);
	}
	for (size_t i = 0; i < meta->list.nfiles; i++) {
		snprintf(name, sizeof name, "files/%s", meta->list.files[i].name);
		put_file(meta->dir, base, name);
		progress("packing", meta->list.nstreams + i, meta->list.nstreams + meta->list.nfiles);
	}
	progress_end();
}

/* Under another name, so that nobody takes a half of it for the whole. */
static void create_pack(const char *base, const char *output)
{
	struct stat st;

	if (output && !*output)
		usage("-o wants the name of a file");
	if (snprintf(pack.path, sizeof pack.path, "%s%s", output ? output : base, output ? "" : ".heddle") >= PATH_ROOM)
		die("%s: this path is too long", output);
	if (!lstat(pack.path, &st))
		die("%s: %s; -o names another file", pack.path, strerror(EEXIST));
	snprintf(pack.part, sizeof pack.part, "%s.XXXXXX", pack.path);
	catch_signals();
	int fd = mkostemp(pack.part, O_CLOEXEC); /* for nobody else: it may hold secrets */
	if (fd >= 0)
		on_death(remove_part);
	pack.out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!pack.out)
		die("%s: %s; -o names another file", pack.path, strerror(errno));
}

static void finish_pack(void)
{
	end_if_interrupted();
	if (fclose(pack.out))
		die("%s: %s", pack.part, strerror(errno));
	/* what somebody has made meanwhile stays; some file systems cannot say so */
	if (renameat2(AT_FDCWD, pack.part, AT_FDCWD, pack.path, RENAME_NOREPLACE) &&
	    (errno != EINVAL || rename(pack.part, pack.path)))
		die("%s: %s; -o names another file", pack.path, strerror(errno));
	on_death(NULL);
}

static void make_pack(const char *named, const char *output)
{
	static const char end[2 * BLOCK_SIZE];
	struct trace_problem problem;
	struct meta meta;

	open_trace(&meta, named);
	if (trace_check(meta.dir, &meta.list, NULL, show_checking, NULL, &problem))
		die("%s", problem.text);
	const char *base = basename(meta.dir);
	create_pack(base, output);
	if (!(pack.zstd = ZSTD_createCCtx()))
		die("not enough memory");
	ZSTD_CCtx_setParameter(pack.zstd, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(pack.zstd, ZSTD_c_checksumFlag, 1);
	put_all(&meta, base);
	put(end, sizeof end, ZSTD_e_end);
	ZSTD_freeCCtx(pack.zstd);
	uint64_t size = (uint64_t)ftello(pack.out);
	finish_pack();
	note("%s has all that a replay needs, %s; `heddle pack --open %s` makes a trace of it", pack.path,
	     size_text(size), pack.path);
	meta_free(&meta);
}

/* ---- unpacking --------------------------------------------------------------------------------------------------- */

static struct {
	const char *path;
	FILE *in;
	ZSTD_DCtx *zstd;
	ZSTD_inBuffer from;
	char buffer[1 << 17];
	char name[NAME_ROOM]; /* of the trace that was packed */
	char dir[PATH_ROOM];  /* what becomes the trace */
	bool trusted;
} opened;

/* Exactly n bytes of the archive. */
static void get(void *data, size_t n)
{
	ZSTD_outBuffer to = { data, n, 0 };

	while (to.pos < n) {
		if (opened.from.pos == opened.from.size) {
			opened.from = (ZSTD_inBuffer){ opened.buffer,
						       fread(opened.buffer, 1, sizeof opened.buffer, opened.in), 0 };
			end_if_interrupted();
			if (!opened.from.size)
				die("%s ends too early: it is damaged", opened.path);
		}
		size_t r = ZSTD_decompressStream(opened.zstd, &to, &opened.from);
		if (ZSTD_isError(r))
			die("%s is damaged, or no pack: %s", opened.path, ZSTD_getErrorName(r));
	}
}

static uint64_t get_size(const struct header *h)
{
	uint64_t size = 0;

	if (!(h->size[0] & 0x80))
		return strtoull(h->size, NULL, 8);
	for (int i = 4; i < 12; i++)
		size = size << 8 | (unsigned char)h->size[i];
	return size;
}

/* What follows the first '/'. Nothing of a pack may lead out of its directory. */
static const char *inner_name(const char *name)
{
	const char *slash = strchr(name, '/'), *inner = slash ? slash + 1 : "";
	const char *plain = !strncmp(inner, "files/", 6) ? inner + 6 : inner;

	if (!*plain || strchr(plain, '/') || !strcmp(plain, ".") || !strcmp(plain, ".."))
		die("%s has a file of the name '%.99s', which no trace has", opened.path, name);
	return inner;
}

static void get_name(const struct header *h, char name[NAME_ROOM])
{
	snprintf(name, NAME_ROOM, "%.*s%s%.*s", (int)sizeof h->prefix, h->prefix, *h->prefix ? "/" : "",
		 (int)sizeof h->name, h->name);
}

static void get_file(const struct header *h)
{
	char path[PATH_ROOM + NAME_ROOM], data[1 << 16], name[NAME_ROOM];
	uint64_t size = get_size(h);

	get_name(h, name);
	if (!strcmp(inner_name(name), CHECKPOINT) && !opened.trusted)
		die("%s was recorded with --ring, and has the memory of a process in it: a replay runs whatever that "
		    "is. If you "
		    "trust who made it as much as to start a program of theirs, add --trust",
		    opened.path);
	snprintf(path, sizeof path, "%s/%s", opened.dir, inner_name(name));
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	for (uint64_t left = size; left;) {
		size_t n = left < sizeof data ? left : sizeof data;
		get(data, n);
		if (write(fd, data, n) != (ssize_t)n)
			die("%s: %s", path, strerror(errno));
		left -= n;
	}
	close(fd);
	get(data, (BLOCK_SIZE - size % BLOCK_SIZE) % BLOCK_SIZE);
}

/* NAME-3 becomes a new NAME-N. */
static void find_name(const struct header *first)
{
	get_name(first, opened.name);
	opened.name[strcspn(opened.name, "/")] = 0;
	char *dash = strrchr(opened.name, '-');
	if (dash && dash[1] && !dash[1 + strspn(dash + 1, "0123456789")])
		*dash = 0;
	if (!*opened.name)
		strcpy(opened.name, "trace");
}

static void make_directory(const char *output)
{
	char files[PATH_ROOM + 8];

	catch_signals();
	snprintf(opened.dir, sizeof opened.dir, "%.*s/trace", PATH_ROOM - 8, nest_make(output, "pack"));
	snprintf(files, sizeof files, "%s/files", opened.dir);
	if (mkdir(opened.dir, 0700) || mkdir(files, 0700))
		die("%s: %s", files, strerror(errno));
}

static void open_pack(const char *file, const char *output)
{
	char path[PATH_ROOM];
	struct trace_problem problem;
	struct header h;
	struct meta meta;

	opened.path = file;
	if (!(opened.in = fopen(file, "re")))
		die("%s: %s", file, strerror(errno));
	if (!(opened.zstd = ZSTD_createDCtx()))
		die("not enough memory");
	make_directory(output);
	for (bool first = true; get(&h, sizeof h), h.name[0]; first = false) {
		if (strtoul(h.sum, NULL, 8) != sum_of(&h) || memcmp(h.magic, "ustar", 5))
			die("%s is no pack of heddle's", file);
		if (first)
			find_name(&h);
		get_file(&h);
	}
	ZSTD_freeDCtx(opened.zstd);
	fclose(opened.in);
	if (!*opened.name)
		die("%s is empty", file);
	meta_load(&meta, opened.dir);
	if (trace_check(meta.dir, &meta.list, NULL, show_checking, NULL, &problem))
		die("%s", problem.text);
	meta_need_same_machine(&meta);
	cpu_need_same(&meta);
	end_if_interrupted();
	nest_keep(opened.dir, output, opened.name, path);
	nest_remove();
	note("unpacked into %s; `heddle replay %s` runs it", path, output ? output : basename(path));
	meta_free(&meta);
}

static int run_pack(int argc, char **argv)
{
	const char *output = NULL;
	bool opens = false;
	const struct option_row options[] = {
		{ "open", 0, OPTION_FLAG, &opens },
		{ "output", 'o', OPTION_TEXT, &output },
		{ "trust", 0, OPTION_FLAG, &opened.trusted },
		OPTIONS_END,
	};

	argc = read_options(argc, argv, options, false);
	if (argc > 1)
		usage("one at a time: %s or %s?", argv[0], argv[1]);
	if (opens && !argc)
		usage("which file?");
	if (opened.trusted && !opens)
		usage("--trust goes with --open");
	if (opens)
		open_pack(argv[0], output);
	else
		make_pack(argv[0], output);
	return 0;
}

const struct command command_pack = { "pack", run_pack, "make one file of a recording, for another machine", help };
