/* Build-time tool: prints policy files as C, as text and as parsed trees, so that a run parses no TOML that was known at build time.
 * It checks syntax only: their contents are checked when they are loaded, and by the tests. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/sha256.h"
#include "toml/source.h"

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

/* Children first, as the parent refers to them by name. Returns the number of the array, 0 for none. */
static int print_nodes(const char *name, int *last, const struct aj_toml *nodes, size_t count)
{
	if (count == 0)
		return 0;
	int *below = calloc(count, sizeof *below);
	if (!below)
		abort();
	for (size_t i = 0; i < count; i++)
		below[i] = print_nodes(name, last, nodes[i].children, nodes[i].count);
	int number = ++*last;
	printf("static const struct aj_toml %s_%d[] = {\n", name, number);
	for (size_t i = 0; i < count; i++) {
		const struct aj_toml *n = &nodes[i];
		printf("\t{ .kind = %d, .line = %d, .column = %d", n->kind, n->line, n->column);
		if (n->key) {
			printf(", .key = ");
			print_text(n->key, strlen(n->key));
		}
		if (n->kind == AJ_TOML_STRING) {
			printf(", .text = ");
			print_text(n->text, n->text_bytes);
			printf(", .text_bytes = %zu", n->text_bytes);
		}
		if (n->kind == AJ_TOML_INTEGER)
			printf(", .integer = %ldL", n->integer);
		if (n->kind == AJ_TOML_BOOL)
			printf(", .boolean = %d", n->boolean);
		if (below[i])
			printf(", .children = (struct aj_toml *)%s_%d, .count = %zu", name, below[i], n->count);
		printf(" },\n");
	}
	printf("};\n");
	free(below);
	return number;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

int main(int argc, char **argv)
{
	static char text[AJ_TOML_MAX_BYTES + 1];
	printf("/* Generated from policies/ and agentjail.toml by gen/builtins.c. */\n#include \"toml/source.h\"\n\n");
	for (int i = 1; i < argc; i++) {
		struct aj_arena arena = { 0 };
		struct aj_toml root;
		struct aj_toml_error err;
		char hex[AJ_SHA256_HEX], name[32];
		int last = 0;
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
		snprintf(name, sizeof name, "nodes_%d", i);
		int top = print_nodes(name, &last, root.children, root.count);
		printf("static const struct aj_toml root_%d = { .kind = %d", i, AJ_TOML_TABLE);
		if (top)
			printf(", .children = (struct aj_toml *)%s_%d, .count = %zu", name, top, root.count);
		printf(" };\nstatic const char sha256_%d[] = \"%s\";\nstatic const char text_%d[] =\n\t", i, hex, i);
		print_text(text, (size_t)bytes);
		printf(";\n\n");
		aj_arena_free(&arena);
	}
	printf("const struct aj_builtin aj_builtins[] = {\n");
	for (int i = 1; i < argc; i++) {
		const char *name = base_name(argv[i]);
		int shown = strcmp(name, AJ_BUILTIN_SITE) == 0 ? (int)strlen(name) : (int)strcspn(name, ".");
		printf("\t{ \"%.*s\", sha256_%d, text_%d, &root_%d },\n", shown, name, i, i, i);
	}
	printf("\t{ 0 },\n};\n");
	return 0;
}
