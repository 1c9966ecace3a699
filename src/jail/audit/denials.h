/* `denials` of an audit record. */
#pragma once
#include "jail/audit/composer.h"
#include "jail/result/result.h"

json_t *aj_record_denials(struct aj_composer *composer, const struct aj_result *result);
