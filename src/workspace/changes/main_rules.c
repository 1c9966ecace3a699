/* Rules for the changes in the main repository of a linked worktree: which of them are objects, references and the worktree's own state,
 * which are applied as one, and which require approval by name or are never applied. A path without a rule requires approval.
 * It opens no file. */
#include "workspace/changes/main_rules.h"

#include <limits.h>
#include <string.h>
#include <strings.h>

#include "base/path.h"
#include "workspace/changes/needs_approval.h"

static const char replaced[] = "the repository has something else of that name, and keeps that",
		  kept[] = "the repository keeps the objects that it has", made_anew[] = "git makes it anew from the objects",
		  unfinished[] = "git has left it unfinished", a_mode[] = "modes of a repository are the host's",
		  of_main[] = "it is a part of the main working tree", of_other[] = "it is a part of another working tree",
		  programs[] = "git runs programs by it",
		  unknown[] = "it is none of the objects and references that are applied as a whole",
		  no_file[] = "git keeps a plain file there",
		  another_type[] = "a file stands in place of a folder there, or a folder in place of a file",
		  deletes_ref[] = "it deletes a reference", deletes_log[] = "it deletes the log of a reference";

static struct aj_main_rule rule(enum aj_main_verdict verdict, const char *why)
{
	return (struct aj_main_rule){ .verdict = verdict, .why = why };
}

static struct aj_main_rule part(enum aj_main_content content, bool own)
{
	return (struct aj_main_rule){ .verdict = AJ_MAIN_PART, .content = content, .own = own };
}

static bool is_hex(const char *text, size_t bytes)
{
	return strspn(text, "0123456789abcdef") >= bytes;
}

static bool ends(const char *text, const char *end)
{
	size_t bytes = strlen(text), end_bytes = strlen(end);
	return bytes >= end_bytes && strcmp(text + bytes - end_bytes, end) == 0;
}

/* --- objects --- */

static struct aj_main_rule rule_of_object(const char *name, const struct aj_change *c)
{
	size_t bytes = strlen(name);
	bool fan = bytes >= 2 && is_hex(name, 2);
	struct aj_main_rule of_pack = rule(AJ_MAIN_HOLDS, "git may read objects of a new pack in place of those that the repository has");
	of_pack.content = AJ_MAIN_OBJECT;
	if (ends(name, "alternates") || ends(name, ".promisor"))
		return rule(AJ_MAIN_SPOILS, "it makes git find objects in another place");
	if (c->kind == AJ_CHANGE_DELETED)
		return rule(AJ_MAIN_REFUSED, kept);
	if (c->kind == AJ_CHANGE_TYPE && S_ISDIR(c->was.st_mode)) /* what the references name may lie behind it */
		return rule(AJ_MAIN_SPOILS, another_type);
	if (c->kind != AJ_CHANGE_ADDED)
		return rule(AJ_MAIN_REFUSED, c->kind == AJ_CHANGE_MODE ? a_mode : replaced);
	if ((fan && bytes == 2) || strcmp(name, "pack") == 0)
		return S_ISDIR(c->is.st_mode) ? part(AJ_MAIN_OBJECT, false) : rule(AJ_MAIN_SPOILS, another_type);
	if (fan && name[2] == '/' && is_hex(name + 3, bytes - 3) && (bytes == 41 || bytes == 65))
		return S_ISREG(c->is.st_mode) ? part(AJ_MAIN_OBJECT, false) : rule(AJ_MAIN_SPOILS, no_file);
	if (strncmp(name, "pack/pack-", 10) == 0 && S_ISREG(c->is.st_mode) && (ends(name, ".pack") || ends(name, ".idx")))
		return of_pack;
	return rule(AJ_MAIN_REFUSED, strstr(name, "tmp_") || strstr(name, ".tmp") ? unfinished : made_anew);
}

/* --- references and their logs --- */

static bool ref_part_valid(const char *part, size_t bytes)
{
	if (bytes == 0 || bytes > NAME_MAX - (sizeof ".lock" - 1) || part[0] == '.' || part[0] == '-' || part[bytes - 1] == '.' ||
	    (bytes >= 5 && strncasecmp(part + bytes - 5, ".lock", 5) == 0))
		return false;
	for (size_t i = 0; i < bytes; i++)
		if ((unsigned char)part[i] <= ' ' || part[i] == 0x7f || strchr("~^:?*[\\", part[i]) ||
		    (i && strncmp(part + i - 1, "..", 2) == 0) || (i && strncmp(part + i - 1, "@{", 2) == 0))
			return false;
	return true;
}

bool aj_main_ref_valid(const char *name)
{
	if (!aj_path_below(name, "refs"))
		return false;
	for (const char *at = name;; at++) {
		size_t bytes = strcspn(at, "/");
		if (!ref_part_valid(at, bytes))
			return false;
		at += bytes;
		if (!*at)
			return true;
	}
}

/* References that each working tree has for itself. */
static bool is_private_ref(const char *name)
{
	return aj_path_within(name, "refs/bisect") || aj_path_within(name, "refs/worktree") || aj_path_within(name, "refs/rewritten");
}

/* git reads some others by itself: refs/main before the branch main, refs/notes in place of what a filter prints. */
static bool is_known_ref(const char *name)
{
	return aj_path_within(name, "refs/heads") || aj_path_within(name, "refs/tags") || aj_path_within(name, "refs/remotes") ||
	       strcmp(name, "refs/stash") == 0;
}

/* A file below `refs`, or its log: then `below` has a `logs/` before `name`. */
static struct aj_main_rule rule_of_ref(const char *name, bool log, bool own, const struct aj_change *c)
{
	bool head = log && own && strcmp(name, "HEAD") == 0, folder = S_ISDIR(c->is.st_mode ? c->is.st_mode : c->was.st_mode);
	if (strcmp(name, "refs") == 0 && (c->kind == AJ_CHANGE_ADDED || c->kind == AJ_CHANGE_MODE) && folder)
		return c->kind == AJ_CHANGE_MODE ? rule(AJ_MAIN_REFUSED, a_mode) : part(AJ_MAIN_DATA, own);
	if (own ? !head && !is_private_ref(name) : is_private_ref(name))
		return own ? rule(AJ_MAIN_HELD, unknown) : rule(AJ_MAIN_REFUSED, of_main);
	if (aj_path_within(name, "refs/replace"))
		return rule(AJ_MAIN_HELD, "git reads other objects in place of those that it names");
	if (!head && !aj_main_ref_valid(name))
		return rule(AJ_MAIN_SPOILS, "git takes the name for none of a reference");
	if (!own && !is_known_ref(name))
		return rule(AJ_MAIN_HELD, unknown);
	if (c->kind == AJ_CHANGE_TYPE)
		return rule(AJ_MAIN_SPOILS, another_type);
	if (c->kind == AJ_CHANGE_MODE)
		return rule(AJ_MAIN_REFUSED, a_mode);
	if (folder && c->kind == AJ_CHANGE_DELETED)
		return rule(AJ_MAIN_REFUSED, "git of the host removes empty folders of references itself");
	if (folder)
		return part(AJ_MAIN_DATA, own);
	if (c->kind == AJ_CHANGE_DELETED && (log || !own))
		return rule(AJ_MAIN_HELD, log ? deletes_log : deletes_ref);
	return part(log ? AJ_MAIN_LOG : AJ_MAIN_REF, own);
}

/* --- the state of a working tree --- */

static bool is_state(const char *name)
{
	static const char *const names[] = { "ORIG_HEAD",   "FETCH_HEAD",  "MERGE_HEAD",       "MERGE_MSG",      "MERGE_MODE",
		                             "MERGE_RR",    "SQUASH_MSG",  "REVERT_HEAD",      "AUTO_MERGE",     "COMMIT_EDITMSG",
		                             "TAG_EDITMSG", "REBASE_HEAD", "CHERRY_PICK_HEAD", "MERGE_AUTOSTASH" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* `name`: in the folder of the worktree. */
static struct aj_main_rule rule_of_own(const char *name, const struct aj_change *c)
{
	bool index = strcmp(name, "index") == 0 || strncmp(name, "sharedindex.", 12) == 0, head = strcmp(name, "HEAD") == 0;
	bool folder = S_ISDIR(c->is.st_mode ? c->is.st_mode : c->was.st_mode);
	if (strcmp(name, "logs") == 0 && folder && c->kind == AJ_CHANGE_ADDED)
		return part(AJ_MAIN_DATA, true);
	if (aj_path_below(name, "logs"))
		return rule_of_ref(name + 5, true, true, c);
	if (aj_path_within(name, "refs"))
		return rule_of_ref(name, false, true, c);
	if (strcmp(name, "gitdir") == 0 || strcmp(name, "commondir") == 0)
		return rule(AJ_MAIN_REFUSED, "by it git finds the working tree and the repository");
	if (aj_path_within(name, "reftable"))
		return rule(AJ_MAIN_SPOILS, "references in this format are not applied");
	if (!index && !head && !is_state(name)) {
		/* git has evaluated parts of a bisection's state as a text of the shell. */
		size_t bytes = strncmp(name, "BISECT_", 7) == 0 ? strlen(name) : aj_git_obeyed(name);
		struct aj_main_rule held = rule(AJ_MAIN_HELD, bytes ? programs : unknown);
		held.held_bytes = bytes ? bytes : strcspn(name, "/");
		return held;
	}
	if (c->kind == AJ_CHANGE_MODE)
		return rule(AJ_MAIN_REFUSED, a_mode);
	if (c->kind == AJ_CHANGE_TYPE || folder || (c->is.st_mode && !S_ISREG(c->is.st_mode)))
		return rule(AJ_MAIN_SPOILS, no_file);
	if (c->kind == AJ_CHANGE_DELETED && head)
		return rule(AJ_MAIN_SPOILS, "the working tree would be on no branch");
	if (c->kind == AJ_CHANGE_DELETED && index)
		return rule(AJ_MAIN_HOLDS, "it deletes the index");
	return part(index ? AJ_MAIN_INDEX : head ? AJ_MAIN_HEAD : AJ_MAIN_DATA, true);
}

static struct aj_main_rule rule_of_worktree(const char *name, const char *worktree, const struct aj_change *c)
{
	const char *rest = aj_path_rest(name, worktree);
	if (!rest)
		return rule(AJ_MAIN_REFUSED, of_other);
	if (!*rest)
		return c->kind == AJ_CHANGE_MODE ? rule(AJ_MAIN_REFUSED, a_mode)
		                                 : rule(AJ_MAIN_SPOILS, "the working tree would be gone");
	struct aj_main_rule found = rule_of_own(rest + 1, c);
	if (found.held_bytes)
		found.held_bytes += (size_t)(rest + 1 - name) + sizeof "worktrees/" - 1;
	return found;
}

/* --- the repository --- */

/* State that each working tree has for itself, of the main one. */
static bool is_of_main(const char *below)
{
	return strcmp(below, "HEAD") == 0 || strcmp(below, "index") == 0 || strncmp(below, "BISECT_", 7) == 0 ||
	       strncmp(below, "sharedindex.", 12) == 0 || is_state(below) || strcmp(below, "logs/HEAD") == 0;
}

static bool ends_like_a_lock(const char *name)
{
	size_t bytes = strlen(name);
	return bytes > 5 && strcasecmp(name + bytes - 5, ".lock") == 0;
}

static struct aj_main_rule rule_of(const char *below, const char *worktree, const struct aj_change *c)
{
	static const char *const tops[] = { "objects", "refs", "logs", "worktrees" };
	for (size_t i = 0; i < sizeof tops / sizeof *tops; i++)
		if (strcmp(below, tops[i]) == 0 && c->kind != AJ_CHANGE_ADDED)
			return c->kind == AJ_CHANGE_MODE ? rule(AJ_MAIN_REFUSED, a_mode)
			                                 : rule(AJ_MAIN_SPOILS, "the repository would be none without it");
	if (is_of_main(below))
		return rule(AJ_MAIN_REFUSED, of_main);
	if (aj_path_below(below, "objects"))
		return rule_of_object(below + 8, c);
	if (aj_path_below(below, "refs"))
		return rule_of_ref(below, false, false, c);
	if (strcmp(below, "logs") == 0)
		return S_ISDIR(c->is.st_mode) ? part(AJ_MAIN_DATA, false) : rule(AJ_MAIN_SPOILS, another_type);
	if (aj_path_below(below, "logs"))
		return rule_of_ref(below + 5, true, false, c);
	if (aj_path_below(below, "worktrees"))
		return rule_of_worktree(below + 10, worktree, c);
	if (aj_path_within(below, "reftable"))
		return rule(AJ_MAIN_SPOILS, "references in this format are not applied");
	bool packed = strcmp(below, "packed-refs") == 0;
	if (packed || strcmp(below, "shallow") == 0) {
		if (c->kind == AJ_CHANGE_MODE)
			return rule(AJ_MAIN_REFUSED, a_mode);
		bool plain = c->kind != AJ_CHANGE_TYPE && !S_ISDIR(c->was.st_mode) && (!c->is.st_mode || S_ISREG(c->is.st_mode));
		return !plain ? rule(AJ_MAIN_SPOILS, no_file)
		     : packed && c->kind == AJ_CHANGE_DELETED
		         ? rule(AJ_MAIN_SPOILS, "git never removes it, and all references in it would be gone")
		     : packed ? rule(AJ_MAIN_HOLDS, "it packs, moves or deletes references")
		              : rule(AJ_MAIN_HOLDS, "git takes commits for the first ones by it");
	}
	size_t bytes = aj_git_obeyed(below);
	struct aj_main_rule held = rule(AJ_MAIN_HELD, bytes ? programs : unknown);
	held.held_bytes = bytes ? bytes : strcspn(below, "/");
	return held;
}

struct aj_main_rule aj_main_rule(const char *below, const char *worktree, const struct aj_change *c)
{
	struct aj_main_rule found = rule_of(below, worktree, c);
	bool inside = found.verdict != AJ_MAIN_HELD && found.verdict != AJ_MAIN_REFUSED;
	if (c->is.st_mode && (aj_git_lock(below) || ends_like_a_lock(below)))
		return rule(AJ_MAIN_REFUSED, "git has left this lock file: with it, git of the host would refuse to work");
	if (S_ISLNK(c->is.st_mode))
		return rule(inside ? AJ_MAIN_SPOILS : AJ_MAIN_REFUSED, "git writes through a link");
	if (c->refused) /* by its type, or since it cannot be read */
		return rule(inside ? AJ_MAIN_SPOILS : AJ_MAIN_REFUSED, c->refused);
	if (c->is.st_mode && !S_ISREG(c->is.st_mode) && !S_ISDIR(c->is.st_mode))
		return rule(inside ? AJ_MAIN_SPOILS : AJ_MAIN_REFUSED, no_file);
	if (found.verdict == AJ_MAIN_HELD && !found.held_bytes)
		found.held_bytes = strlen(below);
	return found;
}
