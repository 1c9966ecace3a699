/* `denials` of an audit record. */
#pragma once
#include "audit/composer.h"
#include "result/result.h"

json_t *aj_record_denials(struct aj_composer *composer, const struct aj_result *result);
