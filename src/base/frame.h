/* Messages on a byte stream: 5-byte header (length, little endian, and kind), then the body.
 * The length is checked against a cap before a byte of the body is stored. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AJ_FRAME_HEADER = 5, AJ_NONCE_BYTES = 8, AJ_ENTROPY_BYTES = 64 };

/* Kinds on a snippet's control socket. */
enum aj_frame_kind {
	AJ_FRAME_FILTER = 'F',   /* to the guest: BPF instructions */
	AJ_FRAME_REPORTED = 'f', /* the same, with their refusals reported */
	AJ_FRAME_PRELOAD = 'P',  /* to the guest: module names, one a line */
	AJ_FRAME_PLAN = 'Z',     /* to the guest, before the filter: become a zygote; body: a packed plan */
	AJ_FRAME_SESSION = 'H', /* to the guest, before the filter: more than one snippet will come; empty, or one byte: also branches */
	AJ_FRAME_POLICY = 'O',  /* to the guest, after either of these: JSON, the policy of all its snippets */
	AJ_FRAME_REQUEST = 'Q', /* to the guest: JSON; only after it is armed. The guest exits after its answer */
	AJ_FRAME_SNIPPET = 'N', /* to the guest: the same after a nonce, with which its result begins; more may follow */
	/* To the guest, between snippets: fork; body: AJ_ENTROPY_BYTES of random for the copy. The original answers with the same kind
	 * and an errno in four bytes, 0 on success; the copy reports on its own socket that it is armed. */
	AJ_FRAME_BRANCH = 'B',
	AJ_FRAME_TOOL = 'T', /* to the guest: a tool's value or error, JSON */
	/* From the guest, before it is armed: four bytes, the number of its filter's listener in the guest. The guest closes the
	 * listener when the next frame arrives. */
	AJ_FRAME_LISTENER = 'L',
	AJ_FRAME_ARMED = 'A',   /* from the guest: the filter stands, no code has been read yet */
	AJ_FRAME_FAILED = 'E',  /* from the guest: the runner could not start in this tree, text */
	AJ_FRAME_REFUSED = 'K', /* from the guest: the kernel refused a wall, text */
	AJ_FRAME_STARTED = 'S', /* from the guest: the check passed and the code starts, so `rejected` is ruled out */
	AJ_FRAME_RESULT = 'R',  /* from the guest: JSON claim */
	AJ_FRAME_CALL = 'C',    /* from the guest: a tool is called, JSON */
	AJ_FRAME_READY = 'Y',   /* from a zygote: jails can be born */
	AJ_FRAME_IMPORT = 'I',  /* from a zygote: the module that it imports now, text; empty: done */
};

size_t aj_frame_length(const unsigned char header[AJ_FRAME_HEADER]);
void aj_frame_header(unsigned char out[AJ_FRAME_HEADER], uint32_t body_bytes, uint8_t kind);

/* Collects frames from arriving bytes. */
struct aj_frame_reader {
	size_t cap_bytes; /* largest body */
	unsigned char header[AJ_FRAME_HEADER];
	size_t have; /* bytes of header and body so far */
	char *body;  /* owned; one byte longer than the body, NUL-terminated */
	size_t body_bytes;
	uint8_t kind;
};

/* Consume `data`; returns the number of bytes used, or -1 (EMSGSIZE beyond the cap, ENOMEM).
 * When *ret_done, kind/body/body_bytes hold a frame; call aj_frame_next() before feeding more. */
long aj_frame_feed(struct aj_frame_reader *reader, const char *data, size_t bytes, bool *ret_done);
/* The buffer for the rest of a partial body, for a caller that reads into it directly, and its length; 0: no body is begun. */
char *aj_frame_room(const struct aj_frame_reader *reader, size_t *ret_bytes);
/* So many bytes were read there. True: the frame is complete. */
bool aj_frame_filled(struct aj_frame_reader *reader, size_t bytes);
void aj_frame_next(struct aj_frame_reader *reader); /* frees the body */
