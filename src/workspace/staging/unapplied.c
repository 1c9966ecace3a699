/* Lists the unapplied changes of an earlier run, before a run continues with them.
 * It changes nothing. */
#include "workspace/staging/unapplied.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "workspace/changes/repositories.h"
#include "workspace/changes/walk.h"

enum { PENDING_MAX = 2000000, SHOWN_MAX = 5 };

struct collect {
	struct aj_unapplied *ret;
	struct aj_arena *arena;
	struct aj_error *err;
};

static int collect_change(void *arg, const struct aj_change *c)
{
	struct collect *collect = arg;
	struct aj_unapplied *ret = collect->ret;
	if (ret->paths.count >= PENDING_MAX)
		return aj_fail(collect->err, AJ_EXIT_SETUP, "changes", 0, "more than %d changes wait", PENDING_MAX);
	const char *path = aj_strdup(collect->arena, c->path);
	*AJ_PUSH(collect->arena, &ret->paths) = path;
	if (c->repository)
		*AJ_PUSH(collect->arena, &ret->repositories) = path;
	if (c->conflict)
		*AJ_PUSH(collect->arena, &ret->conflicts) = path;
	ret->files += aj_change_is_file(c);
	ret->any |= !c->refused;
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int aj_unapplied_read(struct aj_change_state *state, struct aj_arena *arena, struct aj_unapplied *ret, struct aj_error *err)
{
	struct collect collect = { ret, arena, err };
	*ret = (struct aj_unapplied){ 0 };
	if (aj_changes_walk(state, collect_change, &collect, err) < 0)
		return -1;
	if (ret->paths.count)
		qsort(ret->paths.items, ret->paths.count, sizeof *ret->paths.items, by_bytes);
	return 0;
}

bool aj_unapplied_has(const struct aj_unapplied *unapplied, const char *path)
{
	bool found = unapplied->paths.count && bsearch(&path, unapplied->paths.items, unapplied->paths.count,
	                                               sizeof *unapplied->paths.items, by_bytes) != NULL;
	for (size_t i = 0; i < unapplied->repositories.count && !found; i++)
		found = aj_repository_holds(unapplied->repositories.items[i], path);
	return found;
}

void aj_unapplied_text(const struct aj_unapplied *p, const char *id, char *out, size_t out_bytes)
{
	size_t used = (size_t)snprintf(out, out_bytes,
	                               "this run continues the changes of run `%s` (%llu %s); `--changes new` begins afresh", id,
	                               (unsigned long long)p->files, p->files == 1 ? "file" : "files");
	for (size_t i = 0; i < p->conflicts.count && i < SHOWN_MAX && used < out_bytes; i++) {
		char plain[100];
		aj_ascii(plain, sizeof plain, p->conflicts.items[i]);
		used += (size_t)snprintf(out + used, out_bytes - used, "%s`%s`",
		                         i ? ", " : "\n  changed by the host since, and the jail continues with its own: ",
		                         plain);
	}
	if (p->conflicts.count > SHOWN_MAX && used < out_bytes)
		snprintf(out + used, out_bytes - used, " and %zu more", p->conflicts.count - SHOWN_MAX);
}
