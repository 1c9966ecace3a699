/* Jails that a zygote had made, and told nobody of when it died. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

/* Kill and reap the inits that the dead zygote `zygote` made for the orders from number `first` on. Nobody else waits for those. */
void aj_orphans_end(int proc_fd, pid_t zygote, uint32_t first);
