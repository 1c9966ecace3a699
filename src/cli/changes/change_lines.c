/* Changes as lines for people and as JSON. A jail chose the names: no control character of a name reaches a terminal.
 * It opens no file. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json/tree.h"
#include "base/text.h"
#include "cli/changes/changescmd.h"
#include "cli/terminal/findings.h"

const char *aj_change_kind_name(enum aj_change_kind kind)
{
	static const char *const names[AJ_CHANGE_KINDS] = { "added", "modified", "deleted", "type", "mode" };
	return names[kind];
}

const char *aj_change_state_name(const struct aj_change_state *s)
{
	return s->running ? "running" : s->interrupted ? "interrupted" : s->record.ended_ns ? "ended" : "killed";
}

void aj_path_print(const char *path, FILE *out)
{
	struct aj_arena arena = { 0 };
	fputs(aj_line(&arena, path), out);
	aj_arena_free(&arena);
}

const char *aj_time_text(int64_t ns, bool iso, char out[40])
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm parts;
	out[0] = '\0';
	if (iso ? gmtime_r(&seconds, &parts) : localtime_r(&seconds, &parts))
		strftime(out, 40, iso ? "%Y-%m-%dT%H:%M:%SZ" : "%Y-%m-%d %H:%M", &parts);
	return out;
}

void aj_change_set_path(json_t *object, const char *path)
{
	size_t bytes = strlen(path);
	char *text = malloc(3 * bytes + 1);
	if (!text)
		abort();
	json_object_set_new(object, "path", json_stringn(text, aj_utf8_repair(text, path, bytes)));
	free(text);
	if (aj_utf8_valid_prefix(path, bytes) != bytes)
		json_object_set_new(object, "path_base64", aj_json_base64(path, bytes));
}

static const char *type_name(mode_t mode)
{
	return S_ISREG(mode) ? "file" : S_ISDIR(mode) ? "folder" : S_ISLNK(mode) ? "link" : mode ? "other" : NULL;
}

static json_t *side_json(const struct stat *st)
{
	char mode[8];
	if (!st->st_mode)
		return json_null();
	snprintf(mode, sizeof mode, "%04o", (unsigned)st->st_mode & 07777);
	return json_pack("{s:s, s:s, s:I}", "type", type_name(st->st_mode), "mode", mode, "size", (json_int_t)st->st_size);
}

static void set_path_part(json_t *object, const char *name, const char *path, size_t bytes)
{
	char *text = malloc(3 * bytes + 1);
	if (!text)
		abort();
	json_object_set_new(object, name, bytes ? json_stringn(text, aj_utf8_repair(text, path, bytes)) : json_null());
	free(text);
}

json_t *aj_change_json(const struct aj_change *c)
{
	json_t *row = json_object();
	aj_change_set_path(row, c->path);
	json_object_update_new(row, json_pack("{s:s, s:o, s:o, s:s?, s:s?, s:s?, s:s?}", "kind", aj_change_kind_name(c->kind),
	                                      "was", side_json(&c->was), "is", side_json(&c->is), "conflict", c->conflict, "held",
	                                      c->held, "refused", c->refused, "note", c->note));
	set_path_part(row, "held_at", c->path, c->held ? c->held_bytes : 0);
	json_object_set_new(row, "repository", json_boolean(c->repository));
	return row;
}

/* --- numbers --- */

void aj_tally_add(struct aj_tally *t, const struct aj_change *c)
{
	bool file = aj_change_is_file(c);
	t->files += file;
	t->folders += !file && !c->repository;
	t->repositories += c->repository;
	(file ? t->kinds : t->folder_kinds)[c->kind]++;
	t->conflicts += c->conflict != NULL;
	t->held += c->held != NULL;
	t->refused += c->refused != NULL;
}

void aj_tally_join(struct aj_tally *t, const struct aj_tally *more)
{
	t->files += more->files;
	t->folders += more->folders;
	t->repositories += more->repositories;
	for (int k = 0; k < AJ_CHANGE_KINDS; k++) {
		t->kinds[k] += more->kinds[k];
		t->folder_kinds[k] += more->folder_kinds[k];
	}
	t->conflicts += more->conflicts;
	t->held += more->held;
	t->refused += more->refused;
}

const char *aj_tally_text(const struct aj_tally *t, char out[64])
{
	const struct {
		size_t count;
		const char *one, *many;
		bool named;
	} rows[] = { { t->files, "file", "files", t->files || (!t->folders && !t->repositories) },
		     { t->folders, "folder", "folders", !t->files && t->folders && !t->repositories },
		     { t->repositories, "repository", "repositories", t->repositories } };
	size_t used = 0;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].named)
			used += (size_t)snprintf(out + used, 64 - used, "%s%zu %s", used ? ", " : "", rows[i].count,
			                         rows[i].count == 1 ? rows[i].one : rows[i].many);
	return out;
}

void aj_tally_print_kinds(const struct aj_tally *t, FILE *out)
{
	const size_t *kinds = t->files ? t->kinds : t->folder_kinds;
	const struct {
		size_t count;
		const char *name;
	} rows[] = {
		{ kinds[AJ_CHANGE_ADDED], "added" },
		{ kinds[AJ_CHANGE_MODIFIED], "modified" },
		{ kinds[AJ_CHANGE_DELETED], "deleted" },
		{ kinds[AJ_CHANGE_TYPE], "of another type" },
		{ kinds[AJ_CHANGE_MODE], "with another mode" },
		{ t->conflicts, "in conflict" },
		{ t->held, "held" },
		{ t->refused, "refused" },
	};
	const char *between = ": ";
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].count) {
			fprintf(out, "%s%zu %s", between, rows[i].count, rows[i].name);
			between = ", ";
		}
}

const char *aj_size_text(uint64_t bytes, char out[32])
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB" };
	double size = (double)bytes;
	size_t unit = 0;
	for (; size >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++)
		size /= 1024;
	snprintf(out, 32, unit ? "%.1f %s" : "%.0f %s", size, units[unit]);
	return out;
}

static void print_size(const struct aj_change *c, FILE *out)
{
	char size[32];
	fputs(aj_size_text((uint64_t)c->is.st_size, size), out);
	if (c->kind == AJ_CHANGE_MODIFIED)
		fprintf(out, " (%+" PRId64 ")", (int64_t)c->is.st_size - (int64_t)c->was.st_size);
}

/* --- a line --- */

/* Permissions that differ from the old ones, or in a new entry from the usual ones; and what that means for a program. */
static void print_mode(const struct aj_change *c, FILE *out)
{
	mode_t is = c->is.st_mode, was = ((is ^ c->was.st_mode) & S_IFMT) == 0 ? c->was.st_mode : 0;
	if (!is || S_ISLNK(is) || ((is ^ (was ? was : S_ISDIR(is) ? 0755 : 0644)) & 0777) == 0)
		return;
	if (was)
		fprintf(out, "  mode %03o -> %03o", (unsigned)was & 0777, (unsigned)is & 0777);
	else
		fprintf(out, "  mode %03o", (unsigned)is & 0777);
	if (!S_ISDIR(is) && ((is & 0111) != 0) != ((was & 0111) != 0))
		fputs(is & 0111 ? " (executable)" : " (no longer executable)", out);
}

void aj_change_print(const struct aj_change *c, bool ignored, FILE *out)
{
	static const char letters[AJ_CHANGE_KINDS] = { 'A', 'M', 'D', 'T', 'm' };
	fprintf(out, "%c  ", letters[c->kind]);
	aj_path_print(c->path, out);
	if (S_ISDIR(c->is.st_mode ? c->is.st_mode : c->was.st_mode))
		fputc('/', out);
	if (c->kind == AJ_CHANGE_TYPE) {
		fprintf(out, "  %s -> %s", type_name(c->was.st_mode), type_name(c->is.st_mode));
	} else if (S_ISREG(c->is.st_mode) && c->kind != AJ_CHANGE_MODE) {
		fputs("  ", out);
		print_size(c, out);
	} else if (c->is.st_mode && !S_ISDIR(c->is.st_mode) && c->kind != AJ_CHANGE_MODE) {
		fprintf(out, "  %s", type_name(c->is.st_mode));
	}
	print_mode(c, out);
	if (c->conflict)
		fprintf(out, "  CONFLICT: %s", c->conflict);
	if (c->note || ignored)
		fprintf(out, "  (%s%s%s)", c->note ? c->note : "", c->note && ignored ? "; " : "",
		        ignored ? "git ignores it" : "");
	fputc('\n', out);
}
