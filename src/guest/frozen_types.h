/* Immutable classes of syntax trees: no code can change them while the check reads trees. */
#pragma once

/* Give check/plain_code.py the function freeze_type(class), which returns whether it worked. NULL, or what is missing. */
const char *aj_frozen_types_prepare(void);
