/* The walk that leaves out what has not changed sees what the whole walk sees: trees are made, walked, changed at random and walked in
 * both ways. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "workspace/git/search.h"

enum { FOLDERS = 150, CHANGES = 4, ROUNDS = 20, BUDGET_MS = 60000 };

static char root[] = "/tmp/aj-repos.XXXXXX";
static char folders[2 * FOLDERS][256]; /* those that were made; some are elsewhere by now */
static size_t count;

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st, (void)kind, (void)at;
	return remove(path);
}

static void put(const char *folder, const char *name, const char *text)
{
	char path[600];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "w");
	if (!f)
		return; /* its folder has gone, or it is one */
	fputs(text, f);
	fclose(f);
}

static void make_folder(const char *parent)
{
	static const char *const names[] = { "a", "b", "c", ".git", "objects", "refs", "deep" };
	char *path = folders[count];
	if (count == sizeof folders / sizeof *folders)
		return;
	snprintf(path, sizeof folders[0], "%s/%s%zu", parent, names[(size_t)rand() % 7], count % 3);
	path[strlen(path) - (rand() % 2)] = '\0';
	if (strlen(path) < 200 && mkdir(path, 0755) == 0)
		count++;
}

static const char *any(void)
{
	struct stat st;
	for (int i = 0; count && i < 50; i++) {
		const char *folder = folders[(size_t)rand() % count];
		if (lstat(folder, &st) == 0 && S_ISDIR(st.st_mode))
			return folder;
	}
	return root;
}

static void change(void)
{
	const char *folder = any();
	char path[600];
	switch (rand() % 8) {
	case 0:
		put(folder, "HEAD", "ref: refs/heads/main\n");
		break;
	case 1:
		put(folder, "config", rand() % 2 ? "[core]\nfsmonitor = x\n" : "[core]\nhooksPath = x\n");
		break;
	case 2:
		put(folder, ".git", "gitdir: ../x\n");
		break;
	case 3:
		make_folder(folder);
		break;
	case 4:
		snprintf(path, sizeof path, "%s/moved%d", any(), rand() % 5);
		if (folder != root && rename(folder, path) == 0 && count < sizeof folders / sizeof *folders)
			snprintf(folders[count++], sizeof folders[0], "%.250s", path);
		break;
	case 5:
		if (folder != root)
			renameat2(AT_FDCWD, folder, AT_FDCWD, any(), RENAME_EXCHANGE);
		break;
	case 6:
		snprintf(path, sizeof path, "%s/.git", folder);
		if (symlink("../a0", path) < 0)
			unlink(path);
		break;
	default:
		if (folder != root && rand() % 3 == 0)
			nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	}
}

static bool same(const struct aj_repos *a, const struct aj_repos *b)
{
	size_t found = 0;
	for (size_t i = 0; i < a->list.count; i++)
		for (size_t k = 0; k < b->list.count; k++)
			found += strcmp(a->list.items[i].path, b->list.items[k].path) == 0 &&
			         strcmp(a->list.items[i].kind, b->list.items[k].kind) == 0 &&
			         strcmp(a->list.items[i].sum, b->list.items[k].sum) == 0;
	return found == a->list.count && found == b->list.count;
}

Test(repos, what_is_left_out_has_not_changed)
{
	cr_assert(mkdtemp(root));
	srand((unsigned)time(NULL));
	unsigned seed = (unsigned)rand();
	srand(seed);
	for (int i = 0; i < 4; i++)
		make_folder(root);
	for (int i = 0; count < FOLDERS && i < 10000; i++)
		make_folder(any());
	for (int i = 0; i < 30; i++)
		change();
	nanosleep(&(struct timespec){ .tv_sec = 2 }, NULL); /* so that what stays is old enough to be left out */
	int workspace = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct aj_arena arena = { 0 };
	struct aj_repos before;
	aj_repos_look(&before, &arena, workspace, root, NULL, BUDGET_MS);
	size_t dated = 0, repositories = before.list.count;
	for (size_t i = 0; i < before.folders.count; i++)
		dated += before.folders.items[i].changed.tv_sec != 0;
	for (int round = 0; round < ROUNDS; round++) {
		struct aj_repos whole, quick;
		for (int i = 0; i < CHANGES; i++)
			change();
		aj_repos_look(&whole, &arena, workspace, root, NULL, BUDGET_MS);
		aj_repos_look(&quick, &arena, workspace, root, &before, BUDGET_MS);
		cr_expect(same(&whole, &quick), "seed %u, round %d: %zu and %zu repositories", seed, round, whole.list.count,
		          quick.list.count);
		repositories += whole.list.count;
		aj_repos_free(&whole);
		aj_repos_free(&quick);
	}
	cr_expect(repositories > 0);
	/* On a file system whose times are not believed everything is listed, and this is no test of it. */
	if (!dated)
		fprintf(stderr, "the file system of /tmp tells no changes: nothing was left out\n");
	aj_repos_free(&before);
	close(workspace);
	aj_arena_free(&arena);
	nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
