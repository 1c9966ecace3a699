/* `agentjail exec`: one Python snippet, one jail, one result.
 * It reads the snippet and checks its encoding and size only; Python inside the jail parses it. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/python_name.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/options/options.h"
#include "cli/refuse.h"
#include "cli/run_jail.h"
#include "cli/terminal/help.h"
#include "policy/host/paths.h"

/* A text with a NUL after it: at most `most` bytes, and one more where the file is longer. */
static int read_text(struct aj_options *o, const char *path, const char *step, size_t most, const char **ret_text,
                     size_t *ret_bytes, struct aj_error *err)
{
	bool standard_input = strcmp(path, "-") == 0;
	cleanup_fd int fd = standard_input ? dup(0) : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return aj_fail(err, AJ_EXIT_USAGE, step, errno, "open `%s`", path);
	struct stat st;
	if (!standard_input && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)))
		return aj_fail(err, AJ_EXIT_USAGE, step, 0, "`%s` is not a regular file", path);
	char *text = aj_alloc(o->arena, most + 2);
	size_t have = 0;
	for (ssize_t n = 1; n > 0 && have <= most; have += (size_t)n)
		if ((n = read(fd, text + have, most + 1 - have)) < 0)
			return aj_fail(err, AJ_EXIT_USAGE, step, errno, "read `%s`", path);
	*ret_text = text;
	*ret_bytes = have;
	return 0;
}

static int check_text(const char *name, const char *step, const char *text, size_t bytes, struct aj_error *err)
{
	size_t bad = aj_utf8_valid_prefix(text, bytes);
	const char *nul = memchr(text, '\0', bytes);
	if (nul && (size_t)(nul - text) < bad)
		bad = (size_t)(nul - text);
	if (bad == bytes)
		return 0;
	size_t line = 1;
	for (size_t i = 0; i < bad; i++)
		line += text[i] == '\n';
	return aj_fail(err, AJ_EXIT_USAGE, step, 0, "`%s` is not UTF-8 text: byte 0x%02x at offset %zu (line %zu)", name,
	               (unsigned char)text[bad], bad, line);
}

static const char *shown_path(const char *path)
{
	bool nameable = aj_utf8_valid_prefix(path, strlen(path)) == strlen(path);
	return strcmp(path, "-") == 0 ? "<stdin>" : nameable ? path : "<file>";
}

static int read_source(struct aj_options *o, const char *path, struct aj_error *err)
{
	o->request.snippet.filename = shown_path(path);
	return read_text(o, path, "source", o->loaded.policy.source_bytes, &o->request.snippet.code,
	                 &o->request.snippet.code_bytes, err);
}

static int check_source(const struct aj_options *o, struct aj_error *err)
{
	if (o->request.snippet.code_bytes > o->loaded.policy.source_bytes)
		return aj_fail(err, AJ_EXIT_USAGE, "source", 0, "`%s` is larger than a snippet may be (%lu bytes)",
		               o->request.snippet.filename, o->loaded.policy.source_bytes);
	if (check_text(o->request.snippet.filename, "source", o->request.snippet.code, o->request.snippet.code_bytes, err) < 0) {
		aj_advise(err, "Python source is UTF-8 without NUL bytes; is this a compiled or compressed file?");
		return -1;
	}
	return 0;
}

/* The text of --stdin, as a whole: the snippet gets no descriptor of the caller's. */
static int read_stdin(struct aj_options *o, struct aj_error *err)
{
	size_t bytes = 0;
	if (!o->stdin_file)
		return 0;
	if (read_text(o, o->stdin_file, "stdin", AJ_STDIN_BYTES, &o->request.snippet.stdin_text, &bytes, err) < 0)
		return -1;
	if (bytes > AJ_STDIN_BYTES)
		return aj_fail(err, AJ_EXIT_USAGE, "stdin", 0, "`%s` is larger than a snippet's standard input may be (%d MiB)",
		               shown_path(o->stdin_file), AJ_STDIN_BYTES >> 20);
	return check_text(shown_path(o->stdin_file), "stdin", o->request.snippet.stdin_text, bytes, err);
}

/* Join the --input options to one JSON object; each value is parsed here, so that an error can name its option. */
static int gather_inputs(struct aj_options *o, struct aj_error *err)
{
	if (o->inputs.count == 0)
		return 0;
	json_t *all = json_object();
	for (size_t i = 0; i < o->inputs.count && !err->exit_code; i++) {
		const char *text = o->inputs.items[i], *eq = strchr(text, '=');
		char *name = aj_strndup(o->arena, text, (size_t)(eq - text));
		const char *bad = aj_python_name_bad(name);
		if (bad) {
			aj_fail(err, AJ_EXIT_USAGE, "input", 0, "the name `%s` %s", name, bad);
			break;
		}
		json_error_t why;
		json_t *value = json_loads(eq + 1, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
		if (!value)
			aj_fail(err, AJ_EXIT_USAGE, "input", 0,
			        "the value of `%s` is not JSON: %s (column %d); a string needs quotes: '%s=\"...\"'", name,
			        why.text, why.column, name);
		else if (json_object_get(all, name))
			aj_fail(err, AJ_EXIT_USAGE, "input", 0, "`%s` is given twice", name);
		else if (json_object_set(all, name, value) < 0)
			aj_fail(err, AJ_EXIT_USAGE, "input", 0, "the name `%s` is not UTF-8", name);
		json_decref(value);
	}
	char *text = json_dumps(all, JSON_COMPACT);
	json_decref(all);
	if (text)
		o->request.snippet.inputs_json = aj_strdup(o->arena, text);
	free(text);
	return err->exit_code ? -1 : 0;
}

static int take_operands(struct aj_options *o, int first, int argc, char **argv, struct aj_error *err)
{
	if (argc - first > 1)
		return aj_fail(err, AJ_EXIT_USAGE, "options", 0, "unexpected `%s`: exec runs one snippet", argv[first + 1]);
	if (o->code && first < argc)
		return aj_fail(err, AJ_EXIT_USAGE, "options", 0, "-c and `%s` both give a snippet", argv[first]);
	if (o->code) {
		o->request.snippet.code = o->code;
		o->request.snippet.code_bytes = strlen(o->code);
		o->request.snippet.filename = "<snippet>";
		return 0;
	}
	if (first == argc && isatty(0)) {
		aj_fail(err, AJ_EXIT_USAGE, "source", 0, "no snippet: give FILE, -c CODE, or - for standard input");
		aj_advise(err, "try: agentjail exec -c 'print(2 + 2)'");
		return -1;
	}
	const char *path = first == argc ? "-" : argv[first];
	if (strcmp(path, "-") == 0 && o->stdin_file && strcmp(o->stdin_file, "-") == 0) {
		aj_fail(err, AJ_EXIT_USAGE, "stdin", 0, "standard input holds the snippet, so `--stdin -` has nothing to read");
		aj_advise(err, "give the snippet as FILE or by -c CODE");
		return -1;
	}
	return read_source(o, path, err);
}

int aj_cmd_exec(int argc, char **argv)
{
	struct aj_arena arena = { 0 };
	struct aj_error err = { 0 };
	struct aj_options o = { .arena = &arena };
	if (argc > 1 && strcmp(argv[1], "--help") == 0) {
		printf("Usage: agentjail exec [options] [FILE | -c CODE | -]\n\nRuns one Python snippet in a jail of its own and prints its "
		       "output and value.\n");
		aj_options_help(AJ_FOR_EXEC, stdout);
		aj_help_heading(stdout, "Examples");
		fputs("  agentjail exec -c 'sum(range(10))'\n"
		      "  agentjail exec --policy data-analysis --file data.csv --output out report.py\n"
		      "  agentjail exec --input 'n=7' --json -c 'n * 6'\n",
		      stdout);
		return 0;
	}
	o.request.is_snippet = true;
	int code, first = aj_options_parse(&o, AJ_FOR_EXEC, argc, argv, &err);
	if (first < 0 || aj_options_load(&o, AJ_FOR_EXEC, &err) < 0 || aj_options_check_workspace(&o, AJ_FOR_EXEC, &err) < 0 ||
	    take_operands(&o, first, argc, argv, &err) < 0)
		code = aj_refuse_setup(&o, &err);
	else if (check_source(&o, &err) < 0)
		code = aj_refuse(&o, AJ_STATUS_REJECTED, "SourceError", &err);
	else
		code = gather_inputs(&o, &err) < 0 || read_stdin(&o, &err) < 0 ? aj_refuse_setup(&o, &err) : aj_run_command(&o);
	aj_arena_free(&arena);
	return code;
}
