/* Fills and formats struct aj_error.
 * It does not print and does not exit: only cli/ decides what a person sees. */
#include "base/error.h"

#include <stdio.h>
#include <string.h>

int aj_fail(struct aj_error *err, int exit_code, const char *step, int errnum, const char *fmt, ...)
{
	if (err->exit_code)
		return -1;
	err->exit_code = exit_code;
	err->errnum = errnum;
	snprintf(err->step, sizeof err->step, "%s", step);
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(err->cause, sizeof err->cause, fmt, ap);
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

const char *aj_error_text(const struct aj_error *err, char *out, unsigned long out_bytes)
{
	if (err->errnum)
		snprintf(out, out_bytes, "%s: %s: %s", err->step, err->cause, strerror(err->errnum));
	else
		snprintf(out, out_bytes, "%s: %s", err->step, err->cause);
	return out;
}
