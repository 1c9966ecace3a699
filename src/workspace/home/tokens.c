/* Hides the files of shown toolchains in which package managers keep tokens: names of a table, at the places of a table.
 * It opens no file, and looks into no folder that the tables' patterns do not lead to. */
#include "workspace/home/tokens.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/listing.h"
#include "base/path.h"
#include "policy/toolchain_table.h"

struct token_search {
	struct aj_request *request;
	const struct aj_policy *policy;
	struct aj_arena *arena;
	char path[PATH_MAX]; /* where the search is */
};
typedef void found_fn(struct token_search *);

/* Hide the file in each folder that shows it. A link's file is hidden where that file is; a link to elsewhere leads nowhere in
 * the jail. */
static void hide(struct token_search *s)
{
	char real[PATH_MAX];
	struct aj_request *r = s->request;
	bool same = r->workspace && s->policy->workspace_at == AJ_AT_SAME;
	if (!realpath(s->path, real) || (same && aj_path_within(real, r->workspace)))
		return;
	for (size_t i = 0; i < r->tools.count; i++) {
		const char *rest = aj_path_rest(real, r->tools.items[i].source);
		if (!rest || !*rest)
			continue;
		const char *target = aj_printf(s->arena, "%s%s", r->tools.items[i].target, rest);
		bool known = false;
		for (size_t j = 0; j < r->hidden.count && !known; j++)
			known = strcmp(r->hidden.items[j], target) == 0;
		if (!known)
			*AJ_PUSH(s->arena, &r->hidden) = target;
	}
}

/* Go from the folder, the first `at` bytes of the search's path, to a name in it. */
static bool append_name(struct token_search *s, size_t at, const char *name)
{
	size_t room = sizeof s->path - at;
	if ((size_t)snprintf(s->path + at, room, "/%s", name) < room)
		return true;
	s->path[at] = '\0';
	return false;
}

/* Call `found` with the search at each path below the present one that fits. */
static void expand(struct token_search *s, const char *pattern, found_fn *found)
{
	size_t bytes = strcspn(pattern, "/"), at = strlen(s->path);
	const char *part = aj_strndup(s->arena, pattern, bytes), *rest = pattern + bytes + (pattern[bytes] == '/');
	struct stat st;
	if (!*pattern) {
		found(s);
		return;
	}
	bool any = strchr(part, '*');
	cleanup_listing struct aj_listing entries = any ? aj_listing_open(s->path) : (struct aj_listing){ 0 };
	for (const struct dirent *e; (e = aj_listing_next(&entries)); s->path[at] = '\0')
		if (e->d_type != DT_REG && fnmatch(part, e->d_name, FNM_NOESCAPE) == 0 && append_name(s, at, e->d_name))
			expand(s, rest, found);
	if (entries.error && entries.error != ENOENT && entries.error != ENOTDIR)
		hide(s); /* a jail could guess a name in a folder that cannot be listed */
	else if (!any && append_name(s, at, part) && lstat(s->path, &st) == 0 && (pattern[bytes] || !S_ISDIR(st.st_mode)))
		expand(s, rest, found);
	s->path[at] = '\0';
}

/* The same for many patterns, for most of which there is nothing: the folder is read once. One that cannot be listed is asked for
 * each. */
static void expand_all(struct token_search *s, const char *const patterns[], found_fn *found)
{
	size_t at = strlen(s->path);
	cleanup_listing struct aj_listing entries = aj_listing_open(s->path);
	for (const struct dirent *e; (e = aj_listing_next(&entries));)
		for (size_t i = 0; patterns[i]; i++) {
			size_t bytes = strcspn(patterns[i], "/");
			bool fits = strncmp(e->d_name, patterns[i], bytes) == 0 && !e->d_name[bytes];
			if (fits && (patterns[i][bytes] || e->d_type != DT_DIR) && append_name(s, at, e->d_name))
				expand(s, patterns[i] + bytes + (patterns[i][bytes] == '/'), found);
			s->path[at] = '\0';
		}
	for (size_t i = 0; entries.error && patterns[i]; i++)
		expand(s, patterns[i], found);
}

static void each_secret(struct token_search *s)
{
	expand_all(s, aj_toolchain_secrets, hide);
}

void aj_tokens_hide(struct aj_request *request, const struct aj_policy *policy, const char *source, const char *name,
                    struct aj_arena *arena)
{
	struct token_search s = { .request = request, .policy = policy, .arena = arena };
	const char *own = strrchr(name, '/') + 1;
	if (strlen(source) >= sizeof s.path)
		return;
	memcpy(s.path, source, strlen(source) + 1);
	each_secret(&s);
	expand_all(&s, aj_toolchain_prefixes, each_secret);
	for (size_t i = 0; aj_toolchain_prefixes[i]; i++) {
		const char *rest = strchr(aj_toolchain_prefixes[i], '/') + 1;
		size_t bytes = (size_t)(rest - 1 - aj_toolchain_prefixes[i]);
		if (strlen(own) == bytes && strncmp(own, aj_toolchain_prefixes[i], bytes) == 0)
			expand(&s, rest, each_secret);
	}
}
