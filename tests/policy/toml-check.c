/* Says of each file named in its arguments whether base/toml/toml takes it: `ok FILE` or `no FILE:LINE:COLUMN: WHY`.
 * It judges nothing: tests/policy/toml-suite.sh knows what should be taken. */
#include <stdio.h>
#include <stdlib.h>

#include "base/toml/toml.h"

int main(int argc, char **argv)
{
	static char text[AJ_TOML_MAX_BYTES + 1];
	for (int i = 1; i < argc; i++) {
		FILE *file = fopen(argv[i], "rb");
		if (!file) {
			perror(argv[i]);
			return 1;
		}
		size_t bytes = fread(text, 1, sizeof text, file);
		fclose(file);

		struct aj_arena arena = { 0 };
		struct aj_toml root;
		struct aj_toml_error err;
		if (aj_toml_parse(&root, &arena, text, bytes, &err))
			printf("no %s:%d:%d: %s\n", argv[i], err.line, err.column, err.message);
		else
			printf("ok %s\n", argv[i]);
		aj_arena_free(&arena);
	}
	return 0;
}
