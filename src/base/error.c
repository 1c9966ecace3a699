/* Fills and formats struct aj_error.
 * It does not print and does not exit: only cli/ decides which text a person sees. */
#include "base/error.h"

#include <stdio.h>
#include <string.h>

static void fill(struct aj_error *err, enum aj_reason reason, int exit_code, const char *step, int errnum, const char *fmt,
                 va_list ap)
{
	if (err->exit_code)
		return;
	err->exit_code = exit_code;
	err->reason = reason;
	err->errnum = errnum;
	snprintf(err->step, sizeof err->step, "%s", step);
	vsnprintf(err->cause, sizeof err->cause, fmt, ap);
}

int aj_fail(struct aj_error *err, int exit_code, const char *step, int errnum, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fill(err, exit_code == AJ_EXIT_USAGE ? AJ_REASON_INPUT : AJ_REASON_SETUP, exit_code, step, errnum, fmt, ap);
	va_end(ap);
	return -1;
}

int aj_fail_because(struct aj_error *err, enum aj_reason reason, int exit_code, const char *step, int errnum, const char *fmt,
                    ...)
{
	va_list ap;
	va_start(ap, fmt);
	fill(err, reason, exit_code, step, errnum, fmt, ap);
	va_end(ap);
	return -1;
}

void aj_advise(struct aj_error *err, const char *fmt, ...)
{
	if (err->fix[0])
		return;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(err->fix, sizeof err->fix, fmt, ap);
	va_end(ap);
}

const char *aj_error_cause(const struct aj_error *err, char *out, unsigned long out_bytes)
{
	snprintf(out, out_bytes, "%s%s%s", err->cause, err->errnum ? ": " : "", err->errnum ? strerror(err->errnum) : "");
	return out;
}

const char *aj_error_text(const struct aj_error *err, char *out, unsigned long out_bytes)
{
	int bytes = snprintf(out, out_bytes, "%s: ", err->step);
	if (bytes >= 0 && (unsigned long)bytes < out_bytes)
		aj_error_cause(err, out + bytes, out_bytes - (unsigned long)bytes);
	return out;
}
