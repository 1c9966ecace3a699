/* The floors that the warm path is compared with: a warm Python behind a socket (floor.py), and command lines. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

struct floor {
	pid_t pid;
	int fd;
};

double now_us(void);
__attribute__((format(printf, 1, 2))) _Noreturn void die(const char *fmt, ...);

/* python: its path; folder: where floor_fork.so is; modules: to import first, NULL-terminated. */
void floor_start(struct floor *floor, const char *python, const char *script, const char *folder, char *const modules[]);
void floor_end(struct floor *floor);
/* One frame there and one back, in microseconds; `ret` (may be NULL) is the number that comes back. */
double floor_ask(const struct floor *floor, char kind, const char *text, double *ret);
/* A frame more, of the same question. */
void floor_rest(const struct floor *floor);

/* From posix_spawn to wait4, standard streams on /dev/null, in microseconds. Dies when the program fails. */
double spawn_once(char *const argv[]);
/* Ended in `us` microseconds with so many at a time, a second. */
double spawn_flow(char *const argv[], int clients, double us);
