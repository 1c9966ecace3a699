/* The runs of a session as callers begin and take them, or wait for them; one at a time.
 * Copies the caller's texts, unless a jail takes them at once, and passes on no source that is not UTF-8. */
#include <string.h>

#include "base/text.h"
#include "lib/api_inner.h"

void aj_lib_run_finish(agentjail_session *s, agentjail_result *result, const struct aj_error *err)
{
	s->result = result;
	if (err)
		s->error = *err;
	s->asked = false;
	if (s->handle->entered && s->handle->awaited != s)
		s->handle->unseen = true;
	aj_lib_calls_drop(s);
}

void aj_lib_run_begin(agentjail_session *s)
{
	struct aj_error err = s->open_error;
	if (s->why[0])
		aj_fail_because(&err, AJ_REASON_CLOSED, AJ_EXIT_SETUP, "session", 0, "it has ended: %s", s->why);
	if (err.exit_code || aj_session_run(s->inner, &s->snippet, &err) < 0)
		aj_lib_run_finish(s, NULL, &err);
	s->snippet = (struct aj_snippet){ 0 };
	json_decref(s->files);
	s->files = NULL;
	aj_arena_free(&s->arena);
}

/* Python source is UTF-8 without NUL bytes, and so is the JSON that carries it. */
static int check_text(const char *name, const char *text, size_t bytes, struct aj_error *err)
{
	size_t good = text ? aj_utf8_valid_prefix(text, bytes) : 0;
	const char *nul = text ? memchr(text, '\0', bytes) : NULL;
	if (nul && (size_t)(nul - text) < good)
		good = (size_t)(nul - text);
	if (!text || good == bytes)
		return 0;
	return aj_fail(err, AJ_EXIT_USAGE, "source", 0, "%s is not UTF-8 text: byte 0x%02x at offset %zu", name,
	               (unsigned char)text[good], good);
}

enum member_kind {
	SNIPPET,
	ALONE,     /* the jail's only snippet */
	VARIABLES, /* no code */
	GET,       /* `code` is the variable's name */
	VARS,      /* no code */
};

static int start_run(agentjail_session *s, const struct agentjail_snippet *theirs, enum member_kind kind, struct aj_error *err)
{
	struct agentjail_snippet t;
	if (aj_lib_enter_session(s, err) < 0 || aj_lib_take(&t, sizeof t, theirs, "agentjail_snippet", err) < 0)
		return -1;
	if (s->result || s->error.exit_code)
		return aj_fail_because(err, AJ_REASON_BUSY, AJ_EXIT_USAGE, "busy", 0,
		                       "the caller has not taken the last run's result yet");
	if (t.python && kind != ALONE)
		return aj_fail(err, AJ_EXIT_USAGE, "python", 0, "a session's Python layer is chosen when the session is opened");
	if (kind < VARIABLES && !t.code)
		return aj_fail(err, AJ_EXIT_USAGE, "source", 0, "no code is given");
	if (kind == GET && !t.code)
		return aj_fail(err, AJ_EXIT_USAGE, "variables", 0, "no name is given");
	size_t bytes = !t.code ? 0 : t.code_bytes ? t.code_bytes : strlen(t.code);
	if (bytes > AJ_LIB_BYTES_MAX)
		return aj_fail(err, AJ_EXIT_USAGE, "source", 0, "%zu bytes is too large", bytes);
	if (check_text(kind == GET ? "the name" : "the code", t.code, bytes, err) < 0 ||
	    check_text("the standard input", t.stdin_text, t.stdin_text ? strlen(t.stdin_text) : 0, err) < 0 ||
	    check_text("the id", t.id, t.id ? strlen(t.id) : 0, err) < 0 ||
	    check_text("the file name", t.filename, t.filename ? strlen(t.filename) : 0, err) < 0)
		return -1;
	json_t *files;
	if (t.output_files < 0 || t.output_files > AGENTJAIL_OUTPUT_DATA)
		return aj_fail(err, AJ_EXIT_USAGE, "files", 0,
		               "output_files is not one of 0, AGENTJAIL_OUTPUT_LIST, AGENTJAIL_OUTPUT_DATA");
	if (aj_lib_files(t.files, t.files_count, &files, err) < 0)
		return -1;
	json_decref(s->files);
	s->files = files;
	s->snippet = (struct aj_snippet){ .get = kind == GET ? t.code : NULL,
		                          .vars = kind == VARS,
		                          .code_bytes = bytes,
		                          .inputs_json = t.variables,
		                          .files = files,
		                          .last = kind == ALONE,
		                          .keep_value = s->handle->keep_values,
		                          .lines = t.output != NULL };
#define TAKE_TEXT(member) s->snippet.member = t.member;
#define TAKE_NAME(member) s->snippet.member = t.member;
#define TAKE_SWITCH(member) s->snippet.member = t.member != 0;
#define TAKE_EITHER(member) s->snippet.member = t.member != 0;
#define TAKE_CHOICE(member) s->snippet.member = (unsigned)t.member;
#define TAKE_COUNT(member) s->snippet.member = (struct aj_number){ .given = t.member != NULL, .value = t.member ? *t.member : 0 };
#define TAKE_TIME(member) s->snippet.member = t.member;
#define TAKE_OBJECT(member) /* above */
#define TAKE_FILES(member)
#define TAKE(constant, member, name, kind, ...) TAKE_##kind(member)
	AJ_SNIPPET_OPTIONS(TAKE)
	if (kind >= VARIABLES)
		s->snippet.code = NULL;
	s->output = t.output;
	s->output_arg = t.output_arg;
	s->asked = true;
	__atomic_store_n(&s->interrupt, 0, __ATOMIC_SEQ_CST);
	if (aj_lib_is_open(s))
		aj_lib_run_begin(s);
	else /* the texts are the caller's, and the jail is not ready yet */
		aj_snippet_keep_texts(&s->snippet, &s->arena);
	if (s->asked || !s->error.exit_code)
		return 0;
	*err = s->error; /* nothing has begun */
	s->error = (struct aj_error){ 0 };
	return -1;
}

static agentjail_result *take_result(agentjail_session *s, struct aj_error *err)
{
	agentjail_result *result = s->result;
	if (!result && !s->error.exit_code)
		aj_fail_because(err, AJ_REASON_BUSY, AJ_EXIT_USAGE, "busy", 0,
		                s->asked ? "the snippet is still running" : "nothing was run");
	else if (!result)
		*err = s->error;
	s->result = NULL;
	s->error = (struct aj_error){ 0 };
	return result;
}

static bool is_busy(const agentjail_session *s)
{
	return s->asked;
}

/* The session is not freed here, even if a tool has closed it. */
static agentjail_result *run_snippet(agentjail_session *s, const struct agentjail_snippet *snippet, enum member_kind kind,
                                     struct aj_error *err)
{
	if (start_run(s, snippet, kind, err) < 0)
		return NULL;
	aj_lib_await(s, is_busy, err);
	return err->exit_code ? NULL : take_result(s, err);
}

static void free_closed(agentjail_session *s)
{
	if (!s->inner && !s->entered)
		aj_lib_session_free(s);
}

static agentjail_result *run_and_free(agentjail_session *s, const struct agentjail_snippet *snippet, enum member_kind kind,
                                      struct agentjail_error *ret_err)
{
	struct aj_error err = { 0 };
	agentjail_result *result = run_snippet(s, snippet, kind, &err);
	free_closed(s);
	if (!result)
		aj_lib_refuse(&err, ret_err);
	return result;
}

agentjail_result *agentjail_session_run(agentjail_session *s, const struct agentjail_snippet *snippet,
                                        struct agentjail_error *ret_err)
{
	return run_and_free(s, snippet, SNIPPET, ret_err);
}

agentjail_result *agentjail_session_get(agentjail_session *s, const char *name, struct agentjail_error *ret_err)
{
	const struct agentjail_snippet get = { .size = sizeof get, .code = name };
	return run_and_free(s, &get, GET, ret_err);
}

agentjail_result *agentjail_session_vars(agentjail_session *s, struct agentjail_error *ret_err)
{
	return run_and_free(s, &(struct agentjail_snippet){ .size = sizeof(struct agentjail_snippet) }, VARS, ret_err);
}

agentjail_result *agentjail_run(agentjail *h, const struct agentjail_snippet *snippet, struct agentjail_error *ret_err)
{
	struct aj_error err = { 0 };
	struct agentjail_snippet t;
	struct aj_session_params place = { 0 };
	agentjail_session *s = NULL;
	if (aj_lib_enter(h, &err) == 0 && aj_lib_take(&t, sizeof t, snippet, "agentjail_snippet", &err) == 0 &&
	    aj_lib_take_python(&place.python, t.python, &err) == 0)
		s = aj_lib_session_open(h, &place, &err);
	agentjail_result *result = s ? run_snippet(s, snippet, ALONE, &err) : NULL;
	if (s)
		agentjail_session_close(s);
	if (!result)
		aj_lib_refuse(&err, ret_err);
	return result;
}

/* A run without code; -1 with err where it failed in the jail, too. */
static int run_without_code(agentjail_session *s, const struct agentjail_snippet *snippet, const char *step,
                            struct agentjail_error *ret_err)
{
	struct aj_error err = { 0 };
	agentjail_result *result = run_snippet(s, snippet, VARIABLES, &err);
	free_closed(s);
	if (result && result->status != AJ_STATUS_OK) {
		const char *message = agentjail_result_get(result, "error.message");
		const char *reason = agentjail_result_get(result, "reason");
		aj_fail(&err, AJ_EXIT_ERROR, step, 0, "%s", message ? message : reason ? reason : "the jail did not take them");
	}
	agentjail_result_free(result);
	return err.exit_code ? aj_lib_refuse(&err, ret_err) : 0;
}

int agentjail_session_set(agentjail_session *s, const char *variables, struct agentjail_error *ret_err)
{
	struct agentjail_snippet snippet = { .size = sizeof snippet, .variables = variables };
	return run_without_code(s, &snippet, "variables", ret_err);
}

int agentjail_session_write_files(agentjail_session *s, const struct agentjail_file *files, size_t count,
                                  struct agentjail_error *ret_err)
{
	struct agentjail_snippet snippet = { .size = sizeof snippet, .files = files, .files_count = count };
	return run_without_code(s, &snippet, "files", ret_err);
}

int agentjail_session_start(agentjail_session *s, const struct agentjail_snippet *snippet, struct agentjail_error *ret_err)
{
	struct aj_error err = { 0 };
	return start_run(s, snippet, SNIPPET, &err) < 0 ? aj_lib_refuse(&err, ret_err) : 0;
}

int agentjail_session_busy(const agentjail_session *s)
{
	return s->asked;
}

agentjail_result *agentjail_session_take(agentjail_session *s, struct agentjail_error *ret_err)
{
	struct aj_error err = { 0 };
	agentjail_result *result = aj_lib_enter(s->handle, &err) < 0 ? NULL : take_result(s, &err);
	if (!result)
		aj_lib_refuse(&err, ret_err);
	return result;
}

void agentjail_interrupt(agentjail_session *s)
{
	__atomic_store_n(&s->interrupt, 1, __ATOMIC_SEQ_CST);
	aj_lib_wake(s->handle);
}

void aj_lib_session_interrupted(agentjail_session *s)
{
	struct aj_error err = { 0 };
	if (aj_lib_state(s) == AJ_SESSION_RUNNING) {
		aj_session_interrupt(s->inner);
	} else if (s->asked) {
		aj_fail(&err, AJ_EXIT_SIGNAL + 2, "interrupt", 0, "the caller withdrew the snippet before it began");
		aj_lib_run_finish(s, NULL, &err);
		aj_arena_free(&s->arena);
	}
}
