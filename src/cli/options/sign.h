/* The agents' sockets and the public keys that git needs to sign with the caller's keys. Private keys stay with the agents. */
#pragma once
#include "base/arena.h"

struct aj_signing {
	const char *ssh_socket;            /* of ssh-agent; NULL: none */
	const char *gpg_socket;            /* gpg-agent's restricted one, which signs and gives no key away; NULL: none */
	const char *gpg_redirect;          /* text of the file that leads gpg to `gpg_socket` */
	AJ_LIST(const char *) public_keys; /* files, as paths below the home */
};

/* Find the sockets and public keys of this user's agents. */
void aj_signing_find(struct aj_signing *signing, struct aj_arena *arena);
