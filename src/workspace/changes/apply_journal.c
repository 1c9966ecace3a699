/* Writes and reads journals. A step is a line of numbers and a path, ended by a NUL; the first record is the tag.
 * It runs no step, and rejects paths that could lead out of the workspace or the main repository. */
#include "workspace/changes/apply_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "workspace/changes/number.h"
#include "workspace/changes/run_state.h"

#define UNFINISHED "unfinished"
enum { TAG_BYTES = 17, FLUSH_BYTES = 1 << 20 };

/* aj_change_state_interrupted() looks for the beginning. */
#define NAME(phase) AJ_CHANGES_JOURNAL phase
static const char *const names[AJ_PHASES] = {
	[AJ_PHASE_STAGING] = NAME("staging"),   [AJ_PHASE_SWAPPING] = NAME("swapping"),   [AJ_PHASE_MOVING] = NAME("moving"),
	[AJ_PHASE_CLEANING] = NAME("cleaning"), [AJ_PHASE_UNSTAGING] = NAME("unstaging"), [AJ_PHASE_UNDOING] = NAME("undoing"),
	[AJ_PHASE_UNMOVING] = NAME("unmoving")
};

void aj_step_write(struct aj_buffer *out, const struct aj_apply_step *s)
{
	char head[256];
	int n = snprintf(head, sizeof head, "%c %u %" PRIu64 " %o %o %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " ", s->op,
	                 s->pass, s->number, (unsigned)s->mode, (unsigned)s->was_mode, s->dev, s->ino, s->bytes, s->mtime_ns);
	aj_buffer_add(out, head, (size_t)n);
	aj_buffer_add(out, s->path, strlen(s->path) + 1);
}

static bool plain(const char *path)
{
	path += *path == '/'; /* in the main repository; aj_change_side() knows no other absolute path */
	if (!*path || strlen(path) >= PATH_MAX - 1)
		return false;
	for (const char *at = path; *at; at += strcspn(at, "/") + 1) {
		if (!aj_path_part_valid(at, strcspn(at, "/")))
			return false;
		if (!at[strcspn(at, "/")])
			return true;
	}
	return false; /* a slash at the end */
}

static bool is_hex(const char *text)
{
	size_t bytes = strlen(text);
	return bytes > 0 && bytes <= 64 && strspn(text, "0123456789abcdef") == bytes;
}

/* FROM TO REF GIT and TREE: no reference has a blank. */
void aj_git_move_write(struct aj_buffer *out, const struct aj_git_move *m)
{
	const char *const parts[] = { m->from, " ", m->to, " ", m->ref, " ", m->git, " ", m->tree };
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		aj_buffer_text(out, parts[i]);
	aj_buffer_add(out, "", 1);
}

bool aj_git_move_read(const struct aj_apply_step *s, char *room, struct aj_git_move *ret)
{
	char *rest = room;
	size_t bytes = strlen(s->path);
	if (bytes >= AJ_STEP_BYTES)
		return false;
	memcpy(room, s->path, bytes + 1);
	ret->from = strsep(&rest, " ");
	ret->to = rest ? strsep(&rest, " ") : "";
	ret->ref = rest ? strsep(&rest, " ") : "";
	if (!rest || s->bytes >= strlen(rest) || rest[s->bytes] != ' ')
		return false;
	rest[s->bytes] = '\0';
	ret->git = rest;
	ret->tree = rest + s->bytes + 1;
	return is_hex(ret->from) && is_hex(ret->to) && (strcmp(ret->ref, "HEAD") == 0 || strncmp(ret->ref, "refs/", 5) == 0) &&
	       (strcmp(ret->git, ".") == 0 || plain(ret->git)) &&
	       (!*ret->tree || strcmp(ret->tree, ".") == 0 || (ret->tree[0] != '/' && plain(ret->tree)));
}

bool aj_step_read(const char *text, size_t bytes, struct aj_apply_step *ret)
{
	uint64_t pass, mode, was_mode;
	const char *at = text + 2, *end = text + bytes;
	struct aj_apply_step s = { 0 };
	struct aj_git_move move;
	char room[AJ_STEP_BYTES];
	if (bytes < 3 || text[0] == '\0' || !strchr("MPDCGWR", text[0]) || text[1] != ' ' || memchr(text, '\0', bytes) != end - 1)
		return false;
	if (!aj_take_number(&at, end, 10, AJ_PASSES - 1, &pass) || !aj_take_number(&at, end, 10, UINT64_MAX, &s.number) ||
	    !aj_take_number(&at, end, 8, 0177777, &mode) || !aj_take_number(&at, end, 8, 0177777, &was_mode) ||
	    !aj_take_number(&at, end, 10, UINT64_MAX, &s.dev) || !aj_take_number(&at, end, 10, UINT64_MAX, &s.ino) ||
	    !aj_take_number(&at, end, 10, UINT64_MAX, &s.bytes) || !aj_take_signed(&at, end, &s.mtime_ns))
		return false;
	s.op = text[0];
	s.pass = (unsigned)pass;
	s.mode = (mode_t)mode;
	s.was_mode = (mode_t)was_mode;
	s.path = at;
	*ret = s;
	return s.op == AJ_STEP_MOVE ? aj_git_move_read(&s, room, &move)
	                            : plain(at) || (s.op == AJ_STEP_SETTLE && strcmp(at, ".") == 0);
}

/* --- writing --- */

static void flush(struct aj_journal_writer *w)
{
	if (w->kept.bytes && aj_write_all(w->fd, w->kept.data, w->kept.bytes) < 0)
		w->failed = true;
	w->kept.bytes = 0;
}

int aj_journal_begin(struct aj_journal_writer *w, int dir)
{
	unsigned char random[8];
	char tag[TAG_BYTES];
	*w = (struct aj_journal_writer){ .fd = -1 };
	if (getrandom(random, sizeof random, 0) != sizeof random || (unlinkat(dir, UNFINISHED, 0) < 0 && errno != ENOENT))
		return -1;
	w->fd = aj_beneath_open_here(dir, UNFINISHED, O_WRONLY | O_CREAT | O_EXCL);
	if (w->fd < 0)
		return -1;
	for (size_t i = 0; i < sizeof random; i++)
		snprintf(tag + 2 * i, 3, "%02x", random[i]);
	aj_buffer_add(&w->kept, tag, sizeof tag);
	return 0;
}

void aj_journal_add(struct aj_journal_writer *w, struct aj_apply_step *step)
{
	step->number = w->count++;
	aj_step_write(&w->kept, step);
	if (w->kept.bytes > FLUSH_BYTES)
		flush(w);
}

int aj_journal_commit(struct aj_journal_writer *w, int dir)
{
	flush(w);
	if (w->failed || fsync(w->fd) < 0 || renameat(dir, UNFINISHED, dir, names[AJ_PHASE_STAGING]) < 0 || fsync(dir) < 0)
		return -1;
	aj_close(&w->fd);
	aj_buffer_free(&w->kept);
	return 0;
}

void aj_journal_drop(struct aj_journal_writer *w, int dir)
{
	aj_close(&w->fd);
	aj_buffer_free(&w->kept);
	unlinkat(dir, UNFINISHED, 0);
}

/* --- reading --- */

static void add_place(struct aj_journal *j, size_t *room, uint64_t at)
{
	char head[3] = { 0 }; /* as "P 2" */
	if (j->count == *room) {
		*room = *room ? 2 * *room : 64;
		j->places = realloc(j->places, *room * sizeof *j->places);
		if (!j->places)
			abort();
	}
	if (pread(j->fd, head, sizeof head, (off_t)at) < 0)
		head[0] = '\0'; /* aj_journal_step() will fail, too */
	if (head[0] == AJ_STEP_MERGED)
		head[0] = AJ_STEP_PUT;
	j->places[j->count++] = (struct aj_journal_place){ at, head[0], (char)(head[2] - '0') };
}

/* Where each record begins. */
static int find_steps(struct aj_journal *j)
{
	char *buffer = malloc(FLUSH_BYTES);
	size_t room = 0;
	uint64_t at = 0;
	ssize_t n;
	if (!buffer)
		abort();
	while ((n = pread(j->fd, buffer, FLUSH_BYTES, (off_t)at)) > 0) {
		for (char *c = buffer; (c = memchr(c, '\0', (size_t)(buffer + n - c))); c++)
			add_place(j, &room, at + (uint64_t)(c - buffer) + 1);
		at += (uint64_t)n;
	}
	free(buffer);
	errno = EINVAL;
	if (n < 0 || j->count == 0 || j->places[j->count - 1].at != at || pread(j->fd, j->tag, sizeof j->tag, 0) != sizeof j->tag)
		return -1;
	j->count--; /* the end of the last step begins none */
	return strspn(j->tag, "0123456789abcdef") == TAG_BYTES - 1 && j->tag[TAG_BYTES - 1] == '\0' ? 0 : -1;
}

int aj_journal_open(struct aj_journal *j, int dir)
{
	*j = (struct aj_journal){ .fd = -1, .dir = dir };
	for (j->phase = 0; j->phase < AJ_PHASES && j->fd < 0; j->phase++) {
		j->fd = aj_beneath_open_here(dir, names[j->phase], O_RDONLY);
		if (j->fd >= 0)
			break;
		if (errno != ENOENT)
			return -1;
	}
	return j->fd < 0 ? -1 : find_steps(j);
}

bool aj_journal_step(const struct aj_journal *j, size_t index, char room[AJ_STEP_BYTES], struct aj_apply_step *ret)
{
	uint64_t from = j->places[index].at, bytes = j->places[index + 1].at - from;
	errno = EINVAL;
	return bytes <= AJ_STEP_BYTES && pread(j->fd, room, bytes, (off_t)from) == (ssize_t)bytes &&
	       aj_step_read(room, bytes, ret) && ret->number == index;
}

int aj_journal_enter(struct aj_journal *j, enum aj_phase phase)
{
	if (renameat(j->dir, names[j->phase], j->dir, names[phase]) < 0 || fsync(j->dir) < 0)
		return -1;
	j->phase = phase;
	return 0;
}

int aj_journal_end(struct aj_journal *j)
{
	return unlinkat(j->dir, names[j->phase], 0) < 0 || fsync(j->dir) < 0 ? -1 : 0;
}

void aj_journal_name(const struct aj_journal *j, uint64_t number, bool old, char out[AJ_JOURNAL_NAME])
{
	snprintf(out, AJ_JOURNAL_NAME, AJ_CHANGES_OWN "%s-%" PRIu64 ".%s", j->tag, number, old ? "old" : "new");
}

void aj_journal_close(struct aj_journal *j)
{
	aj_close(&j->fd);
	free(j->places);
	j->places = NULL;
}
