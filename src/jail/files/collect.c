/* The walk over /output. Every name is opened beneath the folder, through no symlink and into no other mount, without blocking; a
 * file's size is checked against the remaining bytes first, and no more is read, even if the file grows. It writes to the host
 * only new files in one folder. */
#include "jail/files/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/json/tree.h"
#include "base/path.h"
#include "base/sha256.h"
#include "base/text.h"
#include "jail/files/copy_out.h"
#include "jail/files/media_type.h"
#include "policy/protected_places.h"

/* Limits for a hostile tree: entries visited, memory for the names of folders, depth, listed files that were left out. */
enum { ENTRIES_MAX = 20000, NAMES_BYTES = 1 << 20, DEPTH_MAX = 16, SKIPPED_MAX = 20, CHUNK = 64 << 10 };

struct file {
	char *name;
	uint64_t bytes;
	char sha256[AJ_SHA256_HEX];
	char *data;  /* NULL: not asked for */
	bool obeyed; /* by programs of the host, for its name */
};

struct aj_collect {
	struct aj_collect_how how;
	int top;                   /* /output; -1: there is none */
	struct aj_listing listing; /* of `folder`; closed: the next one is due */
	char folder[AJ_SCRATCH_PATH];
	struct aj_buffer folders; /* still to be listed, each with its NUL */
	unsigned entries;
	uint64_t bytes_left;
	struct file *files;
	size_t count, room;
	json_t *skipped;
	/* The file that is being read. */
	int fd;
	struct file now;
	uint64_t want;
	struct aj_sha256 sum;
	struct aj_copy_out copy;
	char chunk[CHUNK];
};

static void skip(struct aj_collect *c, const char *name, const char *why)
{
	char text[3 * AJ_SCRATCH_PATH];
	size_t bytes = aj_utf8_repair(text, name, strnlen(name, AJ_SCRATCH_PATH - 1));
	if (!c->skipped)
		c->skipped = json_array();
	if (json_array_size(c->skipped) < SKIPPED_MAX)
		json_array_append_new(c->skipped, json_pack("{s:o, s:s}", "name", json_stringn(text, bytes), "why", why));
}

struct aj_collect *aj_collect_begin(const struct aj_scratch *scratch, const struct aj_collect_how *how)
{
	struct aj_collect *c = calloc(1, sizeof *c);
	if (!c)
		abort();
	c->how = *how;
	c->bytes_left = how->data && how->bytes_max > AJ_COLLECT_DATA_BYTES ? AJ_COLLECT_DATA_BYTES : how->bytes_max;
	c->fd = -1;
	c->top = aj_beneath_open_here(scratch->tmp, "output", O_RDONLY | O_DIRECTORY);
	if (c->top >= 0)
		aj_buffer_add(&c->folders, "", 1);
	else if (errno != ENOENT)
		skip(c, ".", errno == ENOTDIR || errno == ELOOP ? "it is no longer a folder" : "it cannot be opened");
	return c;
}

static void forget_file(struct file *f)
{
	free(f->name);
	free(f->data);
	*f = (struct file){ 0 };
}

void aj_collect_free(struct aj_collect *c)
{
	if (!c)
		return;
	aj_listing_close(&c->listing);
	aj_close(&c->top);
	aj_close(&c->fd);
	aj_copy_out_drop(&c->copy);
	aj_buffer_free(&c->folders);
	forget_file(&c->now);
	for (size_t i = 0; i < c->count; i++)
		forget_file(&c->files[i]);
	free(c->files);
	json_decref(c->skipped);
	free(c);
}

static unsigned depth_of(const char *path)
{
	unsigned depth = 0;
	for (; *path; path++)
		depth += *path == '/';
	return depth;
}

/* --- one file --- */

static bool is_old(const struct aj_collect *c, const struct stat *st)
{
	const struct timespec *t = &c->how.since;
	return st->st_ctim.tv_sec < t->tv_sec || (st->st_ctim.tv_sec == t->tv_sec && st->st_ctim.tv_nsec < t->tv_nsec);
}

static bool is_known(const struct aj_collect *c, const char *path)
{
	for (size_t i = 0; i < c->count; i++)
		if (strcmp(c->files[i].name, path) == 0)
			return true;
	return false;
}

/* Why the open file is left out; NULL: it is wanted. */
static const char *unwanted(const struct aj_collect *c, const struct stat *st)
{
	return !S_ISREG(st->st_mode)        ? "it is not a regular file"
	     : c->count >= c->how.files_max ? "it is one file too many (output.files_count)"
	     : st->st_size < 0 || (uint64_t)st->st_size > c->bytes_left
	         ? "it is larger than what is left of output.files, or of 16 MiB for bytes in a result"
	         : NULL;
}

static void begin_file(struct aj_collect *c, const char *name, const char *path)
{
	struct stat st;
	if (is_known(c, path))
		return;
	cleanup_fd int fd = aj_beneath_open_here(dirfd(c->listing.dir), name, O_RDONLY);
	if (fd < 0 || fstat(fd, &st) < 0) {
		if (errno != ENOENT)
			skip(c, path, errno == ELOOP ? "it is not a regular file" : "it cannot be opened");
		return;
	}
	const char *why = unwanted(c, &st);
	bool obeyed = aj_protect_refuses(c->how.protect, c->how.protect_count, path);
	if (!why && c->how.to && obeyed)
		why = "programs of the host obey a file of that name (filesystem.protect)";
	if (!why && c->how.to)
		why = aj_copy_out_begin(&c->copy, c->how.to, path);
	if (why) {
		skip(c, path, why);
		return;
	}
	c->want = (uint64_t)st.st_size;
	c->now = (struct file){ .name = strdup(path), .data = c->how.data ? malloc(c->want + 1) : NULL, .obeyed = obeyed };
	if (!c->now.name || (c->how.data && !c->now.data))
		abort();
	aj_sha256_begin(&c->sum);
	c->fd = aj_steal(&fd);
}

static void end_file(struct aj_collect *c, const char *why)
{
	aj_close(&c->fd);
	if (!why)
		why = aj_copy_out_end(&c->copy);
	aj_copy_out_drop(&c->copy);
	if (why) {
		skip(c, c->now.name, why);
		forget_file(&c->now);
		return;
	}
	aj_sha256_end(&c->sum, c->now.sha256);
	char *fitted = c->now.data && c->now.bytes < c->want ? realloc(c->now.data, c->now.bytes + 1) : NULL;
	if (fitted) /* it has become shorter: room for what it was is not kept */
		c->now.data = fitted;
	c->bytes_left -= c->now.bytes;
	if (c->count == c->room) {
		c->room = c->room ? 2 * c->room : 8;
		c->files = realloc(c->files, c->room * sizeof *c->files);
		if (!c->files)
			abort();
	}
	c->files[c->count++] = c->now;
	c->now = (struct file){ 0 };
}

/* One piece. The file's end is where it was when it was opened, or earlier. */
static void read_file(struct aj_collect *c)
{
	uint64_t left = c->want - c->now.bytes;
	ssize_t n = left ? read(c->fd, c->chunk, left < CHUNK ? left : CHUNK) : 0;
	if (n <= 0) {
		end_file(c, n < 0 ? "it cannot be read" : NULL);
		return;
	}
	aj_sha256_add(&c->sum, c->chunk, (size_t)n);
	if (c->now.data)
		memcpy(c->now.data + c->now.bytes, c->chunk, (size_t)n);
	c->now.bytes += (uint64_t)n;
	const char *why = aj_copy_out_add(&c->copy, c->chunk, (size_t)n);
	if (why)
		end_file(c, why);
}

/* --- folders --- */

static void collect_entry(struct aj_collect *c, const char *name)
{
	char path[AJ_SCRATCH_PATH];
	struct stat st;
	size_t folder = strlen(c->folder), bytes = strlen(name);
	if (folder + bytes + 2 > sizeof path) {
		skip(c, name, "its path is too long");
		return;
	}
	memcpy(path, c->folder, folder);
	path[folder] = '/';
	memcpy(path + folder + (folder > 0), name, bytes + 1);
	const char *bad = aj_scratch_name_bad(name);
	if (!bad && fstatat(dirfd(c->listing.dir), name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno == ENOENT) /* removed meanwhile */
			return;
		bad = "it cannot be examined";
	}
	if (bad)
		skip(c, path, bad);
	else if (S_ISREG(st.st_mode) && is_old(c, &st))
		return;
	else if (S_ISREG(st.st_mode))
		begin_file(c, name, path);
	else if (!S_ISDIR(st.st_mode))
		skip(c, path, "it is not a regular file");
	else if (depth_of(path) >= DEPTH_MAX || c->folders.bytes > NAMES_BYTES)
		skip(c, path, "its folders are too many, or nested too deep");
	else
		aj_buffer_add(&c->folders, path, folder + (folder > 0) + bytes + 1);
}

/* The folder that was found last comes first. False: there is none left. */
static bool next_folder(struct aj_collect *c)
{
	if (!c->folders.bytes)
		return false;
	const char *end = c->folders.data + c->folders.bytes - 1;
	const char *at = memrchr(c->folders.data, '\0', c->folders.bytes - 1);
	at = at ? at + 1 : c->folders.data;
	memcpy(c->folder, at, (size_t)(end - at) + 1);
	c->folders.bytes = (size_t)(at - c->folders.data);
	int fd = aj_beneath_open_here(c->top, *c->folder ? c->folder : ".", O_RDONLY | O_DIRECTORY);
	if (fd < 0 && errno == ENOENT) /* removed meanwhile */
		return true;
	c->listing = aj_listing_take(fd);
	if (c->listing.error)
		skip(c, *c->folder ? c->folder : ".", "it cannot be opened");
	return true;
}

/* False: everything was collected. */
static bool collect_next(struct aj_collect *c)
{
	const struct dirent *e;
	if (c->fd >= 0) {
		read_file(c);
	} else if (c->entries > ENTRIES_MAX) {
		skip(c, ".", "it has too many entries");
		return false;
	} else if (!c->listing.dir) {
		c->entries++;
		return next_folder(c);
	} else if ((e = aj_listing_next(&c->listing))) {
		c->entries++;
		collect_entry(c, e->d_name);
	} else {
		if (c->listing.error)
			skip(c, *c->folder ? c->folder : ".", "it cannot be listed");
		aj_listing_close(&c->listing);
	}
	return true;
}

bool aj_collect_turn(struct aj_collect *c, int64_t until_us)
{
	while (collect_next(c))
		if (aj_now_us() >= until_us)
			return false;
	return true;
}

/* --- the result --- */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->name, ((const struct file *)b)->name);
}

static json_t *file_json(const struct file *f)
{
	json_t *one = json_pack("{s:s, s:I, s:s, s:s}", "name", f->name, "size", (json_int_t)f->bytes, "media_type",
	                        aj_media_type(f->name), "sha256", f->sha256);
	if (f->obeyed)
		json_object_set_new(one, "obeyed", json_true());
	if (f->data)
		json_object_set_new(one, "data", aj_json_base64(f->data, f->bytes));
	return one;
}

void aj_collect_end(struct aj_collect *c, struct aj_collected *ret)
{
	*ret = (struct aj_collected){ .files = json_array(), .skipped = json_incref(c->skipped) };
	if (c->count)
		qsort(c->files, c->count, sizeof *c->files, by_name);
	for (size_t i = 0; i < c->count; i++) {
		json_array_append_new(ret->files, file_json(&c->files[i]));
		forget_file(&c->files[i]);
	}
	c->count = 0;
	aj_collect_free(c);
}

void aj_collected_free(struct aj_collected *collected)
{
	json_decref(collected->files);
	json_decref(collected->skipped);
	*collected = (struct aj_collected){ 0 };
}
