/* An error in the list of a folder is no end: what walks a folder says that entries are missing, or fails. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/listing.h"
#include "base/tree/remove.h"
#include "policy/load/policy_names.h"
#include "workspace/git/search.h"
#include "workspace/growth.h"
#include "workspace/hard_links.h"
#include "workspace/home/kept.h"

static char root[] = "/tmp/aj-listing.XXXXXX";
static struct aj_arena arena;
static struct aj_error err;
static int dir;

/* The folder of which no list is whole. */
static struct stat broken;

struct dirent *__real_readdir(DIR *entries);
struct dirent *__wrap_readdir(DIR *entries);
struct dirent *__wrap_readdir(DIR *entries)
{
	struct stat st;
	if (broken.st_ino && fstat(dirfd(entries), &st) == 0 && st.st_ino == broken.st_ino && st.st_dev == broken.st_dev) {
		errno = EIO;
		return NULL;
	}
	return __real_readdir(entries);
}

static void break_folder(const char *path)
{
	cr_assert_eq(stat(path, &broken), 0, "%s", path);
}

static void make(const char *path)
{
	for (char *slash = strchr(path, '/'), name[200]; slash; slash = strchr(slash + 1, '/')) {
		snprintf(name, sizeof name, "%.*s", (int)(slash - path), path);
		cr_assert(mkdir(name, 0755) == 0 || errno == EEXIST, "%s", name);
	}
	FILE *f = fopen(path, "w");
	cr_assert_not_null(f, "%s", path);
	fclose(f);
}

static void setup(void)
{
	cr_assert_not_null(mkdtemp(root));
	cr_assert_eq(chdir(root), 0);
	cr_assert_geq(dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), 0);
}

static void teardown(void)
{
	char command[100];
	memset(&broken, 0, sizeof broken);
	aj_arena_free(&arena);
	snprintf(command, sizeof command, "rm -rf %s", root);
	cr_expect_eq(system(command), 0); // NOLINT(cert-env33-c): the folder's name is ours
}

TestSuite(listing, .init = setup, .fini = teardown);

Test(listing, an_end_is_no_error)
{
	make("f/a");
	errno = EINVAL;
	cleanup_listing struct aj_listing entries = aj_listing_open("f");
	cr_expect_str_eq(aj_listing_next(&entries)->d_name, "a");
	cr_expect_null(aj_listing_next(&entries));
	cr_expect_eq(entries.error, 0);
}

Test(listing, errors)
{
	make("f/a");
	break_folder("f");
	cleanup_listing struct aj_listing entries = aj_listing_open("f"), none = aj_listing_open("g"), file = aj_listing_open("f/a");
	cr_expect_null(aj_listing_next(&entries));
	cr_expect_eq(entries.error, EIO);
	cr_expect_null(aj_listing_next(&none));
	cr_expect_eq(none.error, ENOENT);
	cr_expect_eq(file.error, ENOTDIR);
}

Test(listing, names_of_policies)
{
	aj_policy_names names = { 0 };
	make("f/a.toml");
	cr_expect_eq(aj_policy_names_in("missing", &arena, &names, &err), 0);
	cr_expect_eq(aj_policy_names_in("f", &arena, &names, &err), 0);
	cr_expect_eq(names.count, 1);
	break_folder("f");
	cr_expect_eq(aj_policy_names_in("f", &arena, &names, &err), -1);
	cr_expect_eq(err.errnum, EIO);
}

Test(listing, kept_homes)
{
	aj_kept_list homes;
	make("agentjail/homes/one/record.json");
	cr_assert_eq(setenv("XDG_STATE_HOME", root, 1), 0);
	cr_expect_eq(aj_kept_list_all(&homes, &arena, &err), 0);
	cr_expect_eq(homes.count, 1);
	break_folder("agentjail/homes");
	cr_expect_eq(aj_kept_list_all(&homes, &arena, &err), -1);
	cr_expect_eq(err.errnum, EIO);
}

Test(listing, removal)
{
	make("f/g/a");
	break_folder("f/g");
	cr_expect_eq(aj_tree_remove(dir, "f"), -1);
	cr_expect_eq(errno, EIO);
}

static void on_link(void *arg, const char *path, const struct stat *st)
{
	(void)path, (void)st;
	++*(int *)arg;
}

Test(listing, hard_links)
{
	size_t left = 100;
	int found = 0;
	make("f/g/a");
	cr_assert_eq(link("f/g/a", "b"), 0);
	cleanup_fd int f = open("f", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_expect(aj_hard_links_each(f, "f", &arena, &left, on_link, &found));
	cr_expect_eq(found, 1);
	break_folder("f/g");
	cr_expect_not(aj_hard_links_each(f, "f", &arena, &left, on_link, &found));
}

/* What the walk finds of the repository a/.git; the runs as JSON. */
static const char *look(struct aj_repos *repos)
{
	aj_repos_look(repos, &arena, dir, root, NULL, 60000);
	cr_assert_eq(repos->list.count, 1);
	char *text = json_dumps(repos->list.items[0].runs, 0);
	const char *copy = aj_strdup(&arena, text);
	free(text);
	return copy;
}

Test(listing, a_repository_in_a_folder)
{
	struct aj_repos repos;
	make("a/.git/HEAD");
	look(&repos);
	cr_expect_str_eq(repos.why, "");
	aj_repos_free(&repos);
	break_folder("a");
	look(&repos);
	cr_expect_str_eq(repos.why, "a folder cannot be listed: a");
	aj_repos_free(&repos);
}

Test(listing, what_a_repository_runs)
{
	static const char *const folders[] = { "a/.git/hooks", "a/.git", "a/.git/refs" };
	struct aj_repos before, now;
	make("a/.git/HEAD");
	make("a/.git/hooks/pre-commit");
	make("a/.git/refs/x");
	cr_expect_null(strstr(look(&before), "cannot be listed"));
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		break_folder(folders[i]);
		cr_expect(strstr(look(&now), "cannot be listed"), "%s", folders[i]);
		json_t *changes = aj_repos_changes(&before, &now);
		cr_expect_eq(json_array_size(changes), 1, "%s", folders[i]);
		json_decref(changes);
		aj_repos_free(&now);
	}
	aj_repos_free(&before);
}

Test(listing, worktrees)
{
	struct aj_repos repos = { 0 };
	make("main/worktrees/x/HEAD");
	cleanup_fd int repository = open("main", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	break_folder("main/worktrees");
	aj_repos_add(&repos, &arena, repository, "main");
	cr_expect_str_eq(repos.why, "a folder cannot be listed: main/worktrees");
	aj_repos_free(&repos);
}

Test(listing, growth)
{
	struct aj_plan plan = { .writable_workspace = root, .workspace_bytes = 1 << 20 };
	struct aj_built built = { .plan = &plan };
	struct aj_growth *growth;
	const char *why = NULL;
	make("f/a");
	cr_assert_eq(aj_growth_open(&growth, &built, &aj_growth_alone, 1000, &err), 0);
	for (int i = 0; i < 100; i++)
		cr_expect_null(aj_growth_turn(growth));
	break_folder("f");
	for (int i = 0; i < 100 && !why; i++)
		why = aj_growth_turn(growth);
	cr_expect_str_eq(why, "the workspace cannot be measured: a folder of it cannot be listed");
	aj_growth_close(growth);
}
