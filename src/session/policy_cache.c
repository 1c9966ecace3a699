/* Reads policies with their site's rules, and checks whether a file has changed since.
 * Never serves a stale policy: any difference in a file id means reading again. */
#include "session/policy_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/toml/source.h"
#include "policy/host/choose_policy.h"
#include "policy/host/paths.h"

static struct aj_file_id file_id_of(const char *path)
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

static bool same_file(const struct aj_file_id *a, const struct aj_file_id *b)
{
	return a->device == b->device && a->inode == b->inode && a->bytes == b->bytes && a->changed.tv_sec == b->changed.tv_sec &&
	       a->changed.tv_nsec == b->changed.tv_nsec;
}

static void add_file(struct aj_policy_version *v, const char *path)
{
	if (path)
		*AJ_PUSH(&v->arena, &v->files) = file_id_of(path);
}

/* The files that are read, and those that would be if they existed. */
static void add_site_files(struct aj_policy_version *v, const char *site, const struct aj_ask *ask)
{
	add_file(v, AJ_SITE_FILE);
	add_file(v, site);
	add_file(v, ask->file);
	add_file(v, ask->local);
}

/* The files that a policy extends are known only once it is read. A change between reading and stat() would go unnoticed, so each
 * file is read and hashed once more. */
static int add_policy_files(struct aj_policy_version *v, struct aj_error *err)
{
	for (size_t i = 0; i < v->site.path.count; i++)
		add_file(v, v->site.path.items[i]); /* a folder's ctime changes when a file is created in it */
	if (v->loaded.policy.python_env_site) /* an update puts another folder in its place */
		add_file(v, v->loaded.policy.python_env_site);
	for (size_t i = 0; i < v->loaded.policy.files.count; i++) {
		const struct aj_policy_file *f = &v->loaded.policy.files.items[i];
		struct aj_diags diags = { .arena = &v->arena };
		struct aj_origin at = { f->file, 0, 0 };
		struct aj_source source;
		if (f->built_in)
			continue;
		add_file(v, f->file);
		if (aj_source_read(&source, f->file, false, &at, &diags) < 0 || strcmp(source.sha256, f->sha256) != 0)
			return aj_fail_because(err, AJ_REASON_POLICY, AJ_EXIT_USAGE, "policy", 0,
			                       "`%s` changed while it was read", f->file);
	}
	return 0;
}

static int first_finding(const struct aj_diags *diags, struct aj_error *err)
{
	for (size_t i = 0; i < diags->list.count; i++) {
		const struct aj_diag *d = &diags->list.items[i];
		if (d->warning)
			continue;
		aj_fail_because(err, AJ_REASON_POLICY, AJ_EXIT_USAGE, "policy", 0, "%s: %s", aj_origin_text(&d->at, diags->arena),
		                d->message);
		if (d->advice)
			aj_advise(err, "%s", d->advice);
		return -1;
	}
	return aj_fail_because(err, AJ_REASON_POLICY, AJ_EXIT_USAGE, "policy", 0, "the policy cannot be loaded");
}

struct aj_policy_version *aj_policy_version_read(const char *site, const struct aj_ask *ask, const char *rootfs,
                                                 struct aj_error *err)
{
	struct aj_policy_version *v = calloc(1, sizeof *v);
	if (!v)
		abort();
	struct aj_diags diags = { .arena = &v->arena };
	v->references = 1;
	v->rootfs = rootfs;
	/* stat() before reading: a change in between then differs from the id, and the policy is read again. */
	add_site_files(v, site, ask);
	struct aj_ask asked = *ask;
	int r = aj_site_load(&v->site, site, &diags);
	if (r == 0 && !asked.name && !asked.file)
		asked.name = v->site.default_exec;
	r = r < 0 || aj_choose_policy(&v->loaded, &v->site, &asked, &diags) < 0 ? first_finding(&diags, err) : 0;
	if (r == 0)
		r = aj_find_rootfs(&v->rootfs, v->loaded.policy.rootfs, v->site.rootfs, &v->arena, err);
	if (r == 0)
		r = add_policy_files(v, err);
	if (r < 0) {
		aj_policy_version_release(v);
		return NULL;
	}
	return v;
}

bool aj_policy_version_fresh(const struct aj_policy_version *v)
{
	for (size_t i = 0; i < v->files.count; i++) {
		struct aj_file_id now = file_id_of(v->files.items[i].path);
		if (!same_file(&now, &v->files.items[i]))
			return false;
	}
	return true;
}

void aj_policy_version_release(struct aj_policy_version *v)
{
	if (!v || --v->references)
		return;
	aj_arena_free(&v->arena);
	free(v);
}
