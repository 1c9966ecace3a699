/* Writes changes as a patch: headers as git's, hunks by the host's diff(1), which gets both files as descriptors without their
 * names. It runs no git, so no configuration, attribute or hook of a repository has an effect. */
#include "workspace/changes/patch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/program.h"
#include "base/spawn.h"
#include "base/tree/node.h"

enum { CHUNK = 64 << 10, TEXT_LOOKED_AT = 8000, TEXT_MAX = 64 << 20 };

/* The file before or after: a descriptor, or the target of a link. */
struct patch_side {
	int fd;
	mode_t mode; /* 0: absent, or a folder */
	uint64_t bytes;
	bool binary;
	char target[PATH_MAX];
};

struct patch_part {
	aj_patch_fn *put;
	void *arg;
	struct aj_error *err;
	const char *path;
	char name[4 * PATH_MAX + 8]; /* quoted as git does, without its prefix a/ or b/ */
	bool quoted;
};

static void put_text(const struct patch_part *p, const char *text)
{
	p->put(p->arg, text, strlen(text));
}

static void quote(struct patch_part *p)
{
	size_t used = 0;
	for (const char *c = p->path; *c; c++) {
		unsigned char byte = (unsigned char)*c;
		if (byte == '"' || byte == '\\')
			p->name[used++] = '\\';
		if (byte < 0x20 || byte >= 0x7f)
			used += (size_t)snprintf(p->name + used, 5, "\\%03o", byte);
		else
			p->name[used++] = *c;
		p->quoted |= byte < 0x20 || byte >= 0x7f || byte == '"' || byte == '\\';
	}
	p->name[used] = '\0';
}

static void put_name(const struct patch_part *p, const char *prefix)
{
	put_text(p, p->quoted ? "\"" : "");
	put_text(p, prefix);
	put_text(p, p->name);
	put_text(p, p->quoted ? "\"" : "");
}

/* git knows two modes of files, and one of links. */
static const char *git_mode(mode_t mode)
{
	return S_ISLNK(mode) ? "120000" : mode & S_IXUSR ? "100755" : "100644";
}

/* Whether git apply, with umask 022, gives a file or folder this mode. */
static bool is_git_mode(mode_t mode)
{
	return (mode & 0777) == (S_ISDIR(mode) || mode & S_IXUSR ? 0755 : 0644);
}

static void put_head(const struct patch_part *p)
{
	put_text(p, "diff --git ");
	put_name(p, "a/");
	put_text(p, " ");
	put_name(p, "b/");
	put_text(p, "\n");
}

static void put_mode(const struct patch_part *p, const char *which, mode_t mode)
{
	put_text(p, which);
	put_text(p, git_mode(mode));
	put_text(p, "\n");
}

static void put_files(const struct patch_part *p, bool was, bool is)
{
	const char *end = strchr(p->name, ' ') && !p->quoted ? "\t\n" : "\n"; /* so that the name's end is known */
	put_text(p, "--- ");
	if (was)
		put_name(p, "a/");
	put_text(p, was ? end : "/dev/null\n");
	put_text(p, "+++ ");
	if (is)
		put_name(p, "b/");
	put_text(p, is ? end : "/dev/null\n");
}

/* --- contents --- */

static ssize_t read_side(const struct patch_side *s, char *out, size_t room, uint64_t at)
{
	uint64_t left = s->bytes > at ? s->bytes - at : 0;
	size_t bytes = left < room ? (size_t)left : room;
	if (s->fd >= 0)
		return bytes ? pread(s->fd, out, bytes, (off_t)at) : 0;
	memcpy(out, s->target + at, bytes);
	return (ssize_t)bytes;
}

static int open_side(const struct patch_part *p, int top, const char *path, bool force, const struct stat *expected,
                     struct patch_side *ret)
{
	struct stat st;
	char begin[TEXT_LOOKED_AT];
	*ret = (struct patch_side){ .fd = -1 };
	if (!S_ISREG(expected->st_mode) && !S_ISLNK(expected->st_mode))
		return 0;
	cleanup_fd int place = aj_node_place(top, path, force);
	if (place < 0 || fstat(place, &st) < 0 || ((st.st_mode ^ expected->st_mode) & S_IFMT))
		return aj_fail(p->err, AJ_EXIT_SETUP, "changes", errno, "read `%s`", p->path);
	ret->mode = st.st_mode;
	if (S_ISLNK(st.st_mode)) {
		ssize_t n = aj_node_link(place, "", ret->target, sizeof ret->target);
		ret->bytes = n > 0 ? (uint64_t)n : 0;
		return n < 0 ? aj_fail(p->err, AJ_EXIT_SETUP, "changes", errno, "read `%s`", p->path) : 0;
	}
	ret->fd = aj_node_open_place(place, force, &st);
	if (ret->fd < 0 || aj_fd_move_high(&ret->fd) < 0)
		return aj_fail(p->err, AJ_EXIT_SETUP, "changes", errno, "read `%s`", p->path);
	ret->bytes = (uint64_t)st.st_size;
	ssize_t n = read_side(ret, begin, sizeof begin, 0);
	ret->binary = ret->bytes > TEXT_MAX || (n > 0 && memchr(begin, '\0', (size_t)n));
	return 0;
}

/* All lines of a file that is new or gone: a hunk of one sign. */
static int put_whole(const struct patch_part *p, const struct patch_side *s, char sign)
{
	char *chunk = malloc(CHUNK), head[80];
	uint64_t lines = 0;
	bool open = false; /* a line is under way */
	ssize_t n;
	if (!chunk)
		abort();
	for (uint64_t at = 0; (n = read_side(s, chunk, CHUNK, at)) > 0; at += (uint64_t)n)
		for (ssize_t i = 0; i < n; i++) {
			lines += chunk[i] == '\n';
			open = chunk[i] != '\n';
		}
	lines += open;
	snprintf(head, sizeof head, sign == '+' ? "@@ -0,0 +%d,%llu @@\n" : "@@ -%d,%llu +0,0 @@\n", lines > 0,
	         (unsigned long long)lines);
	put_text(p, lines ? head : "");
	open = false;
	for (uint64_t at = 0; n >= 0 && (n = read_side(s, chunk, CHUNK, at)) > 0; at += (uint64_t)n)
		for (const char *from = chunk, *end = chunk + n; from < end;) {
			const char *newline = memchr(from, '\n', (size_t)(end - from)), *to = newline ? newline + 1 : end;
			if (!open)
				p->put(p->arg, &sign, 1);
			p->put(p->arg, from, (size_t)(to - from));
			open = !newline;
			from = to;
		}
	if (open)
		put_text(p, "\n\\ No newline at end of file\n");
	free(chunk);
	return n < 0 ? aj_fail(p->err, AJ_EXIT_SETUP, "changes", errno, "read `%s`", p->path) : 0;
}

/* --- diff(1) --- */

static bool find_diff(char *out, size_t room)
{
	static const char *const usual[] = { "/usr/bin/diff", "/bin/diff" };
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
		if (access(usual[i], X_OK) == 0) {
			snprintf(out, room, "%s", usual[i]);
			return true;
		}
	return aj_program_find("diff", out, room) && out[0] == '/';
}

static int start_diff(const struct patch_part *p, int was, int is, int to, pid_t *ret)
{
	char program[PATH_MAX];
	char *const words[] = { "diff", "-a", "-u", "/proc/self/fd/3", "/proc/self/fd/4", NULL }, *const env[] = { "LC_ALL=C",
		                                                                                                   NULL };
	const struct aj_spawn_fd fds[] = { { 0, -1 }, { 2, -1 }, { 1, to }, { 3, was }, { 4, is } };
	if (!find_diff(program, sizeof program)) {
		aj_fail(p->err, AJ_EXIT_SETUP, "changes", 0, "the program diff is missing");
		aj_advise(p->err, "install the package diffutils");
		return -1;
	}
	int error = aj_spawn(ret, program, words, env, fds, sizeof fds / sizeof *fds);
	return error ? aj_fail(p->err, AJ_EXIT_SETUP, "changes", error, "start %s", program) : 0;
}

/* Its output but the first two lines, which name the files. */
static int put_hunks(const struct patch_part *p, const struct patch_side *was, const struct patch_side *is)
{
	int ends[2], status = 0;
	char *chunk = malloc(CHUNK);
	pid_t pid;
	ssize_t n;
	unsigned heads = 2;
	if (!chunk)
		abort();
	if (pipe2(ends, O_CLOEXEC) < 0 || aj_fd_move_high(&ends[1]) < 0 || start_diff(p, was->fd, is->fd, ends[1], &pid) < 0) {
		free(chunk);
		return aj_fail(p->err, AJ_EXIT_SETUP, "changes", errno, "start diff");
	}
	aj_close(&ends[1]);
	while ((n = read(ends[0], chunk, CHUNK)) > 0 || (n < 0 && errno == EINTR)) {
		const char *from = chunk, *end = chunk + (n > 0 ? n : 0);
		for (; heads && from < end; from++)
			heads -= *from == '\n';
		p->put(p->arg, from, (size_t)(end - from));
	}
	aj_close(&ends[0]);
	free(chunk);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
		return aj_fail(p->err, AJ_EXIT_SETUP, "changes", 0, "diff failed for `%s`", p->path);
	return 0;
}

/* --- parts --- */

static int put_one(const struct patch_part *p, const struct patch_side *s, bool made)
{
	if (!s->mode)
		return 0;
	if (s->binary) {
		put_text(p, made ? "Binary file b/" : "Binary file a/");
		put_text(p, p->name);
		put_text(p, made ? " is new\n" : " is deleted\n");
		return 0;
	}
	put_head(p);
	put_mode(p, made ? "new file mode " : "deleted file mode ", s->mode);
	if (!s->bytes)
		return 0;
	put_files(p, !made, made);
	return put_whole(p, s, made ? '+' : '-');
}

static int put_changed(const struct patch_part *p, const struct patch_side *was, const struct patch_side *is, bool content)
{
	bool mode = strcmp(git_mode(was->mode), git_mode(is->mode)) != 0;
	if (content && (was->binary || is->binary)) {
		put_text(p, "Binary files a/");
		put_text(p, p->name);
		put_text(p, " and b/");
		put_text(p, p->name);
		put_text(p, " differ\n");
		return 0;
	}
	if (!content && !mode)
		return 0;
	put_head(p);
	if (mode) {
		put_mode(p, "old mode ", was->mode);
		put_mode(p, "new mode ", is->mode);
	}
	if (!content)
		return 0;
	put_files(p, true, true);
	return put_hunks(p, was, is);
}

/* A line for permissions that git's header cannot express. git and patch skip it. */
static void put_permissions(const struct patch_part *p, const struct aj_change *c, bool binary)
{
	char line[48];
	mode_t is = c->is.st_mode, was = ((is ^ c->was.st_mode) & S_IFMT) == 0 ? c->was.st_mode : 0;
	bool headed = S_ISREG(is) && !binary, usual = is_git_mode(is);
	if (!is || S_ISLNK(is) || (was && ((is ^ was) & 0777) == 0))
		return;
	if (usual && (was ? headed && is_git_mode(was) : headed || (is & 0777) != 0755 || S_ISDIR(is)))
		return;
	put_text(p, "Permissions of ");
	put_name(p, "b/");
	snprintf(line, sizeof line, was ? " are %03o, were %03o\n" : " are %03o\n", (unsigned)is & 0777, (unsigned)was & 0777);
	put_text(p, line);
}

int aj_patch(struct aj_change_state *state, const struct aj_change *c, aj_patch_fn *each, void *arg, struct aj_error *err)
{
	struct patch_part *p = calloc(1, sizeof *p);
	struct patch_side was = { .fd = -1 }, is = { .fd = -1 };
	if (!p)
		abort();
	*p = (struct patch_part){ .put = each, .arg = arg, .err = err, .path = c->path };
	quote(p);
	struct aj_change_side side = aj_change_side(state, c->path);
	int result = open_side(p, side.host, side.path, false, &c->was, &was);
	if (result == 0)
		result = open_side(p, side.view, side.path, !state->running, &c->is, &is);
	if (result == 0 && S_ISREG(was.mode) && S_ISREG(is.mode))
		result = put_changed(p, &was, &is, c->kind != AJ_CHANGE_MODE);
	else if (result == 0)
		result = put_one(p, &was, false) < 0 ? -1 : put_one(p, &is, true);
	if (result == 0)
		put_permissions(p, c, c->kind != AJ_CHANGE_MODE && (was.binary || is.binary));
	aj_close(&was.fd);
	aj_close(&is.fd);
	free(p);
	return result;
}
