/* The library's entry points: checks the calling thread, reads callers' structs of older and newer versions, returns errors.
 * Never reads beyond the size that a caller gave, and never guesses what an unknown field means. */
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "lib/api_inner.h"

int aj_lib_enter(const agentjail *h, struct aj_error *err)
{
	if (gettid() != h->thread) {
		aj_fail(err, AJ_EXIT_USAGE, "thread", 0, "this handle belongs to another thread or process");
		aj_advise(err,
		          "open a handle in each thread, and after fork() a new one: jails die with the thread that made them");
		return -1;
	}
	if (h->in_callback)
		return aj_fail(err, AJ_EXIT_USAGE, "output", 0, "called from inside of an output or log callback");
	return 0;
}

int aj_lib_enter_session(const agentjail_session *s, struct aj_error *err)
{
	if (aj_lib_enter(s->handle, err) < 0)
		return -1;
	if (!s->inner)
		return aj_fail_because(err, AJ_REASON_CLOSED, AJ_EXIT_USAGE, "session", 0, "it was closed");
	if (s->asked || aj_lib_branching(s))
		return aj_fail_because(err, AJ_REASON_BUSY, AJ_EXIT_USAGE, "busy", 0,
		                       s->asked ? "a snippet is running in this session" : "it is being branched");
	return 0;
}

int aj_lib_take(void *ours, size_t our_bytes, const void *theirs, const char *name, struct aj_error *err)
{
	size_t bytes;
	memset(ours, 0, our_bytes);
	if (!theirs)
		return aj_fail(err, AJ_EXIT_USAGE, "options", 0, "no struct %s is given", name);
	memcpy(&bytes, theirs, sizeof bytes);
	if (bytes < 2 * sizeof bytes || bytes > 1 << 16) {
		aj_fail(err, AJ_EXIT_USAGE, "options", 0, "the size of struct %s is not set", name);
		aj_advise(err, "struct %s x = { .size = sizeof x, ... }", name);
		return -1;
	}
	for (size_t i = our_bytes; i < bytes; i++)
		if (((const char *)theirs)[i]) {
			aj_fail(err, AJ_EXIT_USAGE, "options", 0, "struct %s has a field that this library (%s) does not know",
			        name, AJ_VERSION);
			aj_advise(err, "leave the field zero, or install the library that the header belongs to");
			return -1;
		}
	memcpy(ours, theirs, bytes < our_bytes ? bytes : our_bytes);
	return 0;
}

/* Keeps a message in one line. */
static void flatten(char *text)
{
	for (; *text; text++)
		if (aj_is_control(*text))
			*text = ' ';
}

int aj_lib_refuse(const struct aj_error *err, struct agentjail_error *ret)
{
	if (!ret)
		return -1;
	*ret = (struct agentjail_error){ .code = err->exit_code, .system_error = err->errnum };
	memcpy(ret->step, err->step, sizeof err->step);
	aj_error_cause(err, ret->cause, sizeof ret->cause);
	memcpy(ret->fix, err->fix, sizeof ret->fix);
	flatten(ret->cause);
	flatten(ret->fix);
	return -1;
}
