/* Frames on a byte stream: a length of 4 bytes, big endian, then that many bytes. On a snippet's control socket the first of
 * these is the frame's kind; a client's frames are JSON (docs/reference/protocol.md). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AJ_FRAME_LENGTH = 4, AJ_FRAME_HEADER = 5 /* with the kind */, AJ_NONCE_BYTES = 8, AJ_ENTROPY_BYTES = 64 };

/* Kinds on a snippet's control socket. */
enum aj_frame_kind {
	AJ_FRAME_FILTER = 'F',   /* to the guest: BPF instructions */
	AJ_FRAME_REPORTED = 'f', /* the same, with their refusals reported */
	AJ_FRAME_PRELOAD = 'P',  /* to the guest: module names, one a line */
	AJ_FRAME_PLAN = 'Z',     /* to the guest, before the filter: become a zygote; body: a packed plan */
	AJ_FRAME_SESSION = 'H',  /* to the guest, before the filter: several snippets come; empty, or one byte: also branches */
	AJ_FRAME_POLICY = 'O',   /* to the guest, after either of these: JSON, the policy of all its snippets */
	AJ_FRAME_LAYER = 'o', /* to an armed guest, before its first snippet: JSON, the keys of the layer that a request chose */
	AJ_FRAME_REQUEST = 'Q', /* to the guest: JSON; only after it is armed. The guest exits after its answer */
	AJ_FRAME_SNIPPET = 'N', /* to the guest: the same after a nonce, with which its result begins; more may follow */
	/* To the guest, between snippets: fork; body: AJ_ENTROPY_BYTES of random for the copy. The original answers with the same
	 * kind and an errno in four bytes, 0 on success; the copy reports on its own socket that it is armed. */
	AJ_FRAME_BRANCH = 'B',
	AJ_FRAME_TOOL = 'T', /* to the guest: a tool's value or error, JSON */
	/* From the guest, before it is armed: four bytes, the number of its filter's listener in the guest. The guest closes the
	 * listener when the next frame arrives. */
	AJ_FRAME_LISTENER = 'L',
	AJ_FRAME_ARMED = 'A',         /* from the guest: the filter stands, no code has been read yet */
	AJ_FRAME_FAILED = 'E',        /* from the guest: the runner could not start in this tree, text */
	AJ_FRAME_REFUSED = 'K',       /* from the guest: the kernel refused a wall, text */
	AJ_FRAME_STARTED = 'S',       /* from the guest: the check passed and the code starts, so `rejected` is ruled out */
	AJ_FRAME_RESULT = 'R',        /* from the guest: JSON claim */
	AJ_FRAME_CALL = 'C',          /* from the guest: a tool is called, JSON */
	AJ_FRAME_READY = 'Y',         /* from a zygote: jails can be born */
	AJ_FRAME_IMPORT = 'I',        /* from a zygote: the module that it imports now, text; empty: done */
	AJ_FRAME_IMPORT_FAILED = 'X', /* from a zygote: the first import that failed, and why, text; at most once */
};

void aj_frame_put_length(void *out, size_t bytes);
size_t aj_frame_length(const void *header);
/* Of a control socket's frame; `body_bytes` does not count the kind. */
void aj_frame_header(unsigned char out[AJ_FRAME_HEADER], uint32_t body_bytes, uint8_t kind);

/* Collects frames from arriving bytes. Ready when zeroed and cap_bytes is set. */
struct aj_frame_reader {
	size_t cap_bytes; /* largest length */
	unsigned char head[AJ_FRAME_LENGTH];
	size_t head_bytes;
	char *body; /* owned: what arrived of a frame that did not come in one piece */
	size_t have, want, room;
};

/* Consume bytes of `data`. Returns the number used, or -1: the frame is empty or too large. When a frame is whole *ret_body
 * points to its reader->want bytes, in `data` or in the reader; call aj_frame_next() before feeding more. Aborts when out of
 * memory. */
long aj_frame_feed(struct aj_frame_reader *reader, const char *data, size_t bytes, const char **ret_body);
/* How many bytes complete the length, or the frame. */
size_t aj_frame_missing(const struct aj_frame_reader *reader);
/* Room for the next `bytes` of a partial body, for a caller that reads into it directly; NULL: feed instead. */
char *aj_frame_room(struct aj_frame_reader *reader, size_t bytes);
/* So many bytes were read there. Returns the body when the frame is whole. */
const char *aj_frame_filled(struct aj_frame_reader *reader, size_t bytes);
void aj_frame_next(struct aj_frame_reader *reader); /* frees the body */
