/* Checks the bundles that a jail claims: how many, the names, and the type of the data. guest/layer/values/rich.py writes them.
 * It decodes nothing: an image may be any bytes. */
#include "jail/result/bundle.h"

#include <string.h>

#include "base/base64.h"
#include "base/json/tree.h"

enum { BUNDLES_MAX = 100, ENTRIES_MAX = 20, MIME_CHARS = 100 };

static bool is_mime(const char *name)
{
	size_t n = strlen(name);
	for (size_t i = 0; i < n; i++)
		if (name[i] <= ' ' || name[i] > '~')
			return false;
	return n <= MIME_CHARS && strchr(name, '/');
}

static bool is_json_type(const char *mime)
{
	size_t n = strlen(mime);
	return strcmp(mime, "application/json") == 0 || (n > 5 && strcmp(mime + n - 5, "+json") == 0);
}

static bool is_binary_type(const char *mime)
{
	static const char *const beginnings[] = { "image/", "audio/", "video/", "application/pdf", "application/octet-stream" };
	for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
		if (strncmp(mime, beginnings[i], strlen(beginnings[i])) == 0)
			return strcmp(mime, "image/svg+xml") != 0;
	return false;
}

static bool is_bundle(const json_t *bundle)
{
	const char *mime;
	json_t *data;
	size_t count = json_object_size(bundle);
	if (count == 0 || count > ENTRIES_MAX)
		return false;
	json_object_foreach((json_t *)bundle, mime, data) {
		bool fits = is_json_type(mime) ? true
		          : is_binary_type(mime)
		              ? json_is_string(data) && aj_base64_valid(json_string_value(data), json_string_length(data))
		              : json_is_string(data) && !aj_json_has_nul(data);
		if (!fits || !is_mime(mime))
			return false;
	}
	return true;
}

bool aj_bundles_are_valid(const json_t *list)
{
	size_t i;
	json_t *bundle;
	if (!json_is_array(list) || json_array_size(list) > BUNDLES_MAX)
		return false;
	json_array_foreach(list, i, bundle)
		if (!is_bundle(bundle))
			return false;
	return true;
}
