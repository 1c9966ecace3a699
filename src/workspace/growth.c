/* Walks a workspace turn by turn and counts its files and bytes: first those of the start, then, pass after pass, those of now.
 * It blocks for no longer than a turn, keeps one folder open between turns, and accepts a number only when a second pass confirms
 * it. */
#include "workspace/growth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/path.h"

enum { TURN_EVERY_US = 50000, PASS_EVERY_US = AJ_GROWTH_PASS_S * 1000000 };
const struct aj_growth_pace aj_growth_alone = { AJ_GROWTH_ENTRIES_S / (1000000 / TURN_EVERY_US), 5000 };
const struct aj_growth_pace aj_growth_shared = { AJ_GROWTH_ENTRIES_S / (1000000 / TURN_EVERY_US) / 4, 1000 };

/* Bounds of what a jail can make the walk remember, and of what one folder takes to open. */
enum { LEVELS_MAX = 2048, NAMES_BYTES = 16 << 20, PIECE_BYTES = 4000, LEVELS_PER_ENTRY = 16 };
/* So many passes in a row that could not see everything end the jail: programs close and nest folders for a moment, too. */
enum { UNSEEN_PASSES = 3 };
/* The clock is read once in so many entries. */
enum { ENTRIES_PER_LOOK = 32 };

struct amount {
	uint64_t bytes, files;
};

/* A folder whose subfolders are still to be visited: the length of its path, and where their names begin. */
struct folder_frame {
	size_t path_bytes, names_at;
};

struct aj_growth {
	struct amount limit, start, now;
	const struct aj_growth_pace *pace;
	uint64_t budget_ms;
	int roots[2]; /* the workspace, and the main repository of a worktree */
	unsigned dev_major[2], dev_minor[2];
	int root, root_count;
	struct aj_listing folder;     /* closed: the next one is due */
	struct aj_buffer path, names; /* of the folder; of subfolders, each with its NUL */
	struct folder_frame *frames;
	size_t frame_count;
	struct timespec began;
	bool running, walking; /* the jail may have begun; a pass is under way */
	bool started;          /* `start` is known */
	bool suspect;          /* the last pass found too much */
	const char *unseen;    /* what this pass could not see */
	const char *too_big;   /* the same, and in a tree that nothing can measure */
	unsigned unseen_passes;
	bool unseen_before; /* nor could the first one, before the jail began */
	int64_t due_us;
	char why[160];
};

static bool is_before(struct statx_timestamp a, struct timespec b)
{
	return a.tv_sec < b.tv_sec || (a.tv_sec == b.tv_sec && (long)a.tv_nsec < b.tv_nsec);
}

/* Was the entry there when the jail began? No program can set its birth, or the time of its last change. */
static bool was_there(const struct aj_growth *g, const struct statx *st)
{
	return !g->running || is_before(st->stx_mask & STATX_BTIME ? st->stx_btime : st->stx_ctime, g->began);
}

static void begin_pass(struct aj_growth *g)
{
	g->walking = true;
	g->now = (struct amount){ 0 };
	g->root = -1;
	g->frame_count = 0;
	g->path.bytes = g->names.bytes = 0;
	g->unseen = g->too_big = NULL;
}

/* A path that is longer than the kernel takes is opened in pieces. */
static int open_path(const struct aj_growth *g)
{
	cleanup_fd int at = -1;
	const char *path = g->path.data;
	size_t left = g->path.bytes;
	while (left > PIECE_BYTES) {
		char piece[PIECE_BYTES + 1];
		size_t n = PIECE_BYTES;
		while (path[n] != '/')
			n--;
		memcpy(piece, path, n);
		piece[n] = '\0';
		int next = aj_beneath_open(at < 0 ? g->roots[g->root] : at, piece, O_PATH | O_DIRECTORY);
		aj_close(&at);
		if ((at = next) < 0)
			return -1;
		path += n + 1;
		left -= n + 1;
	}
	return aj_beneath_open(at < 0 ? g->roots[g->root] : at, path, O_RDONLY | O_DIRECTORY);
}

/* The owner can close a folder to itself, and so to a supervisor of the same user: that is noticed where it happened since the
 * start. */
static void note_closed(struct aj_growth *g)
{
	struct statx st;
	if (g->path.bytes <= PIECE_BYTES && statx(g->roots[g->root], g->path.data, AT_SYMLINK_NOFOLLOW, STATX_CTIME, &st) == 0 &&
	    is_before(st.stx_ctime, g->began))
		return;
	g->unseen = "a folder of it was closed to the supervisor";
}

static void open_folder(struct aj_growth *g)
{
	int fd = open_path(g);
	if (fd < 0 && errno == EACCES && g->running)
		note_closed(g);
	else if (fd < 0 && errno != ENOENT && errno != ENOTDIR && errno != ELOOP && errno != EACCES)
		g->unseen = "a folder of it cannot be opened";
	if (fd < 0) /* mostly removed, or moved away: the next pass finds it there */
		return;
	g->folder = aj_listing_take(fd);
	if (g->folder.dir)
		g->frames[g->frame_count++] = (struct folder_frame){ g->path.bytes, g->names.bytes };
}

/* The next folder, the last one found first. False: the pass is done. */
static bool next_folder(struct aj_growth *g)
{
	while (g->frame_count && g->names.bytes == g->frames[g->frame_count - 1].names_at)
		g->frame_count--;
	if (!g->frame_count) {
		if (++g->root == g->root_count)
			return false;
		g->path.bytes = 0;
		aj_buffer_add(&g->path, ".", 2);
		g->path.bytes = 1;
		open_folder(g);
		return true;
	}
	const char *end = g->names.data + g->names.bytes - 1, *name = memrchr(g->names.data, '\0', (size_t)(end - g->names.data));
	name = name ? name + 1 : g->names.data;
	g->path.bytes = g->frames[g->frame_count - 1].path_bytes;
	aj_buffer_add(&g->path, "/", 1);
	aj_buffer_add(&g->path, name, (size_t)(end - name) + 1);
	g->path.bytes--;
	g->names.bytes = (size_t)(name - g->names.data);
	open_folder(g);
	return true;
}

static void count_entry(struct aj_growth *g, const char *name)
{
	struct statx st;
	if (statx(dirfd(g->folder.dir), name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
	          STATX_TYPE | STATX_NLINK | STATX_BLOCKS | STATX_CTIME | STATX_BTIME, &st) < 0)
		return;
	if (st.stx_attributes & STATX_ATTR_MOUNT_ROOT || st.stx_dev_major != g->dev_major[g->root] ||
	    st.stx_dev_minor != g->dev_minor[g->root])
		return;
	bool folder = S_ISDIR(st.stx_mode);
	if (g->started || was_there(g, &st)) {
		g->now.files++;
		g->now.bytes += st.stx_blocks * 512 / (folder || !st.stx_nlink ? 1 : st.stx_nlink);
	}
	if (!folder)
		return;
	if (g->frame_count == LEVELS_MAX)
		g->too_big = "its folders are nested too deep to be measured";
	else if (g->names.bytes > NAMES_BYTES)
		g->too_big = "it has too many folders to be measured";
	else
		aj_buffer_add(&g->names, name, strlen(name) + 1);
}

/* Walk on. True: the pass is done. */
static bool walk(struct aj_growth *g, unsigned entries, int64_t until_us)
{
	/* Not at every multiple: a deep folder takes several entries at once, which could pass over all of them. */
	for (unsigned n = 0, look = ENTRIES_PER_LOOK - 1; n < entries; n++) {
		const struct dirent *e;
		if (n >= look) {
			if (aj_now_us() >= until_us)
				return false;
			look = n + ENTRIES_PER_LOOK;
		}
		if (!g->folder.dir) {
			n += (unsigned)g->frame_count / LEVELS_PER_ENTRY;
			if (!next_folder(g))
				return true;
		} else if (!(e = aj_listing_next(&g->folder))) {
			g->unseen = g->folder.error ? "a folder of it cannot be listed" : g->unseen;
			aj_listing_close(&g->folder);
		} else {
			count_entry(g, e->d_name);
		}
	}
	return false;
}

static const char *exceeded(struct aj_growth *g)
{
	uint64_t bytes = g->now.bytes > g->start.bytes ? g->now.bytes - g->start.bytes : 0,
		 files = g->now.files > g->start.files ? g->now.files - g->start.files : 0;
	if (!g->started)
		return NULL;
	if (g->limit.bytes && bytes > g->limit.bytes)
		snprintf(g->why, sizeof g->why, "the workspace has grown by %lu bytes, of at most %lu", bytes, g->limit.bytes);
	else if (g->limit.files && files > g->limit.files)
		snprintf(g->why, sizeof g->why, "the workspace has grown by %lu files and folders, of at most %lu", files,
		         g->limit.files);
	else
		return NULL;
	return g->why;
}

/* A pass is done, or has found too much already. */
static const char *end_pass(struct aj_growth *g, const char *over)
{
	g->walking = false;
	aj_listing_close(&g->folder);
	if (!g->started) {
		g->started = true;
		g->start = g->now;
		g->unseen_before = g->unseen && !g->running;
		return NULL;
	}
	g->unseen = g->too_big ? g->too_big : g->unseen;
	g->unseen_passes = g->too_big || (g->unseen && !g->unseen_before) ? g->unseen_passes + 1 : 0;
	/* A folder that is moved during a pass may be counted twice. */
	bool confirmed = over && g->suspect;
	/* A pass that could not see everything does not clear. */
	g->suspect = over || (g->suspect && g->unseen);
	if (!confirmed && g->unseen_passes < UNSEEN_PASSES)
		return NULL;
	if (!confirmed)
		snprintf(g->why, sizeof g->why, "the workspace cannot be measured: %s", g->unseen);
	return g->why;
}

int64_t aj_growth_due_us(const struct aj_growth *g)
{
	return g ? g->due_us : INT64_MAX;
}

const char *aj_growth_turn(struct aj_growth *g)
{
	const char *over, *why = NULL;
	int64_t now_us = aj_now_us();
	if (!g->walking)
		begin_pass(g);
	bool done = walk(g, g->pace->entries, now_us + g->pace->us);
	over = exceeded(g);
	if (done || over)
		why = end_pass(g, over);
	g->due_us = aj_now_us() + (g->walking || g->suspect ? TURN_EVERY_US : PASS_EVERY_US);
	return why;
}

bool aj_growth_last(struct aj_growth *g)
{
	if (!g || !g->started)
		return false;
	aj_listing_close(&g->folder);
	begin_pass(g);
	walk(g, UINT32_MAX, aj_now_us() + aj_us_of_ms(g->budget_ms));
	return exceeded(g) || g->too_big;
}

static int open_root(struct aj_growth *g, const char *path, struct aj_error *err)
{
	struct statx st;
	int i = g->root_count, fd = aj_beneath_open(AT_FDCWD, path, O_PATH | O_DIRECTORY);
	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &st) < 0) {
		aj_fail(err, AJ_EXIT_SETUP, "workspace", errno, "open `%s` to measure it", path);
		aj_close(&fd);
		return -1;
	}
	g->roots[i] = fd;
	g->dev_major[i] = st.stx_dev_major;
	g->dev_minor[i] = st.stx_dev_minor;
	g->root_count++;
	return 0;
}

int aj_growth_open(struct aj_growth **ret, const struct aj_built *built, const struct aj_growth_pace *pace, uint64_t budget_ms,
                   struct aj_error *err)
{
	*ret = NULL;
	const struct aj_plan *plan = built->plan;
	const char *main = plan->main_repository ? plan->main_repository : built->repository_changes,
		   *workspace = plan->writable_workspace ? plan->writable_workspace : built->changes;
	if (!workspace || plan->inspect || !(plan->workspace_bytes || plan->workspace_files))
		return 0;
	struct aj_growth *g = calloc(1, sizeof *g);
	struct folder_frame *frames = malloc(LEVELS_MAX * sizeof *frames);
	if (!g || !frames)
		abort();
	g->frames = frames;
	g->limit = (struct amount){ plan->workspace_bytes, plan->workspace_files };
	g->pace = pace;
	g->budget_ms = budget_ms;
	bool within = main && aj_path_below(workspace, main); /* which is measured with it then */
	if ((!within && open_root(g, workspace, err) < 0) ||
	    (main && !aj_path_below(main, workspace) && open_root(g, main, err) < 0)) {
		aj_growth_close(g);
		return -1;
	}
	begin_pass(g);
	bool done = walk(g, UINT32_MAX, aj_now_us() + aj_us_of_ms(budget_ms));
	if (g->too_big) {
		aj_fail(err, AJ_EXIT_SETUP, "workspace", 0, "limits.workspace cannot be kept for `%s`: %s", workspace,
		        g->too_big);
		aj_advise(err, "remove those folders, or use a policy without limits.workspace and limits.workspace_files");
		aj_growth_close(g);
		return -1;
	}
	if (done)
		end_pass(g, NULL);
	clock_gettime(CLOCK_REALTIME_COARSE, &g->began);
	g->running = true;
	g->due_us = aj_now_us() + (g->walking ? TURN_EVERY_US : PASS_EVERY_US);
	*ret = g;
	return 0;
}

void aj_growth_close(struct aj_growth *g)
{
	if (!g)
		return;
	aj_listing_close(&g->folder);
	for (int i = 0; i < g->root_count; i++)
		aj_close(&g->roots[i]);
	aj_buffer_free(&g->path);
	aj_buffer_free(&g->names);
	free(g->frames);
	free(g);
}
