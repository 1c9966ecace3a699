/* The positions of a command line, each with its options and operands, from which shell completions are printed. */
#pragma once
#include "cli/options/options.h"

/* The kind of an option's value, or of an operand. */
enum aj_kind {
	AJ_KIND_SWITCH, /* no value */
	AJ_KIND_TEXT,
	AJ_KIND_WORDS, /* one of a few words */
	AJ_KIND_FILES,
	AJ_KIND_FOLDERS,
	AJ_KIND_POLICIES,
	AJ_KIND_CHANGES, /* IDs of `agentjail changes list` */
	AJ_KIND_PROGRAM  /* a command line of this host */
};

enum { AJ_PLACE_ROWS_MAX = 64, AJ_PLACES_MAX = 32 };

/* A command, or a subcommand, with all that may follow it. */
struct aj_doc_place {
	const char *command, *sub, *help; /* sub: NULL for none */
	struct aj_option_row rows[AJ_PLACE_ROWS_MAX];
	size_t count;
	enum aj_kind operand;
	bool has_help; /* --help, which is in no table */
};

/* Filled by aj_places_gather(); the places of a command stand together. */
extern struct aj_doc_place aj_places[];
extern size_t aj_place_count;
extern const struct aj_option_row *aj_valued[]; /* each option with a value, once */
extern size_t aj_valued_count;

void aj_places_gather(void);
enum aj_kind aj_kind_of(const struct aj_option_row *row);
const char *aj_words_of(const struct aj_option_row *row);    /* AJ_KIND_WORDS: with blanks between */
const char *aj_place_name(const struct aj_doc_place *place); /* "policy show" */
