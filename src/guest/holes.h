/* Fills free slots among a zygote's objects. A newborn jail would otherwise allocate there, and copy the page of each slot that
 * it writes. */
#pragma once

/* Call in a zygote that is ready to serve: objects that are made from here on lie side by side. */
void aj_holes_fill(void);
