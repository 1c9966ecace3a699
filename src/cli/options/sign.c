/* Finds the sockets of ssh-agent and gpg-agent, and the public keys that go with them. */
#include "cli/options/sign.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/listing.h"
#include "base/text.h"
#include "policy/host/home.h"

enum { SSH_KEYS_MAX = 20 };

static bool is_socket(const char *path)
{
	struct stat st;
	return path && path[0] == '/' && stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

static void add_ssh_keys(struct aj_signing *signing, struct aj_arena *arena, const char *home)
{
	cleanup_listing struct aj_listing entries = aj_listing_open(aj_printf(arena, "%s/.ssh", home));
	for (const struct dirent *e; signing->public_keys.count < SSH_KEYS_MAX && (e = aj_listing_next(&entries));) {
		size_t bytes = strlen(e->d_name);
		if (bytes > 4 && strcmp(e->d_name + bytes - 4, ".pub") == 0)
			*AJ_PUSH(arena, &signing->public_keys) = aj_printf(arena, ".ssh/%s", e->d_name);
	}
}

/* gpg-agent listens below /run/user where that exists, else in the home of GnuPG. */
static const char *find_gpg_socket(struct aj_arena *arena, const char *home)
{
	static const char name[] = "S.gpg-agent.extra";
	const char *running = aj_printf(arena, "/run/user/%u/gnupg/%s", (unsigned)getuid(), name);
	const char *in_home = aj_printf(arena, "%s/.gnupg/%s", home, name);
	return is_socket(running) ? running : is_socket(in_home) ? in_home : NULL;
}

void aj_signing_find(struct aj_signing *signing, struct aj_arena *arena)
{
	static const char *const keyrings[] = { ".gnupg/pubring.kbx", ".gnupg/pubring.gpg", ".gnupg/trustdb.gpg" };
	const char *ssh = getenv("SSH_AUTH_SOCK"), *home = aj_home_of_caller(arena);
	*signing = (struct aj_signing){ .ssh_socket = is_socket(ssh) ? ssh : NULL,
		                        .gpg_socket = home ? find_gpg_socket(arena, home) : NULL };
	if (signing->ssh_socket && home)
		add_ssh_keys(signing, arena, home);
	for (size_t i = 0; signing->gpg_socket && i < sizeof keyrings / sizeof *keyrings; i++)
		*AJ_PUSH(arena, &signing->public_keys) = keyrings[i];
	if (signing->gpg_socket)
		signing->gpg_redirect = aj_printf(arena, "%%Assuan%%\nsocket=%s\n", signing->gpg_socket);
}
