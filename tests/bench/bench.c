/* Measures command lines side by side: start to end, runs a second, and a launcher's own peak memory.
 * It judges nothing and knows no launcher: what to run comes as tab-separated lines on standard input, from bench.sh.
 *
 *   cell  GROUP NAME FILE ARG...   time from posix_spawn to wait4; the first cell of a group is its unit
 *   flow  NAME FILE ARG...         runs a second with 1, 2, 4 and 16 clients
 *   peak  NAME FILE ARG...         VmHWM of the process while what it started sleeps (ru_maxrss would include its children)
 *   note  TEXT                     printed below the tables
 *
 * FILE is opened as fd 9 for every run ("-": none). Standard streams are /dev/null. Runs of all cells are interleaved in
 * a new random order each round, so that whatever else the machine does hits all of them alike. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_ROWS = 64, MAX_ARGS = 64, EXTRA_FD = 9, FLOW_ROUNDS = 3, PEAK_RUNS = 5 };
static const int clients[] = { 1, 2, 4, 16 };
enum { LOADS = sizeof clients / sizeof *clients };

struct row {
	const char *kind, *group, *name, *file;
	char *argv[MAX_ARGS];
	char failure[80]; /* "" while it works */
	double *ms;       /* cell: one a round */
	double median, p90, least;
	double per_second[LOADS]; /* flow */
	long peak_kib;            /* peak */
};

static struct row rows[MAX_ROWS];
static size_t row_count;
static const char *notes[MAX_ROWS];
static size_t note_count;
extern char **environ;

static _Noreturn void die(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(2);
}

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static pid_t start(struct row *r)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	if (strcmp(r->file, "-") != 0)
		posix_spawn_file_actions_addopen(&actions, EXTRA_FD, r->file, O_RDONLY, 0);
	int e = posix_spawn(&pid, r->argv[0], &actions, NULL, r->argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (e)
		snprintf(r->failure, sizeof r->failure, "cannot be started: %s", strerror(e));
	return e ? -1 : pid;
}

/* A run that fails is no measurement: it takes the whole row out. */
static void judge(struct row *r, int status)
{
	if (status && !r->failure[0])
		snprintf(r->failure, sizeof r->failure, WIFEXITED(status) ? "exit code %d" : "ended by signal %d",
		         WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

static double run_once(struct row *r)
{
	int status = 0;
	struct rusage usage;
	double began = now_ms();
	pid_t pid = start(r);
	if (pid < 0)
		return 0;
	while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR)
		;
	double ms = now_ms() - began;
	judge(r, status);
	return ms;
}

static void shuffle(size_t *order, size_t count)
{
	for (size_t i = count; i > 1; i--) {
		size_t j = (size_t)random() % i, kept = order[i - 1];
		order[i - 1] = order[j];
		order[j] = kept;
	}
}

static size_t rows_of(const char *kind, size_t *order)
{
	size_t count = 0;
	for (size_t i = 0; i < row_count; i++)
		if (strcmp(rows[i].kind, kind) == 0 && !rows[i].failure[0])
			order[count++] = i;
	return count;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void measure_cells(int rounds)
{
	size_t order[MAX_ROWS];
	for (int round = -2; round < rounds; round++) { /* two rounds to warm up */
		size_t count = rows_of("cell", order);
		shuffle(order, count);
		for (size_t i = 0; i < count; i++) {
			struct row *r = &rows[order[i]];
			double ms = run_once(r);
			if (!r->ms)
				r->ms = calloc((size_t)rounds, sizeof *r->ms);
			if (round >= 0)
				r->ms[round] = ms;
		}
	}
	size_t count = rows_of("cell", order);
	for (size_t i = 0; i < count; i++) {
		struct row *r = &rows[order[i]];
		qsort(r->ms, (size_t)rounds, sizeof *r->ms, ascending);
		r->least = r->ms[0];
		r->median = (r->ms[(rounds - 1) / 2] + r->ms[rounds / 2]) / 2;
		r->p90 = r->ms[(size_t)((rounds - 1) * 0.9)];
	}
}

/* As many as fit into `ms` with that many at a time; what is still running at the end is waited for and not counted. */
static double flow(struct row *r, int load, double ms)
{
	int status, running = 0, ended = 0;
	double began = now_ms(), took = 0;
	while (running < load && start(r) > 0)
		running++;
	while (running > 0) {
		if (waitpid(-1, &status, 0) < 0)
			continue;
		running--;
		judge(r, status);
		if (now_ms() - began > ms)
			continue;
		ended++;
		took = now_ms() - began;
		if (!r->failure[0] && start(r) > 0)
			running++;
	}
	return took > 0 ? ended / took * 1e3 : 0;
}

static void measure_flows(double ms)
{
	size_t order[MAX_ROWS], jobs[MAX_ROWS * LOADS];
	double seen[MAX_ROWS][LOADS][FLOW_ROUNDS] = { 0 };
	size_t count = rows_of("flow", order);
	for (size_t i = 0; i < count; i++)
		run_once(&rows[order[i]]);
	for (int round = 0; round < FLOW_ROUNDS; round++) {
		for (size_t i = 0; i < count * LOADS; i++)
			jobs[i] = i;
		shuffle(jobs, count * LOADS);
		for (size_t i = 0; i < count * LOADS; i++) {
			size_t row = order[jobs[i] / LOADS], load = jobs[i] % LOADS;
			if (!rows[row].failure[0])
				seen[row][load][round] = flow(&rows[row], clients[load], ms);
		}
	}
	for (size_t i = 0; i < count; i++)
		for (size_t load = 0; load < LOADS; load++) {
			qsort(seen[order[i]][load], FLOW_ROUNDS, sizeof(double), ascending);
			rows[order[i]].per_second[load] = seen[order[i]][load][FLOW_ROUNDS / 2];
		}
}

static long high_water_kib(pid_t pid)
{
	char path[40], line[200];
	long kib = 0;
	snprintf(path, sizeof path, "/proc/%d/status", pid);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "VmHWM: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

/* The least of a few runs: what else is mapped around the same pages only adds. */
static void measure_peaks(void)
{
	size_t order[MAX_ROWS], count = rows_of("peak", order);
	for (size_t i = 0; i < count; i++)
		for (int run = 0; run < PEAK_RUNS; run++) {
			struct row *r = &rows[order[i]];
			int status;
			pid_t pid = start(r);
			if (pid < 0)
				break;
			usleep(400000); /* what it runs sleeps for a second: it is well past its set-up now */
			long kib = high_water_kib(pid);
			if (run == 0 || kib < r->peak_kib)
				r->peak_kib = kib;
			waitpid(pid, &status, 0);
			judge(r, status);
			if (r->failure[0])
				break;
		}
}

static const struct row *unit_of(const struct row *r)
{
	for (size_t i = 0; i < row_count; i++)
		if (strcmp(rows[i].kind, "cell") == 0 && strcmp(rows[i].group, r->group) == 0)
			return &rows[i];
	return r;
}

static double ratio(const struct row *r)
{
	const struct row *unit = unit_of(r);
	return unit->median > 0 ? r->median / unit->median : 0;
}

static void print_tables(int rounds)
{
	const char *group = "";
	for (size_t i = 0; i < row_count; i++) {
		const struct row *r = &rows[i];
		if (strcmp(r->kind, "cell") != 0)
			continue;
		if (strcmp(group, r->group) != 0)
			printf("\n%-52s %9s %9s %9s   (%d runs, ms)\n", r->group, "median", "p90", "ratio", rounds);
		group = r->group;
		if (r->failure[0])
			printf("  %-50s failed: %s\n", r->name, r->failure);
		else
			printf("  %-50s %9.2f %9.2f %8.2fx\n", r->name, r->median, r->p90, ratio(r));
	}
	printf("\n%-52s", "runs a second, by number of clients");
	for (size_t load = 0; load < LOADS; load++)
		printf(" %9d", clients[load]);
	for (size_t i = 0; i < row_count; i++) {
		const struct row *r = &rows[i];
		if (strcmp(r->kind, "flow") != 0)
			continue;
		printf("\n  %-50s", r->name);
		if (r->failure[0])
			printf(" failed: %s", r->failure);
		for (size_t load = 0; load < LOADS && !r->failure[0]; load++)
			printf(" %9.1f", r->per_second[load]);
	}
	printf("\n\n%-52s %9s\n", "peak memory of the launcher itself", "KiB");
	for (size_t i = 0; i < row_count; i++)
		if (strcmp(rows[i].kind, "peak") == 0) {
			if (rows[i].failure[0])
				printf("  %-50s failed: %s\n", rows[i].name, rows[i].failure);
			else
				printf("  %-50s %9ld\n", rows[i].name, rows[i].peak_kib);
		}
	for (size_t i = 0; i < note_count; i++)
		printf("%s%s\n", i ? "" : "\n", notes[i]);
}

static void put_string(const char *text)
{
	putchar('"');
	for (; *text; text++)
		if (*text == '"' || *text == '\\')
			printf("\\%c", *text);
		else if ((unsigned char)*text < 0x20)
			printf("\\u%04x", *text);
		else
			putchar(*text);
	putchar('"');
}

static void put_key(const char *key, const char *text)
{
	put_string(key);
	putchar(':');
	put_string(text);
}

static void print_json(int rounds)
{
	struct utsname u;
	uname(&u);
	printf("{\"machine\":{");
	put_key("kernel", u.release);
	printf(",\"cpus\":%ld},\"runs\":%d,\"rows\":[", sysconf(_SC_NPROCESSORS_ONLN), rounds);
	for (size_t i = 0; i < row_count; i++) {
		const struct row *r = &rows[i];
		printf(i ? ",\n{" : "\n{");
		put_key("kind", r->kind);
		putchar(',');
		put_key("group", r->group);
		putchar(',');
		put_key("name", r->name);
		if (r->failure[0]) {
			putchar(',');
			put_key("failure", r->failure);
		} else if (strcmp(r->kind, "cell") == 0) {
			printf(",\"median_ms\":%.3f,\"p90_ms\":%.3f,\"least_ms\":%.3f,\"ratio\":%.3f", r->median, r->p90,
			       r->least, ratio(r));
		} else if (strcmp(r->kind, "peak") == 0) {
			printf(",\"peak_kib\":%ld", r->peak_kib);
		} else {
			printf(",\"runs_per_second\":{");
			for (size_t load = 0; load < LOADS; load++)
				printf("%s\"%d\":%.1f", load ? "," : "", clients[load], r->per_second[load]);
			printf("}");
		}
		printf("}");
	}
	printf("],\"notes\":[");
	for (size_t i = 0; i < note_count; i++) {
		printf(i ? "," : "");
		put_string(notes[i]);
	}
	printf("]}\n");
}

static const char *field(char **save, size_t line)
{
	const char *text = strtok_r(NULL, "\t\n", save);
	if (!text)
		die("line %zu: a field is missing", line);
	return text;
}

static void read_rows(void)
{
	char *line = NULL;
	size_t room = 0;
	for (size_t number = 1; getline(&line, &room, stdin) > 0; number++) {
		char *save, *kind = strtok_r(line, "\t\n", &save);
		if (!kind)
			continue;
		if (row_count == MAX_ROWS || note_count == MAX_ROWS)
			die("line %zu: too many lines", number);
		if (strcmp(kind, "note") == 0) {
			notes[note_count++] = field(&save, number);
			line = NULL; /* the fields point into it */
			continue;
		}
		struct row *r = &rows[row_count++];
		bool cell = strcmp(kind, "cell") == 0;
		if (!cell && strcmp(kind, "flow") != 0 && strcmp(kind, "peak") != 0)
			die("line %zu: unknown kind `%s`", number, kind);
		r->kind = kind;
		r->group = cell ? field(&save, number) : "";
		r->name = field(&save, number);
		r->file = field(&save, number);
		for (size_t i = 0; (r->argv[i] = strtok_r(NULL, "\t\n", &save)); i++)
			if (i + 2 == MAX_ARGS)
				die("line %zu: too many arguments", number);
		if (!r->argv[0] || r->argv[0][0] != '/')
			die("line %zu: a command with an absolute path is missing", number);
		line = NULL;
		room = 0;
	}
	free(line);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 0;
	bool json = argc > 2 && strcmp(argv[2], "--json") == 0;
	if (rounds < 1 || rounds > 100000)
		die("usage: bench ROUNDS [--json] < lines");
	srandom((unsigned)time(NULL) ^ (unsigned)getpid());
	read_rows();
	measure_cells(rounds);
	measure_flows(rounds < 50 ? 300 : 1500);
	measure_peaks();
	if (json)
		print_json(rounds);
	else
		print_tables(rounds);
	return fflush(stdout) ? 1 : 0;
}
