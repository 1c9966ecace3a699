/* `agentjail audit verify`: checks that an audit file is complete and unchanged, or reports its first problem.
 * It repairs nothing and judges no run; the contents of the records are for other tools. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/terminal/findings.h"
#include "jail/audit/verify.h"

enum { OPEN_SHOWN = 20 };

struct verify_args {
	const char *file, *head;
};

static int parse_args(struct verify_args *q, int argc, char **argv, struct aj_error *err)
{
	static const char usage[] = "agentjail audit verify FILE [--head HASH]";
	bool options = true;
	for (int i = 2; i < argc; i++) {
		const char *word = argv[i], *head = NULL;
		if (options && strcmp(word, "--") == 0) {
			options = false;
		} else if (options && strcmp(word, "--head") == 0 && i + 1 < argc) {
			head = argv[++i];
		} else if (options && strncmp(word, "--head=", 7) == 0) {
			head = word + 7;
		} else if ((options && word[0] == '-') || q->file) {
			aj_fail(err, AJ_EXIT_USAGE, "options", 0, "unexpected `%s`", word);
			aj_advise(err, usage);
			return -1;
		} else {
			q->file = word;
		}
		if (head && (strlen(head) != 64 || strspn(head, "0123456789abcdef") != 64)) {
			aj_fail(err, AJ_EXIT_USAGE, "options", 0, "`%.100s` is not the head of an audit file", head);
			aj_advise(err, "a head has 64 hexadecimal digits in lower case; an earlier `audit verify` printed it");
			return -1;
		}
		q->head = head ? head : q->head;
	}
	if (argc < 2 || strcmp(argv[1], "verify") != 0 || !q->file) {
		aj_fail(err, AJ_EXIT_USAGE, "options", 0, argc < 2 ? "no subcommand is given" : "no file is given");
		aj_advise(err, usage);
		return -1;
	}
	return 0;
}

/* A file's name and contents are untrusted text: aj_line() keeps their control characters from the terminal. */
static void report(struct aj_arena *arena, const char *file, const struct aj_verify *v)
{
	file = aj_line(arena, file);
	if (v->kind != AJ_VERIFY_WHOLE) {
		printf("%s: line %" PRIu64 ": %s: %s\n", file, v->line, aj_verify_kind_name(v->kind), v->why);
		return;
	}
	printf("%s: whole: records %" PRIu64 ", runs begun %" PRIu64 "\n", file, v->records, v->starts);
	if (v->records == 0)
		return;
	printf("  first %s\n", aj_line(arena, v->first_time));
	printf("  last  %s\n", aj_line(arena, v->last_time));
	printf("  head  %s\n", v->head);
	printf("  open  %zu%s\n", v->open.count, v->more_open ? ", or more" : "");
	if (v->open.count)
		printf("        begun and not ended: still running, or the supervisor was killed\n");
	for (size_t i = 0; i < v->open.count && i < OPEN_SHOWN; i++)
		printf("        %s\n", aj_line(arena, v->open.items[i].id));
	if (v->open.count > OPEN_SHOWN)
		printf("        and %zu more\n", v->open.count - OPEN_SHOWN);
}

int aj_cmd_audit(int argc, char **argv)
{
	struct aj_arena arena = { 0 };
	struct aj_error err = { 0 };
	struct aj_verify v;
	struct verify_args q = { 0 };
	if (argc > 1 && strcmp(argv[1], "--help") == 0) {
		printf("Usage: agentjail audit verify FILE [--head HASH]\n\n"
		       "Checks that every record of an audit file is unchanged and in its place. --head:\n"
		       "HASH, noted earlier, must be the hash of one of the records; otherwise the file\n"
		       "was cut or rewritten.\n\n"
		       "Exit status: 0 the file is whole, 1 it has a problem (the first is printed), 2\n"
		       "it cannot be read.\n");
		return 0;
	}
	int code = 0;
	if (parse_args(&q, argc, argv, &err) < 0 || aj_verify(q.file, q.head, &arena, &v, &err) < 0) {
		code = aj_print_error(&err);
	} else {
		report(&arena, q.file, &v);
		code = v.kind == AJ_VERIFY_WHOLE ? 0 : AJ_EXIT_ERROR;
	}
	aj_arena_free(&arena);
	return code;
}
