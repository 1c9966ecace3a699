/* Collects findings about policies and formats their positions.
 * It prints nothing and ends nothing: the caller decides whether a finding is fatal. */
#include "base/toml/diag.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

const struct aj_code_row aj_codes[AJ_FINDING_COUNT] = {
#define ROW(name, text, meaning) { text, meaning },
	AJ_FINDINGS(ROW)
#undef ROW
};

/* Format a finding's text. A quotation may be cut inside a character; its bytes are then shown as \xNN. */
static const char *text_of(struct aj_arena *arena, const char *fmt, va_list ap)
{
	char text[600];
	int bytes = vsnprintf(text, sizeof text, fmt, ap);
	if (bytes < 0)
		return "";
	size_t kept = (size_t)bytes < sizeof text ? (size_t)bytes : sizeof text - 1;
	char *safe = aj_alloc(arena, 4 * kept + 1);
	aj_printable(safe, text, kept);
	return safe;
}

static void add_finding(struct aj_diags *diags, const struct aj_origin *at, enum aj_code code, bool warning, const char *fmt,
                        va_list ap)
{
	*(warning ? &diags->warnings : &diags->errors) += 1;
	if (diags->list.count == AJ_DIAGS_MAX)
		return;
	struct aj_diag *d = AJ_PUSH(diags->arena, &diags->list);
	*d = (struct aj_diag){ .code = aj_codes[code].code, .warning = warning, .message = text_of(diags->arena, fmt, ap) };
	if (at)
		d->at = *at;
}

int aj_diag_error(struct aj_diags *diags, const struct aj_origin *at, enum aj_code code, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	add_finding(diags, at, code, false, fmt, ap);
	va_end(ap);
	return -1;
}

void aj_diag_warn(struct aj_diags *diags, const struct aj_origin *at, enum aj_code code, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	add_finding(diags, at, code, true, fmt, ap);
	va_end(ap);
}

void aj_diag_advise(struct aj_diags *diags, const char *fmt, ...)
{
	if (diags->list.count == 0 || diags->errors + diags->warnings > diags->list.count)
		return; /* its finding was not kept */
	va_list ap;
	va_start(ap, fmt);
	diags->list.items[diags->list.count - 1].advice = text_of(diags->arena, fmt, ap);
	va_end(ap);
}

const char *aj_origin_text(const struct aj_origin *at, struct aj_arena *arena)
{
	if (!at->file)
		return "the default";
	if (!at->line)
		return at->file;
	return aj_printf(arena, "%s:%d:%d", at->file, at->line, at->column);
}

enum { LONGEST = 64 };

/* Edit distance: insertions, deletions, changes and swaps of neighbours. */
static size_t distance(const char *a, const char *b)
{
	size_t rows[3][LONGEST + 1], n = strlen(a), m = strlen(b);
	if (n > LONGEST || m > LONGEST)
		return SIZE_MAX;
	size_t *before = rows[0], *last = rows[1], *row = rows[2];
	for (size_t j = 0; j <= m; j++)
		before[j] = last[j] = j;
	for (size_t i = 1; i <= n; i++) {
		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			bool same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
			size_t best = last[j - 1] + !same;
			best = last[j] + 1 < best ? last[j] + 1 : best;
			best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			row[j] = best;
		}
		size_t *spare = before;
		before = last;
		last = row;
		row = spare;
	}
	return last[m];
}

const char *aj_suggest(const char *text, const char *(*at)(size_t i, const void *arg), const void *arg, size_t count)
{
	const char *best = NULL;
	size_t least = strlen(text) / 3 + 1; /* a larger distance is no misspelling */
	for (size_t i = 0; i < count; i++) {
		size_t d = distance(text, at(i, arg));
		if (d <= least && (!best || d < least)) {
			best = at(i, arg);
			least = d;
		}
	}
	return best;
}

static const char *name_at(size_t i, const void *names)
{
	return ((const char *const *)names)[i];
}

const char *aj_suggest_name(const char *text, const char *const *names, size_t count)
{
	return aj_suggest(text, name_at, names, count);
}
