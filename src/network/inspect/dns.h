/* DNS messages of a jail: parses one question, writes one answer (RFC 1035, RFC 6891).
 * No message is forwarded and no name is resolved here. A question with a compression pointer is refused. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AJ_DNS_A = 1, AJ_DNS_CNAME = 5, AJ_DNS_AAAA = 28, AJ_DNS_SVCB = 64, AJ_DNS_HTTPS = 65 };
enum { AJ_DNS_OK = 0, AJ_DNS_FORMAT = 1, AJ_DNS_FAILED = 2, AJ_DNS_NO_NAME = 3, AJ_DNS_NOT_BUILT = 4, AJ_DNS_REFUSED = 5 };
enum { AJ_DNS_ANSWER_BYTES = 512 }; /* room for every answer of aj_dns_answer() */

struct aj_dns_query {
	uint16_t id, type, class;
	char name[256];        /* lower case, no final dot; "": the root. A byte that no host name has is shown as `?` */
	size_t question_bytes; /* of the message, behind its header; 0: the question was not readable */
	bool edns;
};

/* 0: answer it; -1: drop it, `ret` is not filled; above 0: answer with this code (AJ_DNS_*), whatever the name. */
int aj_dns_parse(const uint8_t *message, size_t bytes, struct aj_dns_query *ret);

/* Write the answer to the query in `message` to `out`; returns its bytes, or 0 where `room` is too small. `address`: 4 bytes for
 * A, 16 for AAAA; NULL, or another type: no record. `blocked`: in an answer with EDNS, a text that says why the name is blocked
 * (RFC 8914), truncated so that the answer has at most AJ_DNS_ANSWER_BYTES; "": it is not. */
size_t aj_dns_answer(const struct aj_dns_query *query, const uint8_t *message, uint8_t rcode, const void *address, uint32_t ttl_s,
                     const char *blocked, uint8_t *out, size_t room);
