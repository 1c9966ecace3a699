/* A session's files: those of the caller's, as the runner writes them before a run, and those of /output, read after it in turns.
 * It reads no file of the host, and holds no more than half of the event loop's thread for all sessions together. */
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/fd.h"
#include "jail/files/scratch_files.h"
#include "session/session.h"

/* A turn of all sessions that read files, and the time that others have after it. */
enum { TURN_US = 500, PAUSE_US = 500 };
enum { FILES_MAX = 1000 };

/* --- into the jail --- */

/* NULL with the reason why the file is refused. */
static const char *put_path(const char *name, struct aj_arena *arena, const char **ret_why)
{
	char room[AJ_SCRATCH_PATH];
	const char *path = name[0] == '/' ? name : aj_printf(arena, AJ_INPUT "/%s", name);
	const char *below = aj_scratch_path(path, room, ret_why);
	if (below && !strchr(below, '/'))
		*ret_why = "it is a folder";
	return *ret_why ? NULL : path;
}

static int put_one(json_t *all, const json_t *file, struct aj_arena *arena, struct aj_error *err)
{
	const char *name = json_string_value(json_object_get(file, "name")), *why = NULL, *path;
	const json_t *data = json_object_get(file, "data"), *text = json_object_get(file, "text"), *content = data ? data : text;
	const json_t *append = json_object_get(file, "append");
	if (!name || json_object_size(file) != (append ? 3 : 2) || !json_is_string(content) ||
	    (append && !json_is_boolean(append)))
		return aj_fail(err, AJ_EXIT_USAGE, "files", 0,
		               "a file is {\"name\": TEXT, \"data\": BASE64} or {\"name\": TEXT, \"text\": TEXT}, and may have \"append\": BOOLEAN");
	if (!(path = put_path(name, arena, &why)))
		return aj_fail(err, AJ_EXIT_USAGE, "files", 0, "the file `%.200s`: %s", aj_scratch_name_bad(name) ? "" : name,
		               why);
	if (data && !aj_base64_valid(json_string_value(data), json_string_length(data)))
		return aj_fail(err, AJ_EXIT_USAGE, "files", 0, "the file `%.200s`: its data is not base64", name);
	if (json_object_get(all, path))
		return aj_fail(err, AJ_EXIT_USAGE, "files", 0, "the file `%.200s` is given twice", name);
	size_t bytes = json_string_length(content);
	char *kind = malloc(bytes + 1);
	if (!kind)
		abort();
	kind[0] = json_is_true(append) ? (data ? 'B' : 'T') : (data ? 'b' : 't');
	memcpy(kind + 1, json_string_value(content), bytes);
	json_object_set_new_nocheck(all, path, json_stringn_nocheck(kind, bytes + 1));
	free(kind);
	return 0;
}

int aj_session_put_json(const json_t *files, struct aj_arena *arena, char **ret, struct aj_error *err)
{
	size_t i;
	json_t *file, *all = json_object();
	*ret = NULL;
	if (json_array_size(files) > FILES_MAX)
		aj_fail(err, AJ_EXIT_USAGE, "files", 0, "more than %d files", FILES_MAX);
	json_array_foreach(files, i, file)
		if (err->exit_code || put_one(all, file, arena, err) < 0)
			break;
	if (!err->exit_code && !(*ret = json_dumps(all, JSON_COMPACT)))
		abort();
	json_decref(all);
	return err->exit_code ? -1 : 0;
}

/* --- out of the jail, after a run --- */

void aj_session_cancel_collect(struct aj_session *s)
{
	if (!s->collect)
		return;
	TAILQ_REMOVE(&s->pool->manager->collecting, s, collecting);
	aj_collect_free(s->collect);
	s->collect = NULL;
	aj_buffer_free(&s->members.text);
}

void aj_session_add_files(struct aj_session *s)
{
	struct aj_collected found;
	if (!s->collect)
		return;
	aj_collect_end(s->collect, &found);
	s->collect = NULL;
	aj_members_add_files(&s->members, found.files, found.skipped);
	aj_collected_free(&found);
}

/* A session at a time, in turn. */
static void on_turn(struct aj_timer *timer)
{
	struct aj_manager *m = timer->arg;
	struct aj_session *s = TAILQ_FIRST(&m->collecting);
	if (!s) /* it was closed */
		return;
	bool done = aj_collect_turn(s->collect, aj_now_us() + TURN_US);
	TAILQ_REMOVE(&m->collecting, s, collecting);
	if (!done)
		TAILQ_INSERT_TAIL(&m->collecting, s, collecting);
	if (!TAILQ_EMPTY(&m->collecting))
		aj_loop_set(m->loop, &m->collect, aj_now_us() + PAUSE_US);
	if (done)
		aj_session_deliver(s);
}

bool aj_session_collect(struct aj_session *s, struct aj_collect *collect)
{
	struct aj_manager *m = s->pool->manager;
	s->collect = collect;
	if (TAILQ_EMPTY(&m->collecting) && aj_collect_turn(collect, aj_now_us() + TURN_US))
		return true;
	TAILQ_INSERT_TAIL(&m->collecting, s, collecting);
	m->collect.fn = on_turn;
	m->collect.arg = m;
	if (!m->collect.place)
		aj_loop_set(m->loop, &m->collect, aj_now_us() + PAUSE_US);
	return false;
}

/* --- at any time --- */

static const struct aj_scratch *scratch_of(struct aj_session *s, struct aj_error *err)
{
	if (!s->jail || s->jail->gone || s->jail->stopping)
		aj_fail_because(err, AJ_REASON_CLOSED, AJ_EXIT_USAGE, "session", 0, "the session has no jail");
	else if (aj_session_is_branching(s))
		aj_fail_because(err, AJ_REASON_BUSY, AJ_EXIT_USAGE, "busy", 0, "the session is being branched");
	else if (aj_jail_take_scratch(s->jail, err) == 0) {
		aj_session_used(s);
		return &s->jail->files.scratch;
	}
	return NULL;
}

json_t *aj_session_read_file(struct aj_session *s, const char *path, uint64_t offset, uint64_t bytes, struct aj_error *err)
{
	const struct aj_scratch *scratch = scratch_of(s, err);
	return scratch ? aj_scratch_read(scratch, path, offset, bytes, err) : NULL;
}

ssize_t aj_session_read_bytes(struct aj_session *s, const char *path, uint64_t offset, void *buffer, size_t bytes,
                              struct aj_error *err)
{
	const struct aj_scratch *scratch = scratch_of(s, err);
	return scratch ? aj_scratch_read_bytes(scratch, path, offset, buffer, bytes, err) : -1;
}

json_t *aj_session_list_files(struct aj_session *s, const char *path, struct aj_error *err)
{
	const struct aj_scratch *scratch = scratch_of(s, err);
	return scratch ? aj_scratch_list(scratch, path, err) : NULL;
}

int aj_session_remove_file(struct aj_session *s, const char *path, struct aj_error *err)
{
	const struct aj_scratch *scratch = scratch_of(s, err);
	return scratch ? aj_scratch_remove(scratch, path, err) : -1;
}
