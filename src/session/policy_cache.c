/* Reads policies with their site's rules, and notices when a file is not the one any more that was read.
 * It never serves what it cannot vouch for: a stamp that differs in anything means reading again. */
#include "session/policy_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "jail/load_policy.h"
#include "plan/paths.h"
#include "policy/source.h"

static struct aj_file_id stamp_of(const char *path)
{
	struct stat st;
	struct aj_file_id file = { .path = path };
	if (stat(path, &st) < 0)
		return file;
	file.device = st.st_dev;
	file.inode = st.st_ino;
	file.bytes = st.st_size;
	file.changed = st.st_ctim;
	return file;
}

static bool same(const struct aj_file_id *a, const struct aj_file_id *b)
{
	return a->device == b->device && a->inode == b->inode && a->bytes == b->bytes && a->changed.tv_sec == b->changed.tv_sec &&
	       a->changed.tv_nsec == b->changed.tv_nsec;
}

static void file(struct aj_policy_version *e, const char *path)
{
	if (path)
		*AJ_PUSH(&e->arena, &e->files) = stamp_of(path);
}

/* What is read, and what would be if it came to be there. */
static void stamp_site(struct aj_policy_version *e, const char *site, const struct aj_ask *ask)
{
	file(e, AJ_SITE_FILE);
	file(e, site);
	file(e, ask->file);
	file(e, ask->local);
}

/* What it extends is known only when it was read. A change between the reading and the stamp would never be seen again, so each
 * file's bytes are looked at once more. */
static int stamp_policy(struct aj_policy_version *e, struct aj_error *err)
{
	for (size_t i = 0; i < e->site.path.count; i++)
		file(e, e->site.path.items[i]); /* a folder changes when a file comes into it */
	for (size_t i = 0; i < e->loaded.policy.files.count; i++) {
		const struct aj_policy_file *f = &e->loaded.policy.files.items[i];
		struct aj_diags diags = { .arena = &e->arena };
		struct aj_origin at = { f->file, 0, 0 };
		struct aj_source source;
		if (f->built_in)
			continue;
		file(e, f->file);
		if (aj_source_read(&source, f->file, false, &at, &diags) < 0 || strcmp(source.sha256, f->sha256) != 0)
			return aj_fail(err, AJ_EXIT_USAGE, "policy", 0, "`%s` changed while it was read", f->file);
	}
	return 0;
}

static int first_finding(const struct aj_diags *diags, struct aj_error *err)
{
	for (size_t i = 0; i < diags->list.count; i++) {
		const struct aj_diag *d = &diags->list.items[i];
		if (d->warning)
			continue;
		aj_fail(err, AJ_EXIT_USAGE, "policy", 0, "%s: %s", aj_origin_text(&d->at, diags->arena), d->message);
		if (d->advice)
			aj_advise(err, "%s", d->advice);
		return -1;
	}
	return aj_fail(err, AJ_EXIT_USAGE, "policy", 0, "it does not load");
}

struct aj_policy_version *aj_policy_version_read(const char *site, const struct aj_ask *ask, const char *rootfs, struct aj_error *err)
{
	struct aj_policy_version *e = calloc(1, sizeof *e);
	if (!e)
		abort();
	struct aj_diags diags = { .arena = &e->arena };
	struct aj_request request = { .rootfs = rootfs };
	e->references = 1;
	/* Before they are read: a change in between makes another reading, and never goes unseen. */
	stamp_site(e, site, ask);
	struct aj_ask asked = *ask;
	int r = aj_site_load(&e->site, site, &diags);
	if (r == 0 && !asked.name && !asked.file)
		asked.name = e->site.default_exec;
	r = r < 0 || aj_choose_policy(&e->loaded, &e->site, &asked, &diags) < 0 ? first_finding(&diags, err) : 0;
	if (r == 0)
		r = aj_find_rootfs(&request, e->loaded.policy.rootfs, e->site.rootfs, &e->arena, err);
	e->rootfs = request.rootfs;
	if (r == 0)
		r = stamp_policy(e, err);
	if (r < 0) {
		aj_policy_version_release(e);
		return NULL;
	}
	return e;
}

bool aj_policy_version_fresh(const struct aj_policy_version *e)
{
	for (size_t i = 0; i < e->files.count; i++) {
		struct aj_file_id now = stamp_of(e->files.items[i].path);
		if (!same(&now, &e->files.items[i]))
			return false;
	}
	return true;
}

void aj_policy_version_release(struct aj_policy_version *e)
{
	if (!e || --e->references)
		return;
	aj_arena_free(&e->arena);
	free(e);
}
