/* The jail's end of a control channel, in a test's hands: it says what a runner would. */
#pragma once
#include <criterion/criterion.h>
#include <string.h>

#include "base/fd.h"
#include "base/frame.h"

static inline void say_bytes(int theirs, uint8_t kind, const void *body, size_t bytes)
{
	unsigned char header[AJ_FRAME_HEADER];
	aj_frame_header(header, (uint32_t)bytes, kind);
	cr_assert_eq(aj_write_all(theirs, header, sizeof header), 0);
	cr_assert_eq(aj_write_all(theirs, body, bytes), 0);
}

static inline void say(int theirs, uint8_t kind, const char *body)
{
	say_bytes(theirs, kind, body, strlen(body));
}
