/* Makes JSON strings of any bytes, within a length limit. A byte that is not UTF-8 is written as \xNN, and so is a backslash that
 * begins a text of this form, so that each \xNN stands for one byte. `truncated` is set where bytes were left out. */
#include "jail/audit/composer.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

enum { LARGEST_BYTES = 16 << 10 }; /* of one string: the largest budget, that of all arguments */

static bool looks_escaped(const char *s, size_t bytes)
{
	return bytes >= 4 && s[0] == '\\' && s[1] == 'x' && isxdigit((unsigned char)s[2]) && isxdigit((unsigned char)s[3]);
}

json_t *aj_composer_text(struct aj_composer *c, const char *s, size_t bytes, size_t *budget)
{
	static const char hex[] = "0123456789abcdef";
	char out[LARGEST_BYTES];
	size_t at = 0, left = *budget < sizeof out ? *budget : sizeof out, before = left;
	for (size_t i = 0; i < bytes;) {
		unsigned char lead = (unsigned char)s[i];
		size_t n = aj_utf8_first(s + i, bytes - i);
		bool valid = n && lead != 0x7f && !looks_escaped(s + i, bytes - i);
		size_t cost = !valid ? 5 : n == 4 ? 12 : n > 1 || lead < 0x20 ? 6 : lead == '"' || lead == '\\' ? 2 : 1;
		if (cost > left) {
			c->truncated = true;
			break;
		}
		left -= cost;
		if (valid) {
			memcpy(out + at, s + i, n);
			at += n;
			i += n;
		} else {
			memcpy(out + at, (char[]){ '\\', 'x', hex[lead >> 4], hex[lead & 15] }, 4);
			at += 4;
			i++;
		}
	}
	*budget -= before - left;
	return json_stringn_nocheck(out, at);
}

json_t *aj_composer_short(struct aj_composer *c, const char *s, size_t budget)
{
	return s ? aj_composer_text(c, s, strlen(s), &budget) : json_null();
}

json_t *aj_composer_item(struct aj_composer *c, const char *s, size_t bytes, size_t *budget)
{
	if (*budget < 16) {
		c->truncated = true;
		return NULL;
	}
	*budget -= 3;
	return aj_composer_text(c, s, bytes, budget);
}
