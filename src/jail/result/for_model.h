/* A result as a text for a model to read. */
#pragma once
#include "base/json/json.h"

/* How the run ended, where, and what to do: at most 2000 bytes of UTF-8 (new reference), which include claims of the jail. */
json_t *aj_for_model_json(const json_t *result);
