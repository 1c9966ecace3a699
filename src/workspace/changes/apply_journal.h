/* The journal of an apply: each step with what was in its place before, in a file of the state folder that is complete, and on
 * the disk, before the first change. The file's name is the phase, by which a killed apply is continued or rolled back. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buffer.h"

enum aj_phase {
	AJ_PHASE_STAGING,   /* new content is written beside the places where it belongs */
	AJ_PHASE_SWAPPING,  /* it takes these places */
	AJ_PHASE_MOVING,    /* git moves its references */
	AJ_PHASE_CLEANING,  /* all is done, but that what was there before is removed */
	AJ_PHASE_UNSTAGING, /* taken back before anything took its place */
	AJ_PHASE_UNDOING,   /* taken back after that */
	AJ_PHASE_UNMOVING,  /* and before that, what git has moved */
	AJ_PHASES
};

#define AJ_MERGED "merged-"
enum aj_step_op {
	AJ_STEP_FOLDER = 'M', /* make a folder, after moving aside what is in its place */
	AJ_STEP_PUT = 'P',    /* a file or a link takes the place of what was there, or of nothing */
	AJ_STEP_DELETE = 'D',
	AJ_STEP_MODE = 'C',
	AJ_STEP_MERGED = 'W', /* AJ_STEP_PUT with content that a merge wrote to the state folder: AJ_MERGED and the number */
	AJ_STEP_MOVE = 'G',   /* a reference of git's */
	AJ_STEP_SETTLE = 'R', /* the end of the apply makes this repository if the host has none, and settles its history */
};
static inline bool aj_step_is_file(char op)
{
	return op != AJ_STEP_MOVE && op != AJ_STEP_SETTLE;
}

/* The order in which steps take effect. */
enum aj_step_pass { AJ_PASS_FILES, AJ_PASS_LATE, AJ_PASSES };

struct aj_apply_step {
	char op;
	unsigned pass;
	uint64_t number;   /* from 0 */
	mode_t mode;       /* of the new one, type included */
	mode_t was_mode;   /* 0: nothing was there */
	uint64_t dev, ino; /* of what was there, and its size and time */
	uint64_t bytes;
	int64_t mtime_ns;
	const char *path; /* plain, relative to the workspace; of AJ_STEP_MOVE see aj_git_move_write() */
};

/* One step, written and read; a NUL ends it. False: not a step. `text` must outlive the step. */
void aj_step_write(struct aj_buffer *out, const struct aj_apply_step *step);
bool aj_step_read(const char *text, size_t bytes, struct aj_apply_step *ret);

/* A reference that git moves, and the index with it. */
struct aj_git_move {
	const char *git, *tree; /* the git folder and its working tree as in struct aj_history_repo; tree "": no index moves */
	const char *ref;        /* refs/heads/..., or HEAD where it is detached */
	const char *from, *to;  /* commits; from "0": there is no such reference yet */
};
/* As the path of a step, in `out`, where step->bytes is the length of move->git; and back, in `room` of AJ_STEP_BYTES. */
void aj_git_move_write(struct aj_buffer *out, const struct aj_git_move *move);
bool aj_git_move_read(const struct aj_apply_step *step, char *room, struct aj_git_move *ret);

struct aj_journal_place {
	uint64_t at; /* of the step's record */
	char op;     /* AJ_STEP_MERGED is AJ_STEP_PUT */
	char pass;
};

/* A journal that is read. */
struct aj_journal {
	int fd, dir;
	enum aj_phase phase;
	char tag[17];                    /* in the names of this apply's own files */
	struct aj_journal_place *places; /* of the steps, and of their end */
	size_t count;
};

/* The writer: begin, add steps, then commit, which makes it the journal of the phase of staging; or drop. -1 with errno. */
struct aj_journal_writer {
	int fd;
	size_t count;
	struct aj_buffer kept;
	bool failed;
};
int aj_journal_begin(struct aj_journal_writer *writer, int dir);
void aj_journal_add(struct aj_journal_writer *writer, struct aj_apply_step *step); /* sets its number */
int aj_journal_commit(struct aj_journal_writer *writer, int dir);
void aj_journal_drop(struct aj_journal_writer *writer, int dir);

/* -1 with errno: ENOENT: no journal; EINVAL: invalid. */
int aj_journal_open(struct aj_journal *journal, int dir);
/* A step in `room` of that many bytes; false with errno. */
enum { AJ_STEP_BYTES = 4 * 4096 };
bool aj_journal_step(const struct aj_journal *journal, size_t index, char room[AJ_STEP_BYTES], struct aj_apply_step *ret);
int aj_journal_enter(struct aj_journal *journal, enum aj_phase phase); /* -1 with errno */
int aj_journal_end(struct aj_journal *journal);                        /* removes it; -1 with errno */
/* The name beside the place of a step: for its new content, or for what was there. */
enum { AJ_JOURNAL_NAME = 64 };
void aj_journal_name(const struct aj_journal *journal, uint64_t number, bool old, char out[AJ_JOURNAL_NAME]);
void aj_journal_close(struct aj_journal *journal);
