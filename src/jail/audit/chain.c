/* Seals and reads the lines of an audit file.
 * It opens no file and repairs none: an incomplete line needs a person's attention. */
#include "jail/audit/chain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"

#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"
#define HASH_MEMBER ",\"hash\":\""
enum {
	HEX = AJ_SHA256_HEX - 1,
	/* ,"hash":"<64 hex>"} at the end of every line */
	SEAL = sizeof HASH_MEMBER - 1 + HEX + 2,
	/* ,"seq":N,"prev":"<64 hex>" with the largest number */
	LINK = sizeof ",\"seq\":,\"prev\":\"\"" - 1 + 20 + HEX,
	LOCK_WAIT_US = 10 * 1000000,
};

const struct aj_chain_link aj_chain_start = { 0, ZEROS };

static bool is_hash(const char *text)
{
	return text && strlen(text) == HEX && strspn(text, "0123456789abcdef") == HEX;
}

char *aj_chain_seal(const char *object, size_t bytes, const struct aj_chain_link *last, size_t *ret_bytes)
{
	size_t room = bytes + LINK + SEAL + 2;
	char *line = malloc(room), hash[AJ_SHA256_HEX];
	if (!line)
		return NULL;
	memcpy(line, object, bytes);
	size_t at = bytes - 1; /* over the closing brace */
	at += (size_t)snprintf(line + at, room - at, ",\"seq\":%" PRIu64 ",\"prev\":\"%s\"}", last->seq + 1, last->hash);
	aj_sha256(line, at, hash);
	at += (size_t)snprintf(line + at - 1, room - at + 1, HASH_MEMBER "%s\"}\n", hash) - 1;
	*ret_bytes = at;
	return line;
}

bool aj_chain_read(char *line, size_t bytes, struct aj_chain_record *ret, char *ret_why, size_t why_bytes)
{
	if (bytes < SEAL + 2 || memcmp(line + bytes - SEAL, HASH_MEMBER, strlen(HASH_MEMBER)) != 0 ||
	    memcmp(line + bytes - 2, "\"}", 2) != 0) {
		snprintf(ret_why, why_bytes, "it does not end with a hash");
		return false;
	}
	char *seal = line + bytes - SEAL;
	*seal = '}'; /* in place of the comma: the object that was hashed */
	aj_sha256(line, bytes - SEAL + 1, ret->hash);
	*seal = ',';
	if (memcmp(ret->hash, line + bytes - 2 - HEX, HEX) != 0) {
		snprintf(ret_why, why_bytes, "its hash does not match its bytes");
		return false;
	}
	ret->json = json_loadb(line, bytes, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	if (!json_is_object(ret->json)) {
		snprintf(ret_why, why_bytes, "it is not a JSON object, or has a key twice");
		json_decref(ret->json);
		return false;
	}
	json_int_t seq = json_integer_value(json_object_get(ret->json, "seq"));
	ret->seq = (uint64_t)seq;
	ret->prev = json_string_value(json_object_get(ret->json, "prev"));
	if (seq < 1 || !is_hash(ret->prev)) {
		snprintf(ret_why, why_bytes, "it has no seq and prev: it is not a record of a chain");
		json_decref(ret->json);
		return false;
	}
	return true;
}

/* Read the end of the file into `buffer`, and check the last line in it. */
static int last_line(int fd, char *buffer, off_t size, struct aj_chain_link *ret, char *ret_why, size_t why_bytes)
{
	size_t want = size > AJ_CHAIN_LINE_BYTES + 1 ? AJ_CHAIN_LINE_BYTES + 1 : (size_t)size, have = 0;
	while (have < want) {
		ssize_t n = pread(fd, buffer + have, want - have, size - (off_t)(want - have));
		if (n <= 0) {
			snprintf(ret_why, why_bytes, "its end cannot be read: %s",
			         n < 0 ? strerror(errno) : "the file has become shorter");
			return -1;
		}
		have += (size_t)n;
	}
	const char *before = memrchr(buffer, '\n', have - 1);
	size_t start = before ? (size_t)(before - buffer) + 1 : 0;
	long long offset = size - (off_t)(have - start);
	if (buffer[have - 1] != '\n') {
		snprintf(ret_why, why_bytes,
		         "its last line (from byte %lld) is cut: after a crash, on a full disk, or by a change of the file",
		         offset);
		return -1;
	}
	if (!before && (off_t)have < size) {
		snprintf(ret_why, why_bytes, "its last line is longer than any record");
		return -1;
	}
	struct aj_chain_record record;
	char why[160];
	if (!aj_chain_read(buffer + start, have - 1 - start, &record, why, sizeof why)) {
		snprintf(ret_why, why_bytes, "its last line (from byte %lld) is not a valid record: %s", offset, why);
		return -1;
	}
	json_decref(record.json);
	ret->seq = record.seq;
	memcpy(ret->hash, record.hash, sizeof ret->hash);
	return 0;
}

int aj_chain_tail(int fd, struct aj_chain_link *ret, off_t *ret_bytes, char *ret_why, size_t why_bytes)
{
	struct stat st;
	if (fstat(fd, &st) < 0) {
		snprintf(ret_why, why_bytes, "its size cannot be read: %s", strerror(errno));
		return -1;
	}
	*ret_bytes = st.st_size;
	*ret = aj_chain_start;
	if (st.st_size == 0)
		return 0;
	char *buffer = malloc(AJ_CHAIN_LINE_BYTES + 1);
	if (!buffer) {
		snprintf(ret_why, why_bytes, "its end cannot be read: %s", strerror(ENOMEM));
		return -1;
	}
	int r = last_line(fd, buffer, st.st_size, ret, ret_why, why_bytes);
	free(buffer);
	return r;
}

int aj_chain_lock(int fd, bool exclusive)
{
	int64_t deadline_us = aj_now_us() + LOCK_WAIT_US;
	struct timespec pause = { .tv_nsec = 200000 };
	/* flock() takes no time limit, and a library may not use the process's alarm. */
	while (flock(fd, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) < 0) {
		if (errno != EINTR && (errno != EWOULDBLOCK || aj_now_us() >= deadline_us))
			return -1;
		nanosleep(&pause, NULL);
	}
	return 0;
}

void aj_chain_unlock(int fd)
{
	flock(fd, LOCK_UN);
}
