/* Passes the caller's certificates and package registries to a command: variables and lines of files, by tables.
 * Values with a password are not passed. Of a file with certificates only the certificates are copied, so a path that an earlier
 * jail redirected to another file discloses nothing else. */
#include "workspace/home/network_settings.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/env.h"
#include "policy/host/home.h"
#include "policy/item_types.h"

enum { FILE_MAX = 4 << 20, CONFIG_MAX = 64 << 10 };

/* Variables with the path of a PEM file. */
static const char *const certificate_variables[] = {
	"SSL_CERT_FILE",  "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT",
	"GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO",   "NPM_CONFIG_CAFILE",  "AWS_CA_BUNDLE",  NULL
};
static const char *const registry_variables[] = { "PIP_INDEX_URL",
	                                          "PIP_EXTRA_INDEX_URL",
	                                          "PIP_TRUSTED_HOST",
	                                          "UV_INDEX_URL",
	                                          "UV_DEFAULT_INDEX",
	                                          "UV_EXTRA_INDEX_URL",
	                                          "NPM_CONFIG_REGISTRY",
	                                          "npm_config_registry",
	                                          "YARN_REGISTRY",
	                                          "GOPROXY",
	                                          "GONOPROXY",
	                                          "GOSUMDB",
	                                          "GONOSUMDB",
	                                          "GOPRIVATE",
	                                          NULL };

/* Files below the home: keys (patterns) of the lines to pass, and where programs in the jail find them. */
static const struct config {
	const char *paths[2];    /* the first that exists is used */
	const char *sections[3]; /* prefixes of section names; none: all sections */
	const char *keys[4];
	const char *certificate_key,
	    *certificate_variable;     /* key whose value is the path of a PEM file, and the variable for it */
	const char *target, *variable; /* variable: set to the target; NULL: programs read it by default */
	bool continued;                /* a line that begins with a blank continues the one before it */
} configs[] = {
	{ { ".npmrc" },
	  { NULL },
	  { "registry", "@*:registry" },
	  "cafile",
	  "NPM_CONFIG_CAFILE",
	  AJ_SETTINGS "/npmrc",
	  "NPM_CONFIG_GLOBALCONFIG",
	  false },
	{ { ".config/pip/pip.conf", ".pip/pip.conf" },
	  { NULL },
	  { "index-url", "extra-index-url", "trusted-host" },
	  "cert",
	  "PIP_CERT",
	  AJ_SETTINGS "/pip.conf",
	  "PIP_CONFIG_FILE",
	  true },
	{ { ".cargo/config.toml", ".cargo/config" },
	  { "[source.", "[registries.", "[registry]" },
	  { "registry", "index", "replace-with", "default" },
	  "cainfo",
	  "CARGO_HTTP_CAINFO",
	  "/.cargo/config.toml", /* cargo searches all parents of the working directory */
	  NULL,
	  false },
};

struct taker {
	struct aj_request *request;
	const struct aj_policy *policy;
	struct aj_arena *arena;
	AJ_LIST(const char *) copied; /* source, target, source, ... of certificates */
};

#define SAY(t, ...) (*AJ_PUSH((t)->arena, &(t)->request->settings_notices) = aj_printf((t)->arena, __VA_ARGS__))

static bool has_variable(const char *const *items, size_t count, const char *name)
{
	size_t bytes = strlen(name);
	for (size_t i = 0; i < count; i++)
		if (strncmp(items[i], name, bytes) == 0 && items[i][bytes] == '=')
			return true;
	return false;
}

/* Whether the policy, an option or an earlier setting has set it: these take precedence. */
static bool is_set(const struct taker *t, const char *name)
{
	const struct aj_request *r = t->request;
	return has_variable(r->env.items, r->env.count, name) || has_variable(t->policy->env.items, t->policy->env.count, name) ||
	       has_variable(r->tool_env.items, r->tool_env.count, name);
}

static void set(struct taker *t, const char *name, const char *value)
{
	*AJ_PUSH(t->arena, &t->request->tool_env) = aj_printf(t->arena, "%s=%s", name, value);
}

/* A user's name in a URL is often a token, and so is a query, which no registry needs. Programs parse URLs differently, so their
 * place in the value does not matter. */
static bool has_secret(const struct taker *t, const char *value)
{
	const char *query = strchr(value, '?');
	return strchr(value, '@') || (query && strchr(query, '=')) || aj_env_secret(aj_printf(t->arena, "VALUE=%s", value));
}

/* Append an --allow-host option for each host in the value's URLs that the policy's list lacks. */
static const char *add_hosts(const struct taker *t, const char *options, const char *value)
{
	for (const char *at = strstr(value, "://"); at && t->policy->network == AJ_NET_ALLOW; at = strstr(at, "://")) {
		const bool plain = at - value >= 4 && strncmp(at - 4, "http", 4) == 0;
		at += strlen("://");
		const char *host = aj_strndup(t->arena, at, strcspn(at, "/?# ,|\"'"));
		const char *port = strrchr(host, ':');
		const char *place = port && !strchr(port, ']') ? host : aj_printf(t->arena, "%s:%d", host, plain ? 80 : 443);
		bool covered = false;
		for (size_t i = 0; i < t->policy->allow.count && !covered; i++)
			covered = aj_host_covers(t->policy->allow.items[i], place);
		if (!covered && aj_host_covers(place, place) && !strstr(options, place))
			options = aj_printf(t->arena, "%s --allow-host %s", options, place);
	}
	return options;
}

static const char *advice(const struct taker *t, const char *options)
{
	return *options ? aj_printf(t->arena, "; the policy's list lacks its host: add%s", options) : "";
}

/* Read a small regular file as text; NULL with errno. */
static char *read_text(const struct taker *t, int fd, size_t most)
{
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return NULL;
	if (!S_ISREG(st.st_mode) || st.st_size < 0 || (size_t)st.st_size > most) {
		errno = S_ISREG(st.st_mode) ? EFBIG : EINVAL;
		return NULL;
	}
	char *text = aj_alloc(t->arena, (size_t)st.st_size + 1);
	size_t used = 0;
	for (ssize_t n; used < (size_t)st.st_size && (n = read(fd, text + used, (size_t)st.st_size - used)) != 0;
	     used += (size_t)n)
		if (n < 0)
			return NULL;
	text[used] = '\0';
	return text;
}

/* The certificates of a PEM text, concatenated; private keys and other blocks are left out. */
static const char *certificates_of(const struct taker *t, const char *text, unsigned *ret_count)
{
	static const struct {
		const char *begin, *end;
	} kinds[] = { { "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----" },
		      { "-----BEGIN TRUSTED CERTIFICATE-----", "-----END TRUSTED CERTIFICATE-----" } };
	static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\r\n";
	char *found = aj_alloc(t->arena, strlen(text) + 2), *to = found;
	for (const char *at = text; (at = strstr(at, "-----BEGIN ")); at++)
		for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
			size_t begin = strlen(kinds[i].begin), end = strlen(kinds[i].end);
			size_t body = strncmp(at, kinds[i].begin, begin) == 0 ? strspn(at + begin, base64) : 0;
			if (!body || strncmp(at + begin + body, kinds[i].end, end) != 0)
				continue;
			memcpy(to, at, begin + body + end);
			to += begin + body + end;
			*to++ = '\n';
			++*ret_count;
		}
	*to = '\0';
	return found;
}

static void add_file(struct taker *t, const char *target, const char *text, const char *why)
{
	*AJ_PUSH(t->arena, &t->request->settings) = (struct aj_setting_file){ target, text, why };
}

/* Whether the jail shows the file at this path, like the host's own certificates. */
static bool is_shown(const struct taker *t, const char *path)
{
	static const char *const shown[] = { "/usr", "/etc/ssl/certs", "/etc/pki" };
	char real[PATH_MAX];
	bool at_path = false, at_file = false;
	for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
		at_path |= aj_path_within(path, shown[i]);
		at_file |= realpath(path, real) && aj_path_within(real, shown[i]);
	}
	return at_path && at_file && strcmp(t->policy->rootfs, "host") == 0;
}

/* where: the variable or the key of a file that names `path`. */
static void take_certificates(struct taker *t, const char *variable, const char *path, const char *where)
{
	unsigned count = 0;
	const char *target = NULL;
	if (is_shown(t, path)) {
		set(t, variable, path);
		return;
	}
	for (size_t i = 0; i < t->copied.count && !target; i += 2)
		if (strcmp(t->copied.items[i], path) == 0)
			target = t->copied.items[i + 1];
	if (!target) {
		cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		const char *text = read_text(t, fd, FILE_MAX), *found = text ? certificates_of(t, text, &count) : NULL;
		if (!count) {
			SAY(t, "%s is not passed: `%s`: %s", where, path,
			    text ? "no certificate in PEM form" : strerrordesc_np(errno));
			return;
		}
		target = aj_printf(t->arena, AJ_SETTINGS "/%s.pem", variable);
		add_file(t, target, found, "certificates of the caller's");
		*AJ_PUSH(t->arena, &t->copied) = path;
		*AJ_PUSH(t->arena, &t->copied) = target;
	}
	set(t, variable, target);
	SAY(t, "%s is passed: the jail has a copy of the certificates in `%s`", where, path);
}

static void take_variable(struct taker *t, const char *name, bool certificates)
{
	const char *value = getenv(name);
	if (!value || !*value || is_set(t, name))
		return;
	if (certificates)
		take_certificates(t, name, value, name);
	else if (has_secret(t, value))
		SAY(t, "%s is not passed: it contains a password or a token; use --env %s to pass it anyway", name, name);
	else {
		set(t, name, value);
		SAY(t, "%s is passed%s", name, advice(t, add_hosts(t, "", value)));
	}
}

static const char *trimmed(const struct taker *t, const char *text, size_t bytes)
{
	static const char blanks[] = " \t\r";
	while (bytes && strchr(blanks, *text))
		text++, bytes--;
	while (bytes && strchr(blanks, text[bytes - 1]))
		bytes--;
	return aj_strndup(t->arena, text, bytes);
}

static bool is_key(const struct config *config, const char *key)
{
	for (size_t i = 0; i < sizeof config->keys / sizeof *config->keys && config->keys[i]; i++)
		if (fnmatch(config->keys[i], key, 0) == 0)
			return true;
	return false;
}

static bool is_here(const struct config *config, const char *section)
{
	bool any = !config->sections[0];
	for (size_t i = 0; i < sizeof config->sections / sizeof *config->sections && config->sections[i]; i++)
		any |= strncmp(section, config->sections[i], strlen(config->sections[i])) == 0;
	return any;
}

/* Reject TOML arrays, tables and multi-line strings: later lines would be lost. */
static bool is_whole(const char *value)
{
	return *value && !strchr("[{", *value) && strncmp(value, "\"\"\"", 3) != 0 && strncmp(value, "'''", 3) != 0;
}

static void take_certificate_key(struct taker *t, const struct config *config, const char *file, const char *value)
{
	size_t bytes = strlen(value);
	const char *where = aj_printf(t->arena, "`%s` of ~/%s", config->certificate_key, file);
	if (bytes > 1 && strchr("\"'", *value) && value[bytes - 1] == *value)
		value = aj_strndup(t->arena, value + 1, bytes - 2);
	if (is_set(t, config->certificate_variable))
		return;
	if (*value == '/')
		take_certificates(t, config->certificate_variable, value, where);
	else
		SAY(t, "%s is not passed: `%s` is not an absolute path", where, value);
}

/* The length of a line without its comment. */
static size_t without_comment(const char *line, size_t bytes)
{
	for (size_t i = 1; i < bytes; i++)
		if (strchr("#;", line[i]) && strchr(" \t]", line[i - 1]))
			return i;
	return bytes;
}

static void take_lines(struct taker *t, const struct config *config, const char *file, const char *text)
{
	char *kept = aj_alloc(t->arena, strlen(text) + 2), *to = kept;
	const char *hosts = "", *section = "";
	unsigned passed = 0, secret = 0;
	bool in_kept = false; /* whether the line before this one is passed */
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		size_t bytes = without_comment(line, strcspn(line, "\n")),
		       equals = strcspn(line, config->continued ? "=:\n" : "=\n");
		const char *whole = trimmed(t, line, bytes), *key, *value;
		if (!*whole || strchr("#;", *whole))
			continue;
		const bool continues = config->continued && in_kept && strchr(" \t", *line);
		if (*whole == '[' && !continues) {
			section = whole;
			in_kept = false;
			if (strchr(whole, '='))
				continue;
			memcpy(to, line, bytes);
			to += bytes;
			*to++ = '\n';
			continue;
		}
		key = trimmed(t, line, equals < bytes ? equals : bytes);
		value = continues ? whole : equals < bytes ? trimmed(t, line + equals + 1, bytes - equals - 1) : "";
		if (!continues && strcmp(key, config->certificate_key) == 0)
			take_certificate_key(t, config, file, value);
		const bool wanted = continues ||
		                    (is_here(config, section) && is_key(config, key) && (config->continued || is_whole(value)));
		const bool hidden = wanted && (has_secret(t, value) || (continues && strchr(value, '=')));
		secret += hidden;
		in_kept = wanted && (!hidden || continues);
		if (!wanted || hidden)
			continue;
		hosts = add_hosts(t, hosts, value);
		memcpy(to, line, bytes);
		to += bytes;
		*to++ = '\n';
		passed++;
	}
	*to = '\0';
	if (secret)
		SAY(t, "of ~/%s, %u line%s with a password or a token %s not passed", file, secret, secret == 1 ? "" : "s",
		    secret == 1 ? "is" : "are");
	if (!passed || (config->variable && is_set(t, config->variable)))
		return;
	add_file(t, config->target, kept, "the caller's package registries");
	if (config->variable)
		set(t, config->variable, config->target);
	SAY(t, "the registries of ~/%s are passed%s", file, advice(t, hosts));
}

static void take_config(struct taker *t, const struct config *config, int home)
{
	for (size_t i = 0; i < sizeof config->paths / sizeof *config->paths && config->paths[i]; i++) {
		cleanup_fd int fd = aj_beneath_open(home, config->paths[i], O_RDONLY | O_NOCTTY);
		if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
			continue;
		const char *text = read_text(t, fd, CONFIG_MAX);
		if (text)
			take_lines(t, config, config->paths[i], text);
		else
			SAY(t, "~/%s is not passed: %s", config->paths[i],
			    errno == ELOOP ? "a component of the path is a symlink" : strerrordesc_np(errno));
		return;
	}
}

void aj_network_settings_take(struct aj_request *request, const struct aj_policy *policy, struct aj_arena *arena)
{
	struct taker t = { .request = request, .policy = policy, .arena = arena };
	if (!policy->pass_settings || request->is_snippet || policy->network < AJ_NET_ALLOW)
		return;
	for (size_t i = 0; certificate_variables[i]; i++)
		take_variable(&t, certificate_variables[i], true);
	for (size_t i = 0; registry_variables[i]; i++)
		take_variable(&t, registry_variables[i], false);
	const char *home = aj_home_of_caller(arena);
	cleanup_fd int dir = home ? aj_beneath_open(AT_FDCWD, home, O_PATH | O_DIRECTORY) : -1;
	if (home && dir < 0)
		SAY(&t, "the registries of `%s` are not passed: %s", home, strerrordesc_np(errno));
	for (size_t i = 0; dir >= 0 && i < sizeof configs / sizeof *configs; i++)
		take_config(&t, &configs[i], dir);
}
