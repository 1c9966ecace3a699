/* An address and a port, as a struct sockaddr and as text. */
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

union aj_sockaddr {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static inline socklen_t aj_sockaddr_make(union aj_sockaddr *e, int family, const uint8_t *address, uint16_t port)
{
	memset(e, 0, sizeof *e);
	e->any.sa_family = (sa_family_t)family;
	if (family == AF_INET) {
		e->v4.sin_port = htons(port);
		memcpy(&e->v4.sin_addr, address, 4);
		return sizeof e->v4;
	}
	e->v6.sin6_port = htons(port);
	memcpy(&e->v6.sin6_addr, address, 16);
	return sizeof e->v6;
}

static inline const uint8_t *aj_sockaddr_bytes(const union aj_sockaddr *e)
{
	return e->any.sa_family == AF_INET ? (const uint8_t *)&e->v4.sin_addr : e->v6.sin6_addr.s6_addr;
}

static inline uint16_t aj_sockaddr_port(const union aj_sockaddr *e)
{
	return ntohs(e->any.sa_family == AF_INET ? e->v4.sin_port : e->v6.sin6_port);
}

static inline void aj_sockaddr_text(int family, const uint8_t *address, char out[46])
{
	if (!inet_ntop(family, address, out, 46))
		out[0] = '\0';
}
