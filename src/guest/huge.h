/* Huge pages for Python's memory. */
#pragma once

/* Before Python starts in a zygote: all its arenas lie in pairs where a huge page can be, and not the first two alone. */
void aj_huge_all_arenas(void);
/* In a zygote that is ready to serve: turn its memory into huge pages where the kernel has them. Later arenas are ordinary. */
void aj_huge_collapse(void);
