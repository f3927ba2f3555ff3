/*
 * exec: the loader again, with the new program as its argument.
 *
 * The errors that exec would give for the program are found here first, since
 * the kernel only sees the loader. The entry is written before, because
 * afterwards nobody of this image is left to write; should exec fail all the
 * same, a second entry with the error follows.
 */
#include "runtime/syscalls/special/special.h"
#include "loader/elf.h"
#include "runtime/runtime.h"
#include <linux/fcntl.h>
#include <linux/mman.h>

#define ARGS_ROOM (16ul << 20) /* per slot: more than the kernel accepts */

static long check_access(const char *path)
{
	return SYS4(__NR_faccessat, AT_FDCWD, path, 1 /* X_OK */, 0);
}

static long check_program(const char *path, int depth)
{
	struct elf_script script;
	long r = check_access(path);
	if (r < 0)
		return r;
	long fd = file_open(path, O_RDONLY | O_NONBLOCK, 0);
	if (fd == -EACCES)
		note_not_recorded(UNREADABLE);
	if (fd < 0)
		return fd == -ENXIO ? -EACCES : fd;
	r = elf_check(fd, &script);
	file_close(fd);
	if (r < 0 || !script.interpreter[0])
		return r;
	return depth == SCRIPTS_MAX ? -ELOOP : check_program(script.interpreter, depth + 1);
}

/* Members of a list of strings that ends with 0, or an error. */
static long count_strings(uint64_t list)
{
	for (long n = 0;; n++) {
		uint64_t p;
		if (user_copy(&p, (uint64_t *)list + n, 8))
			return -EFAULT;
		if (!p)
			return n;
		if (user_strlen((char *)p, 128 << 10) < 0)
			return -EFAULT;
	}
}

/* In the kernel's order: may it be run at all, can the arguments be read, is it a program. */
static long check_exec(const char *path, uint64_t argv, uint64_t envp)
{
	long r = check_access(path);
	if (r >= 0 && argv)
		r = count_strings(argv);
	if (r >= 0 && envp)
		r = count_strings(envp);
	return r < 0 ? r : check_program(path, 0);
}

/* Replaces the process. Returns only an error. */
static long exec_loader(const struct process *p, const char *path, uint32_t image, uint64_t argv, uint64_t envp,
			long close_fd)
{
	TEXT(number, 64);
	TEXT(control_path, PATH_ROOM);
	TEXT(descriptors, 4096);
	static uint64_t none[1];
	long argc = argv ? count_strings(argv) : 0;
	uint64_t size = ALIGN_UP((uint64_t)(argc + 16) * 8, page_size);
	uint64_t args = MAP_ARGS_BASE + thread_here()->slot * ARGS_ROOM;
	if (size > ARGS_ROOM)
		return -E2BIG;
	long r = SYS6(__NR_mmap, args, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (is_error(r))
		return r;
	uint64_t *list = (uint64_t *)args;
	text_add(&number, "%u", (unsigned long)image);
	/* the new image tells heddle that the streams of this one are over; a vfork child leaves its parent's alone */
	if (path && !thread_here()->vfork_depth)
		text_add(&number, "<%u", (unsigned long)thread_here()->log.number);
	text_add(&control_path, "%s/control", control->work_dir);
	shown_list(p, &descriptors);
	if (close_fd >= 0)
		text_add(&descriptors, "%s%d:%d", *TEXT_OF(descriptors) ? "," : "", close_fd, (long)FD_CLOSE);
	*list++ = (uint64_t)control->loader;
	*list++ = (uint64_t)TEXT_OF(control_path);
	*list++ = (uint64_t)TEXT_OF(number);
	if (path) {
		*list++ = (uint64_t)TEXT_OF(descriptors);
		*list++ = (uint64_t)path;
		if (argc == 0)
			*list++ = (uint64_t) ""; /* as newer kernels do */
		user_copy(list, (void *)argv, (size_t)argc * 8);
	}
	r = SYS3(__NR_execve, control->loader, args, path && envp ? envp : (uint64_t)none);
	SYS2(__NR_munmap, args, size);
	return r;
}

/* An exec that was logged and failed all the same is followed by its error. */
static bool failed_later(struct call *c)
{
	const struct entry *e = log_peek(c->t);
	return e && e->kind == ENTRY_SYSCALL && e->nr == c->nr && e->result < 0 &&
	       !memcmp(e + 1, c->args, 8 * sys_nargs(c->row));
}

static void replay_exec(struct call *c)
{
	call_replay(c);
	const struct block *child = entry_find(c->entry, BLOCK_CHILD, -1);
	if (!child)
		return; /* it failed at once */
	uint32_t image = (uint32_t)child->addr;
	if (failed_later(c)) {
		call_replay(c);
		return;
	}
	long r = exec_loader(c->t->process, 0, image, 0, 0, -1);
	cannot("cannot exec the loader at replay: error %d", -r);
}

static void run_exec(struct call *c, const char *path, uint64_t argv, uint64_t envp, long close_fd)
{
	long r = check_exec(path, argv, envp);
	call_begin(c);
	call_inputs(c);
	c->result = r;
	if (r < 0) {
		call_end(c);
		return;
	}
	uint32_t image = __atomic_fetch_add(&control->next_image, 1, __ATOMIC_RELAXED);
	call_block(c, BLOCK_CHILD, 0, image, 0, 0);
	call_end(c);
	r = exec_loader(c->t->process, path, image, argv, envp, close_fd);
	call_begin(c);
	call_inputs(c);
	c->result = r;
	call_end(c);
}

/* Of /proc/self/exe, which will be the loader when that opens it. */
static void path_of_program(char path[PATH_ROOM])
{
	if (!exe_link_set) {
		memcpy(path, program_path, PATH_ROOM);
		return;
	}
	long n = SYS4(__NR_readlinkat, AT_FDCWD, "/proc/self/exe", path, PATH_ROOM - 1);
	path[n > 0 ? n : 0] = 0;
}

static void refuse_in_ring(void)
{
	if (unlikely(control->ring))
		cannot("the program becomes another one (exec), and --ring records one; record that one itself");
}

void special_exec(struct call *c)
{
	refuse_in_ring();
	char path[PATH_ROOM];
	if (replaying) {
		replay_exec(c);
		return;
	}
	long n = c->args[0] ? user_strlen((char *)c->args[0], sizeof path) : -EFAULT;
	if (n < 0 || n >= (long)sizeof path) {
		call_answer(c, n < 0 ? n : -ENAMETOOLONG);
		return;
	}
	memcpy(path, (void *)c->args[0], (size_t)n + 1);
	if (names_own_exe(path))
		path_of_program(path);
	run_exec(c, path, c->args[1], c->args[2], -1);
}

/* "/proc/self/fd/N" for what a descriptor means; directories by their name, which survives exec. */
static void path_of_descriptor(struct text *out, long fd, const char *rest)
{
	TEXT(link, 64);
	char name[PATH_ROOM];
	text_add(&link, "/proc/self/fd/%d", fd);
	if (!*rest) {
		text_add(out, "%s", TEXT_OF(link));
		return;
	}
	long n = SYS4(__NR_readlinkat, AT_FDCWD, TEXT_OF(link), name, sizeof name - 1);
	name[n > 0 ? n : 0] = 0;
	text_add(out, "%s/%s", name, rest);
}

void special_execveat(struct call *c)
{
	refuse_in_ring();
	char given[PATH_ROOM];
	if (replaying) {
		replay_exec(c);
		return;
	}
	long n = c->args[1] ? user_strlen((char *)c->args[1], sizeof given) : -EFAULT;
	if (n < 0 || n >= (long)sizeof given) {
		call_answer(c, n < 0 ? n : -ENAMETOOLONG);
		return;
	}
	memcpy(given, (void *)c->args[1], (size_t)n + 1);
	long fd = (int)c->args[0], close_fd = -1;
	TEXT(path, PATH_ROOM);
	if (given[0] == '/' || (fd == AT_FDCWD && given[0])) {
		text_add(&path, "%s", given);
	} else if (given[0] || (c->args[4] & AT_EMPTY_PATH)) {
		path_of_descriptor(&path, fd, given);
		if (!given[0] && SYS2(__NR_fcntl, fd, F_GETFD) == FD_CLOEXEC) {
			/* it must survive until the loader has opened it; the loader closes it then */
			SYS3(__NR_fcntl, fd, F_SETFD, 0);
			close_fd = fd;
		}
	} else {
		call_answer(c, -ENOENT);
		return;
	}
	run_exec(c, TEXT_OF(path), c->args[2], c->args[3], close_fd);
	if (close_fd >= 0)
		SYS3(__NR_fcntl, fd, F_SETFD, FD_CLOEXEC);
}
