/* Lists the packages of an environment from their *.dist-info folders, and the names by which code imports them.
 * It reads METADATA and RECORD alone, and executes nothing. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json/json.h"
#include "base/json/tree.h"
#include "base/listing.h"
#include "cli/env/envcmd.h"
#include "policy/item_types.h"

enum { TEXT_BYTES = 200 };

static FILE *open_in(int dir, const char *folder, const char *file)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/%s", folder, file);
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
	if (fd >= 0 && !in)
		close(fd);
	return in;
}

static void set_text(json_t *package, const char *name, const char *text)
{
	size_t bytes = strnlen(text, TEXT_BYTES);
	json_object_set_new(package, name, aj_json_text(text, bytes));
}

/* The headers of METADATA; License-Expression is newer than License, which may be the whole text of one. */
static void read_metadata(json_t *package, FILE *in)
{
	static const char osi[] = "License :: OSI Approved :: ";
	char *line = NULL;
	size_t room = 0;
	while (getline(&line, &room, in) > 0) {
		char *colon = strchr(line, ':');
		line[strcspn(line, "\r\n")] = '\0';
		if (!*line) /* the end of the headers */
			break;
		if (!colon || isspace((unsigned char)*line))
			continue;
		*colon = '\0';
		const char *value = colon + 1 + strspn(colon + 1, " ");
		bool known = json_object_get(package, "licence") != NULL;
		if (strcasecmp(line, "Name") == 0)
			set_text(package, "name", value);
		else if (strcasecmp(line, "Version") == 0)
			set_text(package, "version", value);
		else if (strcasecmp(line, "License-Expression") == 0 ||
		         (strcasecmp(line, "License") == 0 && *value && strlen(value) < TEXT_BYTES / 2 && !known))
			set_text(package, "licence", value);
		else if (strcasecmp(line, "Classifier") == 0 && strncmp(value, osi, sizeof osi - 1) == 0 && !known)
			set_text(package, "licence", value + sizeof osi - 1);
	}
	free(line);
}

static bool ends(const char *text, size_t bytes, const char *end)
{
	size_t more = strlen(end);
	return bytes >= more && strncmp(text + bytes - more, end, more) == 0;
}

/* The top-level name that a file of a wheel gives: `a` of a/b.py, a.py and a.cpython-311-x86_64-linux-gnu.so. */
static void add_import(json_t *imports, const char *path, size_t bytes)
{
	char name[TEXT_BYTES];
	size_t first = strcspn(path, "/,"), used = first < bytes ? first : strcspn(path, ".");
	if (!ends(path, bytes, ".py") && !ends(path, bytes, ".so"))
		return;
	if (used == 0 || used >= sizeof name)
		return;
	memcpy(name, path, used);
	name[used] = '\0';
	if (aj_import_pattern_valid(name) && !strchr(name, '.') && strcmp(name, "bin") != 0 && strcmp(name, "__pycache__") != 0)
		json_object_set_new(imports, name, json_true());
}

/* RECORD: `path,sha256=…,size` a line; a path with a comma is quoted, and no module has one. */
static void read_record(json_t *package, json_t *imports, FILE *in)
{
	char *line = NULL;
	size_t room = 0;
	json_int_t total = 0;
	while (getline(&line, &room, in) > 0) {
		size_t bytes = strcspn(line, ",");
		const char *size = strrchr(line, ',');
		add_import(imports, line, bytes);
		total += size ? (json_int_t)strtoull(size + 1, NULL, 10) : 0;
	}
	free(line);
	json_object_set_new(package, "size", json_integer(total));
}

static int by_name(const void *a, const void *b)
{
	const char *x = json_string_value(json_object_get(*(json_t *const *)a, "name"));
	const char *y = json_string_value(json_object_get(*(json_t *const *)b, "name"));
	return strcasecmp(x ? x : "", y ? y : "");
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static json_t *sorted_names(const json_t *object, struct aj_arena *arena)
{
	AJ_LIST(const char *) names = { 0 };
	json_t *list = json_array();
	for (void *at = json_object_iter((json_t *)(uintptr_t)object); at;
	     at = json_object_iter_next((json_t *)(uintptr_t)object, at))
		*AJ_PUSH(arena, &names) = json_object_iter_key(at);
	if (names.count)
		qsort(names.items, names.count, sizeof *names.items, by_text);
	for (size_t i = 0; i < names.count; i++)
		json_array_append_new(list, json_string(names.items[i]));
	return list;
}

int aj_env_inventory(const char *site, json_t *env, struct aj_arena *arena, struct aj_error *err)
{
	AJ_LIST(json_t *) found = { 0 };
	json_t *imports = json_object(), *packages = json_array(), *ignored = json_array();
	cleanup_listing struct aj_listing entries = aj_listing_open(site);
	for (const struct dirent *e; (e = aj_listing_next(&entries));) {
		size_t bytes = strlen(e->d_name);
		if (ends(e->d_name, bytes, ".pth"))
			json_array_append_new(ignored, aj_json_text(e->d_name, bytes));
		if (!ends(e->d_name, bytes, ".dist-info"))
			continue;
		json_t *package = json_object();
		FILE *metadata = open_in(dirfd(entries.dir), e->d_name, "METADATA"),
		     *record = open_in(dirfd(entries.dir), e->d_name, "RECORD");
		if (metadata)
			read_metadata(package, metadata);
		if (record)
			read_record(package, imports, record);
		if (metadata)
			fclose(metadata);
		if (record)
			fclose(record);
		*AJ_PUSH(arena, &found) = package;
	}
	if (found.count)
		qsort(found.items, found.count, sizeof *found.items, by_name);
	for (size_t i = 0; i < found.count; i++)
		json_array_append_new(packages, found.items[i]);
	json_object_set_new(env, "packages", packages);
	json_object_set_new(env, "imports", sorted_names(imports, arena));
	json_object_set_new(env, "pth_files_ignored", ignored);
	json_decref(imports);
	if (entries.error)
		return aj_fail(err, AJ_EXIT_SETUP, "env", entries.error, "list `%.300s`", site);
	if (!found.count)
		return aj_fail(err, AJ_EXIT_SETUP, "env", 0, "no package was installed: the list of packages is empty");
	return 0;
}
