/* Inflates a loose object and compares its hash with its name, as `git fsck` does: git itself checks only some objects when it reads them, and
 * `git pull` does not write an object that is there. It keeps no content, and inflates no more than its caller allows. */
#include "workspace/git/object.h"

#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/sha1.h"
#include "base/sha256.h"

enum {
	CHUNK = 32 << 10,
	HEAD_MAX = 32,
	SHA1_NAME = AJ_SHA1_HEX,
	SHA256_NAME = AJ_SHA256_HEX /* with a `/` in place of the NUL */
};

struct object {
	z_stream z;
	bool sha256;
	struct aj_sha1 sha1_sum;
	struct aj_sha256 sha256_sum;
	char head[HEAD_MAX]; /* `blob 12` and a NUL */
	size_t head_bytes;
	bool begun;           /* the head is whole */
	uint64_t size, bytes; /* of the content: what the head says, and what came */
};

/* `blob 12`; git writes no zero ahead. */
static bool read_head(struct object *o)
{
	static const char *const types[] = { "blob ", "tree ", "commit ", "tag " };
	const char *digits = NULL;
	for (size_t i = 0; i < sizeof types / sizeof *types && !digits; i++)
		if (strncmp(o->head, types[i], strlen(types[i])) == 0)
			digits = o->head + strlen(types[i]);
	size_t count = digits ? strspn(digits, "0123456789") : 0;
	if (count == 0 || count > 18 || digits[count] || (digits[0] == '0' && count > 1))
		return false;
	for (size_t i = 0; i < count; i++)
		o->size = o->size * 10 + (uint64_t)(digits[i] - '0');
	return true;
}

static void sum(struct object *o, const unsigned char *data, size_t bytes)
{
	if (o->sha256)
		aj_sha256_add(&o->sha256_sum, data, bytes);
	else
		aj_sha1_add(&o->sha1_sum, data, bytes);
}

static bool take(struct object *o, const unsigned char *data, size_t bytes, uint64_t *budget)
{
	size_t at = 0;
	sum(o, data, bytes);
	for (; !o->begun && at < bytes; at++) {
		if (o->head_bytes == sizeof o->head)
			return false;
		o->head[o->head_bytes++] = (char)data[at];
		if (!data[at]) {
			o->begun = true;
			if (!read_head(o) || o->size > *budget)
				return false;
			*budget -= o->size;
		}
	}
	o->bytes += bytes - at;
	return !o->begun || o->bytes <= o->size;
}

/* 1: the stream has ended, with the last byte of the file's chunk; 0: more must come. */
static int inflate_chunk(struct object *o, unsigned char *in, size_t in_bytes, uint64_t *budget)
{
	unsigned char out[CHUNK];
	o->z.next_in = in;
	o->z.avail_in = (uInt)in_bytes;
	do {
		o->z.next_out = out;
		o->z.avail_out = sizeof out;
		int result = inflate(&o->z, Z_NO_FLUSH);
		if ((result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) ||
		    !take(o, out, sizeof out - o->z.avail_out, budget))
			return -1;
		if (result == Z_STREAM_END)
			return o->z.avail_in ? -1 : 1;
	} while (o->z.avail_in || !o->z.avail_out);
	return 0;
}

static bool is_named(struct object *o, const char *name)
{
	char hex[AJ_SHA256_HEX];
	if (o->sha256)
		aj_sha256_end(&o->sha256_sum, hex);
	else
		aj_sha1_end(&o->sha1_sum, hex);
	return strncmp(hex, name, 2) == 0 && name[2] == '/' && strcmp(hex + 2, name + 3) == 0;
}

bool aj_gitobject_fits(int fd, const char *name, uint64_t *budget_bytes)
{
	struct object o = { .sha256 = strlen(name) == SHA256_NAME };
	unsigned char in[CHUNK];
	int ended = 0;
	ssize_t n = 0;
	if ((!o.sha256 && strlen(name) != SHA1_NAME) || inflateInit(&o.z) != Z_OK)
		return false;
	if (o.sha256)
		aj_sha256_begin(&o.sha256_sum);
	else
		aj_sha1_begin(&o.sha1_sum);
	while (ended == 0 && (n = read(fd, in, sizeof in)) > 0)
		ended = inflate_chunk(&o, in, (size_t)n, budget_bytes);
	bool whole = ended == 1 && read(fd, in, 1) == 0 && o.begun && o.bytes == o.size;
	inflateEnd(&o.z);
	return whole && is_named(&o, name);
}
