/* Has `agentjail changes commits` print a log of each repository, in a jail of its own, and reads it. The host's git says which
 * commits are none of the run's. */
#include "cli/changes/commits.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "base/json/tree.h"
#include "base/spawn.h"
#include "base/text.h"
#include "cli/terminal/findings.h"
#include "workspace/git/host_git.h"

enum { LOG_BYTES = 1 << 20, LISTED_MAX = 100, ALL_MAX = 2 * LISTED_MAX, SHORT_OID = 12, REPOSITORIES_MAX = 20 };

struct commit {
	const char *oid, *author, *date, *refs, *subject;
	uint64_t files, added, deleted;
	bool set_aside; /* a stash entry, or what is staged: on no branch */
};

struct log {
	AJ_LIST(struct commit) list;
	size_t count;      /* of those on branches and tags */
	bool more;         /* than LISTED_MAX of them */
	const char *error; /* why there is none; NULL */
};

void aj_commits_note(struct aj_commit_lists *l, const struct aj_change *c)
{
	if (c->repository && c->kind != AJ_CHANGE_DELETED && l->repositories.count < REPOSITORIES_MAX)
		*AJ_PUSH(&l->arena, &l->repositories) = aj_strdup(&l->arena, c->path);
}

void aj_commits_free(struct aj_commit_lists *l)
{
	aj_arena_free(&l->arena);
}

/* --- what the host has --- */

/* Lines "^OID" of the host's own references and stash entries. What was fetched from runs is not among them. `*ret_staged`:
 * something is staged there. */
static void read_host(const struct aj_change_state *state, const char *path, struct aj_buffer *ret, bool *ret_staged,
                      struct aj_arena *arena)
{
	static const char *const words[][7] = {
		{ "for-each-ref", "--format=^%(objectname)", "refs/heads", "refs/tags", "refs/remotes", NULL },
		{ "log", "--no-walk", "--format=^%H", "HEAD", "--", NULL },
		{ "log", "--walk-reflogs", "--format=^%H", "refs/stash", "--", NULL },
	};
	static const char *const staged[] = { "diff-index", "--cached", "--quiet", "HEAD", "--", NULL };
	const char *dir = aj_change_host_path(&state->record, path, arena);
	const struct aj_git git = { .dir = dir };
	struct stat st;
	*ret_staged = false;
	if (lstat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		struct aj_error none = { 0 }; /* of an unborn branch, and where nothing was stashed */
		size_t before = ret->bytes;
		if (aj_git_run(&git, words[i], NULL, ret, &none) != 0)
			ret->bytes = before;
	}
	struct aj_error none = { 0 };
	*ret_staged = aj_git_run(&git, staged, NULL, NULL, &none) == 1;
}

/* --- the jail --- */

static int input_file(const struct aj_buffer *input)
{
	cleanup_fd int fd = memfd_create("commits", MFD_CLOEXEC);
	if (fd < 0 || aj_fd_move_high(&fd) < 0 || aj_write_all(fd, input->data, input->bytes) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -1;
	return aj_steal(&fd);
}

/* The beginning of what the jail said on standard error. */
static const char *said(int fd, struct aj_arena *arena)
{
	char text[300] = "", plain[300];
	ssize_t n = pread(fd, text, sizeof text - 1, 0);
	text[n > 0 ? (size_t)n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	aj_ascii(plain, sizeof plain, text);
	return aj_strdup(arena, plain[0] ? plain : "git failed in the jail that reads the run");
}

static const char *run_log(const struct aj_change_state *state, const char *path, const struct aj_buffer *host,
                           struct aj_buffer *ret, struct aj_arena *arena)
{
	const char *const words[] = { "agentjail", "changes", "commits", state->id, "--", path, NULL };
	int ends[2], status;
	pid_t pid;
	ssize_t n;
	cleanup_fd int in = input_file(host), errors = memfd_create("errors", MFD_CLOEXEC);
	if (in < 0 || errors < 0 || aj_fd_move_high(&errors) < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return strerror(errno);
	if (aj_fd_move_high(&ends[0]) < 0 || aj_fd_move_high(&ends[1]) < 0)
		return aj_close(&ends[0]), aj_close(&ends[1]), strerror(errno);
	const struct aj_spawn_fd fds[] = { { 0, in }, { 1, ends[1] }, { 2, errors } };
	int error = aj_spawn(&pid, "/proc/self/exe", (char *const *)(uintptr_t)words, environ, fds, sizeof fds / sizeof *fds);
	aj_close(&ends[1]);
	while (!error && ret->bytes < LOG_BYTES && (n = read(ends[0], aj_buffer_reserve(ret, 4096), 4096)) != 0)
		if (n > 0)
			ret->bytes += (size_t)n;
		else if (errno != EINTR)
			break;
	aj_close(&ends[0]); /* who writes more ends by that */
	if (error)
		return strerror(error);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	bool good = (WIFEXITED(status) && WEXITSTATUS(status) == 0) || ret->bytes >= LOG_BYTES;
	return good ? NULL : said(errors, arena);
}

/* --- the log --- */

/* The next field, which a NUL ends: no text of a commit has one. At the end it is what is left. */
static const char *next_field(const char **at, const char *end, struct aj_arena *arena)
{
	size_t bytes = strnlen(*at, (size_t)(end - *at));
	const char *field = aj_strndup(arena, *at, bytes);
	*at += bytes;
	*at += *at < end;
	return field;
}

/* " 3 files changed, 10 insertions(+), 2 deletions(-)" */
static void read_stat(struct commit *c, const char *line)
{
	static const char digits[] = "0123456789";
	for (const char *at = line + strcspn(line, digits); *at; at += strcspn(at, digits)) {
		char *end;
		uint64_t number = strtoull(at, &end, 10);
		*(strncmp(end, " file", 5) == 0 ? &c->files : strncmp(end, " ins", 4) == 0 ? &c->added : &c->deleted) = number;
		at = end;
	}
}

static void read_log(struct log *log, const struct aj_buffer *text, struct aj_arena *arena)
{
	static const char made[] = "refs/agentjail/";
	const char *at = text->data, *end = at ? at + text->bytes : at;
	struct commit *last = NULL;
	while (at < end) {
		/* The numbers of the commit before, and the name of this one. */
		const char *first = next_field(&at, end, arena), *name = strchr(first, '\x01');
		if (last)
			read_stat(last, aj_strndup(arena, first, name ? (size_t)(name - first) : strlen(first)));
		last = NULL;
		if (!name)
			continue;
		struct commit c = { .oid = name + 1 };
		c.author = next_field(&at, end, arena);
		c.date = next_field(&at, end, arena);
		c.refs = next_field(&at, end, arena);
		c.subject = next_field(&at, end, arena);
		c.set_aside = strncmp(c.refs, made, sizeof made - 1) == 0;
		log->more |= !c.set_aside && log->count == LISTED_MAX;
		if ((!c.set_aside && log->count == LISTED_MAX) || log->list.count == ALL_MAX)
			continue;
		log->count += !c.set_aside;
		last = AJ_PUSH(arena, &log->list);
		*last = c;
	}
}

/* What the host has set aside itself is no news. */
static void drop_known(struct log *log, const struct aj_buffer *host, bool staged, struct aj_arena *arena)
{
	const char *known = aj_strndup(arena, host->data ? host->data : "", host->bytes);
	size_t kept = 0;
	for (size_t i = 0; i < log->list.count; i++) {
		const struct commit *c = &log->list.items[i];
		bool index = strcmp(c->refs, "refs/agentjail/index") == 0;
		if (!c->set_aside || !(index ? staged : *c->oid && strstr(known, c->oid) != NULL))
			log->list.items[kept++] = *c;
	}
	log->list.count = kept;
}

static void read_repository(const struct aj_change_state *state, const char *path, struct log *ret, struct aj_arena *arena)
{
	struct aj_buffer host = { 0 }, text = { 0 };
	bool staged;
	*ret = (struct log){ 0 };
	read_host(state, path, &host, &staged, arena);
	ret->error = run_log(state, path, &host, &text, arena);
	if (!ret->error) {
		read_log(ret, &text, arena);
		drop_known(ret, &host, staged, arena);
	}
	aj_buffer_free(&host);
	aj_buffer_free(&text);
}

/* --- texts --- */

/* "HEAD -> refs/heads/main, tag: refs/tags/v1" as "main, tag v1". */
static void print_refs(const char *refs, struct aj_arena *arena, FILE *out)
{
	static const struct {
		const char *prefix, *text;
	} rows[] = { { "HEAD -> ", "" }, { "tag: refs/tags/", "tag " }, { "refs/heads/", "" }, { "refs/agentjail/", "" } };
	char *copy = aj_strdup(arena, refs), *name;
	const char *between = "  (";
	while ((name = strsep(&copy, ","))) {
		name += strspn(name, " ");
		if (!*name)
			continue;
		fputs(between, out);
		between = ", ";
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
			if (strncmp(name, rows[i].prefix, strlen(rows[i].prefix)) == 0) {
				name += strlen(rows[i].prefix);
				fputs(rows[i].text, out);
			}
		fputs(aj_line(arena, name), out);
	}
	fputs(*between == ',' ? ")" : "", out);
}

static void print_commit(const struct commit *c, struct aj_arena *arena, FILE *out)
{
	fprintf(out, "  %.*s  %s", SHORT_OID, aj_line(arena, c->oid), aj_line(arena, c->subject));
	print_refs(c->refs, arena, out);
	fprintf(out, "  %s", aj_line(arena, c->author));
	if (c->files)
		fprintf(out, ", %llu %s", (unsigned long long)c->files, c->files == 1 ? "file" : "files");
	if (c->added || c->deleted)
		fprintf(out, " +%llu -%llu", (unsigned long long)c->added, (unsigned long long)c->deleted);
	fputc('\n', out);
}

void aj_commits_print(const struct aj_commit_lists *lists, const struct aj_change_state *state, size_t max, FILE *out)
{
	for (size_t i = 0; i < lists->repositories.count; i++) {
		struct aj_arena arena = { 0 };
		const char *path = lists->repositories.items[i];
		struct log log;
		read_repository(state, path, &log, &arena);
		size_t count = log.list.count, shown = count < max ? count : max;
		if (log.error || count)
			fprintf(out, "\n%s: ", aj_line(&arena, path));
		if (log.error)
			fprintf(out, "its commits cannot be read: %s\n", aj_line(&arena, log.error));
		else if (log.count)
			fprintf(out, "%s%zu commit%s that the host does not have\n", log.more ? "more than " : "", log.count,
			        log.count == 1 ? "" : "s");
		else if (count)
			fputs("no new commits\n", out);
		for (size_t k = 0; k < shown; k++)
			print_commit(&log.list.items[k], &arena, out);
		if (shown < count)
			fprintf(out, "  and %zu more\n", count - shown);
		aj_arena_free(&arena);
	}
}

static json_t *text_json(const char *text)
{
	return aj_json_text(text, strlen(text));
}

json_t *aj_commits_json(const struct aj_commit_lists *lists, const struct aj_change_state *state)
{
	json_t *all = json_array();
	for (size_t i = 0; i < lists->repositories.count; i++) {
		struct aj_arena arena = { 0 };
		struct log log;
		read_repository(state, lists->repositories.items[i], &log, &arena);
		json_t *row = json_object(), *commits = json_array();
		aj_change_set_path(row, lists->repositories.items[i]);
		for (size_t k = 0; k < log.list.count; k++) {
			const struct commit *c = &log.list.items[k];
			json_array_append_new(commits, json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I}", "commit",
			                                         text_json(c->oid), "subject", text_json(c->subject), "author",
			                                         text_json(c->author), "date", text_json(c->date), "references",
			                                         text_json(c->refs), "files", (json_int_t)c->files, "added",
			                                         (json_int_t)c->added, "deleted", (json_int_t)c->deleted));
		}
		json_object_set_new(row, "commits", commits);
		json_object_set_new(row, "more", json_boolean(log.more));
		json_object_set_new(row, "error", log.error ? text_json(log.error) : json_null());
		json_array_append_new(all, row);
		aj_arena_free(&arena);
	}
	return all;
}
