/* Build-time tool: prints policy files as C, as text and as parsed trees, so that a run parses no TOML that was known at build
 * time. It checks syntax only: their contents are checked when they are loaded, and by the tests. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/sha256.h"
#include "base/toml/source.h"

static void print_text(const char *text, size_t bytes)
{
	putchar('"');
	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c == '\n')
			printf("\\n\"\n\t\"");
		else if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 32 || c > 126)
			printf("\\%03o", c);
		else
			putchar(c);
	}
	putchar('"');
}

static struct {
	struct aj_toml_row *rows;
	size_t count;
	char *strings;
	size_t bytes;
} tree;

static unsigned add_string(const char *text, size_t bytes)
{
	size_t at = tree.bytes;
	tree.strings = realloc(tree.strings, at + bytes + 1);
	if (!tree.strings)
		abort();
	memcpy(tree.strings + at, text, bytes);
	tree.strings[at + bytes] = '\0';
	tree.bytes += bytes + 1;
	return (unsigned)at;
}

/* Returns the number of the first row. */
static unsigned add_rows(const struct aj_toml *nodes, size_t count)
{
	size_t first = tree.count;
	tree.count += count;
	tree.rows = realloc(tree.rows, tree.count * sizeof *tree.rows);
	if (!tree.rows)
		abort();
	for (size_t i = 0; i < count; i++) {
		const struct aj_toml *n = &nodes[i];
		struct aj_toml_row row = { .kind = (uint8_t)n->kind, .line = n->line, .column = n->column };
		row.count = (unsigned)n->count;
		if (n->key)
			row.key = add_string(n->key, strlen(n->key));
		if (n->kind == AJ_TOML_STRING) {
			row.text = add_string(n->text, n->text_bytes);
			row.text_bytes = (unsigned)n->text_bytes;
		}
		if (n->kind == AJ_TOML_INTEGER)
			row.integer = n->integer;
		if (n->kind == AJ_TOML_BOOL)
			row.boolean = n->boolean;
		if (n->count)
			row.children = add_rows(n->children, n->count);
		tree.rows[first + i] = row;
	}
	return (unsigned)first;
}

static void print_tree(int number, const struct aj_toml *root)
{
	tree.count = tree.bytes = 0;
	add_string("", 0); /* no string begins at 0 */
	add_rows(root, 1);
	printf("static const struct aj_toml_row rows_%d[] = {\n", number);
	for (size_t i = 0; i < tree.count; i++) {
		const struct aj_toml_row *r = &tree.rows[i];
		printf("\t{ .kind = %d, .line = %d, .column = %d, .key = %u, ", r->kind, r->line, r->column, r->key);
		printf(".text = %u, .text_bytes = %u, .integer = %ldL, ", r->text, r->text_bytes, r->integer);
		printf(".boolean = %d, .children = %u, .count = %u },\n", r->boolean, r->children, r->count);
	}
	printf("};\nstatic const char strings_%d[] =\n\t", number);
	print_text(tree.strings, tree.bytes);
	printf(";\n");
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

int main(int argc, char **argv)
{
	static char text[AJ_TOML_MAX_BYTES + 1];
	printf("/* Generated from policies/ and agentjail.toml by gen/builtins.c. */\n#include \"base/toml/source.h\"\n\n");
	for (int i = 1; i < argc; i++) {
		struct aj_arena arena = { 0 };
		struct aj_toml root;
		struct aj_toml_error err;
		char hex[AJ_SHA256_HEX];
		ssize_t bytes = aj_read_text(argv[i], text, sizeof text);
		if (bytes < 0) {
			fprintf(stderr, "%s: %s\n", argv[i], strerror(errno));
			return 1;
		}
		if (aj_toml_parse(&root, &arena, text, (size_t)bytes, &err) < 0) {
			fprintf(stderr, "%s:%d:%d: %s\n", argv[i], err.line, err.column, err.message);
			return 1;
		}
		aj_sha256(text, (size_t)bytes, hex);
		print_tree(i, &root);
		printf("static const char sha256_%d[] = \"%s\";\nstatic const char text_%d[] =\n\t", i, hex, i);
		print_text(text, (size_t)bytes);
		printf(";\n\n");
		aj_arena_free(&arena);
	}
	printf("const struct aj_builtin aj_builtins[] = {\n");
	for (int i = 1; i < argc; i++) {
		const char *name = base_name(argv[i]);
		int shown = strcmp(name, AJ_BUILTIN_SITE) == 0 ? (int)strlen(name) : (int)strcspn(name, ".");
		printf("\t{ \"%.*s\", sha256_%d, text_%d, rows_%d, strings_%d },\n", shown, name, i, i, i, i);
	}
	printf("\t{ 0 },\n};\n");
	return 0;
}
