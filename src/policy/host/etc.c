/* Lists the files of the host's /etc that programs need to run, by a table.
 * Nothing else of /etc is visible in a jail: hosts keep passwords, keys and tokens there, often readable by all users. */
#include "policy/host/etc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/listing.h"

#define LIBRARIES "paths of libraries"
#define NAMES "names of services and protocols, and address preference"
#define ZONE "the host's time zone"
#define CERTIFICATES "OpenSSL and certificates, without private keys"
#define LANGUAGE "locale settings"
#define JAVA "Java and its tools"
#define SYSTEM "name and version of the system"
#define INTERPRETER "configuration of interpreters"

/* A file first: the entries after it share its overlay (sandbox/mounts/sources.c). Of a folder that may also contain secrets,
 * such as ssl, only parts have rows. */
const struct aj_etc_row aj_etc_rows[] = {
	{ "ld.so.cache", LIBRARIES },
	{ "ld.so.conf", LIBRARIES },
	{ "localtime", ZONE },
	{ "timezone", ZONE },
	{ "services", NAMES },
	{ "protocols", NAMES },
	{ "gai.conf", NAMES },
	{ "mime.types", "MIME types by file name" },
	{ "locale.alias", LANGUAGE },
	{ "os-release", SYSTEM },
	{ "lsb-release", SYSTEM },
	{ "ld.so.conf.d", LIBRARIES },
	{ "alternatives", "links in /usr lead through it" },
	{ "fonts", "fontconfig" },
	{ "crypto-policies", CERTIFICATES },
	{ "java*", JAVA },
	{ "groovy", JAVA },
	{ "python3.*", INTERPRETER },
	{ "perl", INTERPRETER },
	{ "R", INTERPRETER },
	{ "php.ini", INTERPRETER },
	{ "php.d", INTERPRETER },
	{ "php/*/cli", INTERPRETER },
	{ "php/*/mods-available", INTERPRETER },
	{ "ImageMagick-6", "resource limits of ImageMagick" },
	{ "ImageMagick-7", "resource limits of ImageMagick" },
	{ "dictionaries-common/words", "a list of words, by a link into /usr" },
	{ "chromium.d", "default options of Debian's chromium" },
	{ "maven/m2.conf", JAVA },
	{ "maven/logging", JAVA },
	{ "ssl/openssl.cnf", CERTIFICATES },
	{ "ssl/cert.pem", CERTIFICATES },
	{ "ssl/certs", CERTIFICATES },
	{ "ca-certificates/extracted", CERTIFICATES },
	{ "pki/ca-trust/extracted", CERTIFICATES },
	{ "pki/java", CERTIFICATES },
	{ "pki/tls/openssl.cnf", CERTIFICATES },
	{ "pki/tls/cert.pem", CERTIFICATES },
	{ "pki/tls/certs", CERTIFICATES },
	{ "pki/tls/openssl.d", CERTIFICATES },
	{ NULL, NULL },
};

const struct aj_etc_row aj_etc_left_out[] = {
	{ "environment", "environment of all users, with passwords of proxies and services" },
	{ "gitconfig", "credential helpers, and URLs with tokens" },
	{ "machine-id", "identifies the host" },
	{ "maven/settings.xml", "passwords of repositories" },
	{ "npmrc", "tokens of registries" },
	{ "pip.conf", "URLs of registries with passwords" },
	{ "shadow", "password hashes; also gshadow, sudoers and their backups" },
	{ "ssh", "keys of the host" },
	{ "ssl/private", "keys of services" },
	{ NULL, NULL },
};

struct name {
	const char *text;
	unsigned char type; /* DT_*; DT_UNKNOWN: examined when a row names it */
};
typedef AJ_LIST(struct name) names;

struct etc_search {
	int etc;
	names entries; /* of /etc */
	struct aj_arena *arena;
	aj_etc_list *list;
	const char *why;
	struct aj_error *err;
};

/* Whether a symlink leads into /usr, which a jail has as well. Other links are followed when the file is opened. */
static bool leads_into_usr(const char *name, const char *link)
{
	for (; strncmp(link, "../", 3) == 0; link += 3) {
		const char *up = strchr(name, '/');
		if (!up)
			return strncmp(link + 3, "usr/", 4) == 0;
		name = up + 1;
	}
	return strncmp(link, "/usr/", 5) == 0;
}

static int add(const struct etc_search *s, const char *name, unsigned char type)
{
	char link[PATH_MAX];
	struct stat st = { .st_mode = DTTOIF(type) };
	bool failed = type == DT_UNKNOWN && fstatat(s->etc, name, &st, AT_SYMLINK_NOFOLLOW) < 0;
	ssize_t n = failed ? -1 : S_ISLNK(st.st_mode) ? readlinkat(s->etc, name, link, sizeof link) : 0;
	if (n < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
		return 0;
	if (n < 0 || n == sizeof link)
		return aj_fail(s->err, AJ_EXIT_SETUP, "host", n < 0 ? errno : ENAMETOOLONG, "examine `/etc/%s`", name);
	struct aj_etc_entry *e = AJ_PUSH(s->arena, s->list);
	e->path = aj_printf(s->arena, "/etc/%s", name);
	e->why = s->why;
	e->plain = S_ISREG(st.st_mode) || S_ISDIR(st.st_mode);
	if (n > 0 && (link[n] = '\0', leads_into_usr(name, link)))
		e->link = aj_strdup(s->arena, link);
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct aj_etc_entry *)a)->path, ((const struct aj_etc_entry *)b)->path);
}

/* The entries of a folder of /etc without hidden ones; none where it is missing. */
static int list_folder(const struct etc_search *s, const char *folder, names *ret)
{
	cleanup_listing struct aj_listing entries = aj_listing_take(openat(s->etc, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (entries.error == ENOENT || entries.error == ENOTDIR || entries.error == EACCES)
		return 0;
	for (const struct dirent *e; (e = aj_listing_next(&entries));)
		if (e->d_name[0] != '.')
			*AJ_PUSH(s->arena, ret) = (struct name){ aj_strdup(s->arena, e->d_name), e->d_type };
	return entries.error ? aj_fail(s->err, AJ_EXIT_SETUP, "host", entries.error, "list `/etc/%s`", folder) : 0;
}

/* Add the matches of `pattern` in `folder` ("", or a path with a final slash), which has these entries. */
static int add_matches(const struct etc_search *s, const names *entries, const char *folder, const char *pattern)
{
	size_t part = strcspn(pattern, "/"), fixed = strcspn(pattern, "*/");
	bool whole = fixed == part; /* else the part ends with `*` */
	const char *rest = pattern + part;
	for (size_t i = 0; i < entries->count; i++) {
		const struct name *name = &entries->items[i];
		bool starts = (!fixed || name->text[0] == pattern[0]) && strncmp(name->text, pattern, fixed) == 0;
		if (!starts || (whole && name->text[fixed]))
			continue;
		const char *path = aj_printf(s->arena, "%s%s%s", folder, name->text, strchr(rest, '*') ? "/" : rest);
		names below = { 0 };
		if (strchr(rest, '*') ? list_folder(s, path, &below) < 0 || add_matches(s, &below, path, rest + 1) < 0
		                      : add(s, path, *rest ? DT_UNKNOWN : name->type) < 0)
			return -1;
	}
	return 0;
}

static int find_all(struct etc_search *s)
{
	if (list_folder(s, ".", &s->entries) < 0)
		return -1;
	for (size_t i = 0; aj_etc_rows[i].name; i++) {
		size_t before = s->list->count;
		s->why = aj_etc_rows[i].why;
		if (add_matches(s, &s->entries, "", aj_etc_rows[i].name) < 0)
			return -1;
		if (s->list->count > before + 1)
			qsort(&s->list->items[before], s->list->count - before, sizeof *s->list->items, by_path);
	}
	return 0;
}

int aj_etc_find(aj_etc_list *list, struct aj_arena *arena, struct aj_error *err)
{
	cleanup_fd int etc = open("/etc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct etc_search s = { .etc = etc, .arena = arena, .list = list, .err = err };
	if (etc < 0)
		return errno == ENOENT ? 0 : aj_fail(err, AJ_EXIT_SETUP, "host", errno, "open `/etc`");
	return find_all(&s);
}
