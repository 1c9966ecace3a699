/* The claim of a guest about its snippet, checked against the table of a result's fields. */
#pragma once
#include <stddef.h>

#include "base/json/json.h"

/* JSON values of a claim, whose tree the host builds. A runner writes at most 200,000 (guest/layer/values/json_writer.py). */
enum { AJ_CLAIM_VALUES = 250000 };

/* Parse the guest's claim, a text that has passed aj_scan_end(), and check the type and size of each member and of their members;
 * NULL with a reason when one is unknown or does not fit. */
json_t *aj_claim_parse(const char *text, size_t bytes, char *ret_reason, size_t reason_bytes);
/* "ok", "error" or "rejected", as aj_claim_parse() has checked. */
const char *aj_claim_status(const json_t *claim);
