/* Finds a module in the Python tree, in the folders that the tree's Python searches.
 * It imports nothing and reads no file; where file names alone cannot tell it reports that the module is there. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/listing.h"
#include "cli/policy/policycmd.h"

/* Modules that some distributions build into the interpreter. Other distributions have them as files. */
static const char
    built_in[] = " array atexit binascii builtins cmath errno faulthandler fcntl gc grp itertools marshal math posix pwd "
		 "pyexpat select spwd sys syslog time unicodedata xxsubtype zlib zipimport __main__ ";

enum module_kind { NOTHING, MODULE, PACKAGE };

static enum module_kind find_entry(const char *folder, const char *part, size_t bytes)
{
	static const char *const endings[] = { "py", "pyc", "so" };
	cleanup_listing struct aj_listing entries = aj_listing_open(folder);
	bool module = false, package = false;
	for (const struct dirent *e; (e = aj_listing_next(&entries));) {
		const char *after = e->d_name + bytes, *last = strrchr(e->d_name, '.');
		if (strncmp(e->d_name, part, bytes) != 0)
			continue;
		struct stat st;
		if (*after == '\0' && fstatat(dirfd(entries.dir), e->d_name, &st, 0) == 0 && S_ISDIR(st.st_mode))
			package = true;
		for (size_t i = 0; *after == '.' && i < sizeof endings / sizeof *endings; i++)
			if (strcmp(last + 1, endings[i]) == 0)
				module = true;
	}
	module |= entries.dir && entries.error;
	/* With both present MODULE is the safe answer: the folder's contents would decide. */
	return module ? MODULE : package ? PACKAGE : NOTHING;
}

/* Search a folder of sys.path for a dotted name. */
static bool find_below(const char *folder, const char *module, struct aj_arena *arena)
{
	for (;;) {
		size_t bytes = strcspn(module, ".");
		enum module_kind kind = find_entry(folder, module, bytes);
		if (kind == NOTHING || !module[bytes])
			return kind != NOTHING;
		if (kind == MODULE) /* a module may put others into sys.modules: os.path is no file */
			return true;
		folder = aj_printf(arena, "%s/%.*s", folder, (int)bytes, module);
		module += bytes + 1;
	}
}

bool aj_tree_has_module(const char *rootfs, const char *module, struct aj_arena *arena)
{
	const char *lib = aj_printf(arena, "%s/tree/usr/lib", rootfs),
		   *top = aj_printf(arena, " %.*s ", (int)strcspn(module, "."), module);
	static const char *const places[] = { "", "/lib-dynload", "/site-packages", "/dist-packages" };
	/* Modules whose names begin with an underscore are details of the interpreter, and count as present. */
	if (module[0] == '_' || strstr(built_in, top))
		return true;
	cleanup_listing struct aj_listing entries = aj_listing_open(lib);
	bool found = false;
	for (const struct dirent *e; !found && (e = aj_listing_next(&entries));)
		for (size_t i = 0; strncmp(e->d_name, "python3", 7) == 0 && !found && i < sizeof places / sizeof *places; i++)
			found = find_below(aj_printf(arena, "%s/%s%s", lib, e->d_name, places[i]), module, arena);
	return found || entries.error;
}
