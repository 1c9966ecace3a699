/* Free places among a zygote's objects, which the jails born from it would write to on as many pages. */
#pragma once

/* Call in a zygote that is ready to serve: objects that are made from here on lie side by side. */
void aj_holes_fill(void);
