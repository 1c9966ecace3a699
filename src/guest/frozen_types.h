/* The classes of syntax trees, which no code may change while the check reads trees through them. */
#pragma once

/* NULL, or what is missing: gives check/plain_code.py the function freeze_type(class), which returns whether the class is immutable now. */
const char *aj_frozen_types_prepare(void);
