/* Toolchains outside of /usr: the entries of PATH by which they are detected, and the folders that a jail is shown. */
#pragma once
#include <stdbool.h>

enum { AJ_TOOLCHAIN_ENTRIES = 8, AJ_TOOLCHAIN_FOLDERS = 5 };

/* A folder. `~/` is the caller's home, `$NAME/` the variable's folder, `.` the entry of PATH, `^` the folder above. */
struct aj_toolchain_folder {
	const char *path;
	const char *variable; /* where the caller sets it, it names the folder; it is set in the jail. NULL: none */
};

struct aj_toolchain {
	const char *name;                          /* several rows may share one */
	const char *on_path[AJ_TOOLCHAIN_ENTRIES]; /* entries of PATH, as above; `*` is any part of one name */
	struct aj_toolchain_folder shown[AJ_TOOLCHAIN_FOLDERS];
};

extern const struct aj_toolchain aj_toolchains[]; /* ends with a NULL name */
/* Where such a folder may hold installations (the first part of a pattern may also be the folder's own name), and which files and
 * folders of it and of each installation may hold a token: these are hidden where they exist, and so is a folder in which no name
 * can be listed. A slash at the end: a folder, else a file. `*` as above. Both end with NULL. */
extern const char *const aj_toolchain_prefixes[], *const aj_toolchain_secrets[];

/* Words of filesystem.toolchains besides names. */
#define AJ_TOOLCHAINS_AUTO "auto"
#define AJ_TOOLCHAINS_NONE "none"
bool aj_toolchain_word_valid(const char *word);
/* The program that indicates this toolchain below /usr, installed by a distribution; NULL: none. */
const char *aj_toolchain_program(const char *name);
