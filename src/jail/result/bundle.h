/* MIME bundles of a claim, as a notebook would show them: objects of MIME type and data. */
#pragma once
#include <stdbool.h>

#include "base/json/json.h"

/* Is it a list of bundles, each with data as its MIME types say: base64, text without NULs, or any value for a type of JSON? */
bool aj_bundles_are_valid(const json_t *list);
