/* Asks the host's git. The objects are the host's, which its git has checked; their texts are those of runs. */
#include "cli/changes/bases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/changes/host_repository.h"
#include "workspace/changes/history.h"
#include "workspace/git/host_git.h"

enum { BRANCHES_MAX = 20 };

struct aj_asked_repository {
	const char *git;
	char *refs; /* lines "OID NAME\x02SUBJECT" */
};

static const char *ask(const struct aj_git *git, const char *const *words, struct aj_arena *arena)
{
	return aj_git_line(git, words, arena, NULL, &(struct aj_error){ 0 });
}

static const char *refs_of(struct aj_run_bases *b, const struct aj_git *git)
{
	static const char *const words[] = { "for-each-ref", "--format=%(objectname) %(refname)%02%(subject)", "refs/agentjail",
		                             NULL };
	for (size_t i = 0; i < b->repositories.count; i++)
		if (strcmp(b->repositories.items[i].git, git->dir) == 0)
			return b->repositories.items[i].refs;
	struct aj_buffer out = { 0 };
	struct aj_error none = { 0 };
	if (aj_git_run(git, words, NULL, &out, &none) != 0)
		out.bytes = 0;
	struct aj_asked_repository *r = AJ_PUSH(&b->arena, &b->repositories);
	r->git = aj_strdup(&b->arena, git->dir);
	r->refs = aj_strndup(&b->arena, out.bytes ? out.data : "", out.bytes);
	aj_buffer_free(&out);
	return r->refs;
}

/* The run's HEAD comes first where it was fetched: on a branch it is one of the others, too. */
static void read_branches(const char *refs, const char *id, struct aj_run_base *ret, const char **ret_head,
                          struct aj_arena *arena)
{
	const char *prefix = aj_history_prefix(id, arena);
	size_t bytes = strlen(prefix);
	char *copy = aj_strdup(arena, refs), *line;
	while ((line = strsep(&copy, "\n"))) {
		char *name = strchr(line, ' '), *subject = name ? strchr(name, '\x02') : NULL;
		if (!subject || strncmp(name + 1, prefix, bytes) != 0)
			continue;
		*name++ = *subject++ = '\0';
		const char *rest = name + bytes;
		if (strcmp(rest, "HEAD") == 0)
			*ret_head = line;
		bool branch = strcmp(rest, "index") != 0 && strncmp(rest, "stash/", 6) != 0 && strncmp(rest, "tags/", 5) != 0 &&
		              strcmp(rest, "HEAD") != 0;
		if (branch && ret->branches.count < BRANCHES_MAX)
			*AJ_PUSH(arena, &ret->branches) = (struct aj_run_branch){ name + sizeof "refs/" - 1, line, subject };
	}
}

void aj_run_bases_of(struct aj_run_bases *b, const struct aj_change_state *state, struct aj_run_base *ret)
{
	struct aj_host_repository found;
	const char *head = NULL;
	*ret = (struct aj_run_base){ 0 };
	aj_host_repository_find(&state->record, &b->arena, &found);
	if (!found.git)
		return;
	const struct aj_git git = { .dir = found.git, .common = found.common };
	read_branches(refs_of(b, &git), state->id, ret, &head, &b->arena);
	const char *tip = head ? head : ret->branches.count ? ret->branches.items[0].oid : NULL;
	if (!tip)
		return;
	const char *const merge_base[] = { "merge-base", "HEAD", tip, NULL };
	const char *base = ask(&git, merge_base, &b->arena);
	if (!base)
		return;
	const char *const text[] = { "log", "-1", "--no-show-signature", "--format=%cs%x02%s", base, "--", NULL };
	const char *const count[] = { "rev-list", "--count", aj_printf(&b->arena, "%s..%s", base, tip), "--", NULL };
	const char *line = ask(&git, text, &b->arena), *commits = ask(&git, count, &b->arena);
	const char *subject = line ? strchr(line, '\x02') : NULL;
	ret->oid = base;
	ret->tree = found.tree;
	ret->date = subject ? aj_strndup(&b->arena, line, (size_t)(subject - line)) : "";
	ret->subject = subject ? subject + 1 : "";
	ret->commits = commits ? strtoul(commits, NULL, 10) : 0;
}

void aj_run_bases_free(struct aj_run_bases *b)
{
	aj_arena_free(&b->arena);
}
