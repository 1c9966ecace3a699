/* The modules that are imported before the filter stands: extension modules can be mapped only until then, and no process inside
 * may see the code before. It finds a superset of the modules that the code can import by name, and parses no code. */
#include <string.h>

#include "policy/item_types.h"
#include "policy/plan/plan.h"

/* Large or seldom imported: in a lasting jail the import statement loads these modules, since in a zygote they would make each
 * birth dearer. They import pure Python alone, except for `before`: modules that lead to extension modules. */
enum { BEFORE_MAX = 4 };
static const struct late {
	const char *pattern, *before[BEFORE_MAX];
} late[] = {
	{ "argparse", { 0 } },
	{ "cmd", { 0 } },
	{ "configparser", { 0 } },
	{ "doctest", { 0 } },
	{ "email", { 0 } },
	{ "email.", { "socket" } },
	{ "filecmp", { 0 } },
	{ "fileinput", { 0 } },
	{ "gettext", { 0 } },
	{ "html.parser", { 0 } },
	{ "http.cookies", { 0 } },
	{ "ipaddress", { 0 } },
	{ "logging.handlers", { "pickle", "queue", "socket", "struct" } },
	{ "mimetypes", { 0 } },
	{ "ntpath", { 0 } },
	{ "optparse", { 0 } },
	{ "plistlib", { "binascii", "datetime", "pyexpat", "struct" } },
	{ "quopri", { "binascii" } },
	{ "tomllib", { 0 } },
	{ "wave", { "struct" } },
	{ "xml.dom.minidom", { "pyexpat" } },
	{ "xml.sax", { "hashlib", "pyexpat", "socket", "tempfile" } },
	{ "xml.sax.", { "hashlib", "pyexpat", "socket", "tempfile" } },
};

/* The row of a module; a row that ends in a dot is for all modules below. */
static const struct late *find_late(const char *pattern)
{
	for (size_t i = 0; i < sizeof late / sizeof *late; i++) {
		size_t bytes = strlen(late[i].pattern);
		bool below = late[i].pattern[bytes - 1] == '.';
		if (below ? strncmp(pattern, late[i].pattern, bytes) == 0 : strcmp(pattern, late[i].pattern) == 0)
			return &late[i];
	}
	return NULL;
}

static bool word_byte(char c)
{
	return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* The module of a pattern: `a.*` is a and everything below it. */
static const char *module_of(struct aj_arena *arena, const char *pattern)
{
	size_t bytes = strlen(pattern);
	return aj_strndup(arena, pattern, bytes > 2 && strcmp(pattern + bytes - 2, ".*") == 0 ? bytes - 2 : bytes);
}

static bool has_word(const struct aj_snippet *snippet, const char *word, size_t bytes)
{
	const char *end = snippet->code + snippet->code_bytes;
	for (const char *at = snippet->code; (at = memmem(at, (size_t)(end - at), word, bytes)); at++)
		if ((at == snippet->code || !word_byte(at[-1])) && (at + bytes == end || !word_byte(at[bytes])))
			return true;
	return false;
}

/* Layer on: the allowed modules of whose names every part occurs anywhere in the code. */
static void preload_allowed(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy,
                            const struct aj_request *request)
{
	for (size_t i = 0; i < policy->imports.count; i++) {
		const char *pattern = policy->imports.items[i], *part = pattern;
		size_t bytes = strcspn(part, ".");
		while (has_word(&request->snippet, part, bytes) && part[bytes] == '.' && part[bytes + 1] != '*') {
			part += bytes + 1;
			bytes = strcspn(part, ".");
		}
		if (has_word(&request->snippet, part, bytes))
			*AJ_PUSH(arena, &plan->preload) = module_of(arena, pattern);
	}
}

/* Modules that allowed modules import late: the policy says which word of the code calls for it. */
static void preload_late(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy,
                         const struct aj_request *request)
{
	for (size_t i = 0; i < policy->preload.count; i++) {
		const char *word = policy->preload.items[i], *colon = strchr(word, ':');
		if (request->lasting || has_word(&request->snippet, word, strcspn(word, ":.")))
			*AJ_PUSH(arena, &plan->preload) = aj_strdup(arena, colon ? colon + 1 : word);
	}
}

/* The encodings whose codecs are extension modules: the word of the code, in lower case, and the module. encode() imports it by
 * the name of the encoding. Not in a lasting jail: there the word is not known, and each of them costs every birth. */
static const struct codec {
	const char *word, *module;
} codecs[] = {
	{ "big5", "encodings.big5" },
	{ "big5hkscs", "encodings.big5hkscs" },
	{ "cp932", "encodings.cp932" },
	{ "cp949", "encodings.cp949" },
	{ "cp950", "encodings.cp950" },
	{ "euc_jp", "encodings.euc_jp" },
	{ "euc-jp", "encodings.euc_jp" },
	{ "euc_kr", "encodings.euc_kr" },
	{ "euc-kr", "encodings.euc_kr" },
	{ "gb18030", "encodings.gb18030" },
	{ "gb2312", "encodings.gb2312" },
	{ "gbk", "encodings.gbk" },
	{ "iso2022_jp", "encodings.iso2022_jp" },
	{ "iso-2022-jp", "encodings.iso2022_jp" },
	{ "shift_jis", "encodings.shift_jis" },
	{ "shift-jis", "encodings.shift_jis" },
	{ "sjis", "encodings.shift_jis" },
};

static void preload_codecs(struct aj_plan *plan, struct aj_arena *arena, const struct aj_snippet *snippet)
{
	char *lower = aj_strndup(arena, snippet->code, snippet->code_bytes);
	struct aj_snippet copy = { .code = lower, .code_bytes = snippet->code_bytes };
	for (char *c = lower; c < lower + copy.code_bytes; c++)
		*c = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
	for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++)
		if (has_word(&copy, codecs[i].word, strlen(codecs[i].word)))
			*AJ_PUSH(arena, &plan->preload) = codecs[i].module;
}

static void add_preload(struct aj_plan *plan, struct aj_arena *arena, const char *name, size_t bytes)
{
	enum { MOST_NAMES = 64, NAME_BYTES = 100 };
	if (bytes == 0 || bytes > NAME_BYTES || plan->preload.count == MOST_NAMES)
		return;
	for (size_t i = 0; i < plan->preload.count; i++)
		if (strncmp(plan->preload.items[i], name, bytes) == 0 && plan->preload.items[i][bytes] == '\0')
			return;
	char *copy = aj_strndup(arena, name, bytes);
	if (aj_import_pattern_valid(copy) && strcmp(copy, "import") != 0 && strcmp(copy, "from") != 0)
		*AJ_PUSH(arena, &plan->preload) = copy;
}

static void preload_once(struct aj_plan *plan, struct aj_arena *arena, const char *name)
{
	for (size_t i = 0; i < plan->preload.count; i++)
		if (strcmp(plan->preload.items[i], name) == 0)
			return;
	*AJ_PUSH(arena, &plan->preload) = name;
}

static void preload_list(struct aj_plan *plan, struct aj_arena *arena, const char *const *patterns, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct late *row = find_late(patterns[i]);
		if (!row)
			*AJ_PUSH(arena, &plan->preload) = module_of(arena, patterns[i]);
		for (int j = 0; row && j < BEFORE_MAX && row->before[j]; j++)
			preload_once(plan, arena, row->before[j]);
	}
}

/* A lasting jail: every module that a later snippet may import. */
static void preload_all(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy)
{
	preload_list(plan, arena, policy->imports.items, policy->imports.count);
	preload_list(plan, arena, policy->request_imports.items, policy->request_imports.count);
	/* Layer off: all modules. The runner finds them in its tree. */
	if (!policy->layer || !policy->request_layer)
		*AJ_PUSH(arena, &plan->preload) = "*";
}

static bool names_modules(const struct aj_policy *policy)
{
	bool all = !policy->layer;
	for (size_t i = 0; i < policy->imports.count; i++)
		all = all || strcmp(policy->imports.items[i], "*") == 0;
	return !all;
}

/* Every module is allowed: every dotted name on a line with the word `import`. Only modules of the rootfs can be loaded. */
static void preload_named(struct aj_plan *plan, struct aj_arena *arena, const struct aj_snippet *snippet)
{
	const char *end = snippet->code + snippet->code_bytes;
	for (const char *line = snippet->code, *next; line < end; line = next) {
		next = memchr(line, '\n', (size_t)(end - line));
		next = next ? next + 1 : end;
		if (!memmem(line, (size_t)(next - line), "import", strlen("import")) || line[strspn(line, " \t")] == '#')
			continue;
		for (const char *at = line; at < next; at++) {
			size_t bytes = 0;
			while (at + bytes < next && (word_byte(at[bytes]) || at[bytes] == '.'))
				bytes++;
			add_preload(plan, arena, at, bytes);
			at += bytes;
		}
	}
}

void aj_plan_preload(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy,
                     const struct aj_request *request)
{
	bool has_code = request->is_snippet && request->snippet.code;
	if (request->lasting)
		preload_all(plan, arena, policy);
	else if (has_code && names_modules(policy))
		preload_allowed(plan, arena, policy, request);
	else if (has_code)
		preload_named(plan, arena, &request->snippet);
	if (request->lasting || has_code)
		preload_late(plan, arena, policy, request);
	if (has_code && !request->lasting)
		preload_codecs(plan, arena, &request->snippet);
}
