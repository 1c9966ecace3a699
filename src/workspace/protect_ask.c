/* Answers how a policy would treat one place of a workspace, without a run: for `policy explain` and for warnings.
 * It creates no placeholder and takes no lock. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/protected_places.h"
#include "workspace/expand.h"
#include "workspace/protect.h"

struct question {
	struct aj_expansion x;
	const char *path;
	enum aj_protect_answer answer;
};

static int on_place_asked(struct aj_expansion *x, int dir, const char *name, const char *path, const struct stat *st, bool folder,
                          bool starred)
{
	struct question *q = (struct question *)x;
	if (!aj_path_within(q->path, path))
		return 0;
	bool repository = aj_beneath_has(dir, "HEAD");
	if (!st && starred && !repository && aj_expand_of_git(x->pattern))
		return 0;
	bool held = st ? !S_ISLNK(st->st_mode) : aj_protect_blank_for(x->p, repository, path, name, folder, starred) != NULL;
	q->answer = held ? AJ_PROTECT_HELD : AJ_PROTECT_WATCHED;
	return 0;
}

enum aj_protect_answer aj_protect_ask(const struct aj_plan *plan, const char *pattern, const char *path)
{
	struct aj_arena arena = { 0 };
	struct aj_error ignored = { 0 };
	struct aj_protect p = { .plan = plan,
		                .workspace = aj_beneath_open(AT_FDCWD, plan->writable_workspace, O_PATH | O_DIRECTORY),
		                .main = -1 };
	if (plan->main_repository)
		p.main = aj_beneath_open(AT_FDCWD, plan->main_repository, O_PATH | O_DIRECTORY);
	p.blank = p.workspace >= 0 && aj_protect_is_blank(p.workspace);
	struct question q = { { .p = &p, .arena = &arena, .pattern = pattern, .found = on_place_asked, .err = &ignored },
		              path,
		              AJ_PROTECT_FREE };
	/* A pattern with too many places stops the run, so nothing can be written either. */
	if (p.workspace >= 0 && aj_expand_one(&q.x) < 0)
		q.answer = AJ_PROTECT_HELD;
	aj_close(&p.workspace);
	aj_close(&p.main);
	aj_arena_free(&arena);
	return q.answer;
}

static int on_place_unheld(struct aj_expansion *x, int dir, const char *name, const char *path, const struct stat *st,
                           bool folder, bool starred)
{
	(void)dir, (void)name, (void)path, (void)folder, (void)starred;
	((struct question *)x)->path = st ? x->pattern : ((struct question *)x)->path;
	return 0;
}

const char *aj_protect_unheld(const char *folder, const char *const *patterns, size_t count)
{
	struct aj_arena arena = { 0 };
	struct aj_error ignored = { 0 };
	struct aj_protect p = { .workspace = aj_beneath_open(AT_FDCWD, folder, O_PATH | O_DIRECTORY), .main = -1 };
	struct question q = { { .p = &p, .arena = &arena, .found = on_place_unheld, .err = &ignored }, NULL, AJ_PROTECT_FREE };
	for (size_t at = 0; p.workspace >= 0 && !q.path && (q.x.pattern = aj_protect_next(patterns, count, &at));)
		if (aj_expand_one(&q.x) < 0)
			break;
	aj_close(&p.workspace);
	aj_arena_free(&arena);
	return q.path;
}
