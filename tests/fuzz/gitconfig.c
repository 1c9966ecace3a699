/* Fuzzes the reader of git's configuration files: bytes are such a file, as a jail may have written it.
 * It runs no git. Beyond not crashing, what was read and written out again is read as the same, and a report can be made of it. */
#include <string.h>

#include "must.h"
#include "workspace/git/config.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);

/* Of a line in the report: `...` for what was cut counts as a name's. */
enum { LINE_BYTES = 4 * AJ_GITCONFIG_VALUE_BYTES + 4 * AJ_GITCONFIG_NAME_BYTES, SOME = 64 };

struct seen {
	size_t count, bytes;
	char text[SOME * LINE_BYTES];        /* the first of them, written as git would */
	struct aj_gitconfig variables[SOME]; /* and as they were read */
};

static void add(struct seen *s, const char *text)
{
	size_t bytes = strlen(text);
	must_of(s->bytes + bytes < sizeof s->text, "what is read is no longer than its room", text);
	memcpy(s->text + s->bytes, text, bytes + 1);
	s->bytes += bytes;
}

static void add_quoted(struct seen *s, const char *text, bool value)
{
	add(s, "\"");
	for (const char *c = text; *c; c++) {
		const char plain[] = { *c, '\0' };
		add(s, value && *c == '\n' ? "\\n" : *c == '"' ? "\\\"" : *c == '\\' ? "\\\\" : plain);
	}
	add(s, "\"");
}

static void name(const char *text, size_t room, const char *extra, const char *what)
{
	must_of(memchr(text, '\0', room), "a name ends", what);
	for (const char *c = text; *c; c++)
		must_of((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || strchr(extra, *c), "a name is in lower case", text);
}

static void each(void *arg, const struct aj_gitconfig *v)
{
	struct seen *s = arg;
	name(v->section, sizeof v->section, "-.", "section");
	name(v->key, sizeof v->key, "-.", "key");
	must_of(v->key[0], "a variable has a name", v->section);
	must_of(memchr(v->subsection, '\0', sizeof v->subsection), "a subsection ends", "");
	must_of(!strchr(v->subsection, '\n'), "a subsection is one line", v->subsection);
	must_of(memchr(v->value, '\0', sizeof v->value), "a value ends", v->key);
	struct aj_gitconfig other = *v;
	must_of(aj_gitconfig_runs(v) == aj_gitconfig_runs(&other), "the same is judged the same", v->key);
	strcpy(other.section, "user");
	must_of(!aj_gitconfig_runs(&other), "a name of a person runs nothing", v->key);
	/* Cut names, and variables before the first section, are not written again. */
	if (s->count == SOME || !v->section[0] || strchr(v->section, '.') || strchr(v->key, '.'))
		return;
	s->variables[s->count++] = *v;
	add(s, "[");
	add(s, v->section);
	add(s, " ");
	add_quoted(s, v->subsection, false);
	add(s, "]\n\t");
	add(s, v->key);
	add(s, " = ");
	add_quoted(s, v->value, true);
	add(s, " ; a comment\r\n");
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
	static struct seen first, again;
	first.count = first.bytes = again.count = again.bytes = 0;
	aj_gitconfig_read((const char *)data, bytes, each, &first);
	must_of(aj_gitconfig_read(first.text, first.bytes, each, &again), "what is written is read", first.text);
	must_of(again.count == first.count, "as many as were written", first.text);
	for (size_t i = 0; i < first.count; i++) {
		const struct aj_gitconfig *a = &first.variables[i], *b = &again.variables[i];
		must_of(strcmp(a->section, b->section) == 0 && strcmp(a->subsection, b->subsection) == 0 &&
		            strcmp(a->key, b->key) == 0 && strcmp(a->value, b->value) == 0,
		        "what was read is read the same", a->key);
		must_of(aj_gitconfig_runs(a) == aj_gitconfig_runs(b), "and judged the same", a->key);
	}
	return 0;
}
