/* Fuzzes the filter of control sequences: the first byte chooses the level and where the text is cut.
 * It writes to no terminal. Beyond not crashing: cuts do not matter, nothing is added, and what passed once passes again whole. */
#include <string.h>

#include "jail/pty/escape_filter.h"
#include "must.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);

enum { MOST = 16384 };
static struct aj_escape_filter filter;

static size_t feed(enum aj_escapes level, const char *in, size_t bytes, size_t piece, char *out)
{
	size_t n = 0;
	aj_escape_init(&filter, level);
	for (size_t i = 0; i < bytes; i += piece)
		n += aj_escape_filter(&filter, in + i, bytes - i < piece ? bytes - i : piece, out + n);
	return n;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
	static char whole[MOST + AJ_ESCAPE_MAX], cut[MOST + AJ_ESCAPE_MAX], again[MOST + AJ_ESCAPE_MAX];
	static const unsigned char never[] = { 5, 0x9b, 0x9d };
	char undo[AJ_MODES_TEXT];
	if (bytes < 2 || bytes > MOST)
		return 0;
	enum aj_escapes level = (enum aj_escapes)(data[0] % 3);
	const char *in = (const char *)data + 1;
	size_t n = feed(level, in, bytes - 1, bytes, whole);
	must(n <= bytes - 1, "nothing is added");
	must(aj_modes_undo(&filter.modes, undo) < sizeof undo && aj_modes_again(&filter.modes, undo) < sizeof undo,
	     "what undoes fits");
	must(feed(level, in, bytes - 1, data[0] / 3 + 1U, cut) == n && memcmp(cut, whole, n) == 0, "cuts do not matter");
	if (level == AJ_ESCAPES_ALL) {
		must(n == bytes - 1 && memcmp(whole, in, n) == 0, "all passes unchanged");
		return 0;
	}
	must(!memchr(whole, never[0], n), "no answerback");
	if (level == AJ_ESCAPES_NONE)
		must(!memchr(whole, 0x1b, n), "no sequence");
	size_t same = feed(level, whole, n, bytes, again);
	must(same + filter.bytes == n && memcmp(again, whole, same) == 0, "what passed is what passes");
	for (int i = 0; i < AJ_ESCAPE_KINDS; i++)
		must(!filter.left_out[i], "what passed holds nothing to leave out");
	return 0;
}
