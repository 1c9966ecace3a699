/* Measures the warm path beside its floors and peers in one interleaved run, and says which aims are met.
 * It judges nothing else: no test asserts a time, and what is not installed is not measured.
 *
 *   latencies   every row in each round, in a new random order, after a pause as between a model's requests: nothing is warm in a
 *               processor's caches, and the processor sleeps; those back to back are a few in a row
 *   births      wall and processor time from the order to the jail, and memory of those that wait
 *   flows       fresh jails a second by number of clients, beside command lines
 *   crowd       1,000 live jails: time to get there, latencies on the way, memory */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "floors.h"
#include "jails.h"
#include "memory.h"
#include "service.h"

enum { BURST = 5, CALLS = 100, DEPTH = 8, MEASURED_JAILS = 16, FLOW_ROUNDS = 3, CROWD = 1000, THINK_US = 3000 };
#define POLICY "snippet"
#define ADDITIONS "x = 0\nfor i in range(%ld):\n    x += 1\n"

static struct floor bare, loaded;   /* Python alone; with the modules that the policy allows */
static struct yard pool, fresh;     /* with parked jails; without */
static struct visit session, trunk; /* one to run snippets in, one to have branches of */
static struct service service;
static char **bwrap; /* command lines; NULL: not there */
static const char *floor_script, *folder;
static char *python[] = { NULL, "-I", "-S", "-c", "pass", NULL };
static char calls_code[80], loop_code[80];

struct row {
	const char *key, *name;
	double (*measure)(void);
	int burst; /* samples in a row */
	int every; /* measured each so many rounds */
	double *us;
	size_t count;
	double median, p99;
};

static double ping(void)
{
	return floor_ask(&bare, 'e', "2+2", NULL);
}
static double in_process(void)
{
	double ns;
	floor_ask(&bare, 't', "2+2", &ns);
	return ns / 1e3;
}
static double bare_fork(void)
{
	return floor_ask(&bare, 'f', "", NULL);
}
static double walled_birth(const struct floor *f, char kind)
{
	double us = floor_ask(f, kind, "2+2", NULL);
	floor_rest(f);
	return us;
}
static double birth_of(const struct floor *f)
{
	return walled_birth(f, 'j');
}
static double without_network(void)
{
	return walled_birth(&bare, 'n');
}
static double with_filter(void)
{
	return walled_birth(&bare, 's');
}
static double with_landlock(void)
{
	return walled_birth(&bare, 'l');
}
static double with_counts(void)
{
	return walled_birth(&bare, 'c');
}
static double without_capabilities(void)
{
	return walled_birth(&bare, 'p');
}
static double bare_birth(void)
{
	return birth_of(&bare);
}
static double loaded_birth(void)
{
	return birth_of(&loaded);
}
static double bare_spawn(void)
{
	return spawn_once(python);
}
static double bwrap_spawn(void)
{
	return spawn_once(bwrap);
}
static double hit(void)
{
	return yard_hit(&pool, "2+2");
}
static double snippet(void)
{
	return visit_run(&session, &fresh, "2+2", false);
}
static double statements(void)
{
	return visit_run(&session, &fresh, "a = 2\nb = a + 2\na + b", false);
}
static double one_call(void)
{
	return visit_run(&session, &fresh, "tool(1)", false);
}
static double many_calls(void)
{
	return visit_run(&session, &fresh, calls_code, false);
}
static double no_calls(void)
{
	return visit_run(&session, &fresh, loop_code, false);
}
static double interrupt(void)
{
	return visit_interrupt(&session, &fresh);
}
static double birth(void)
{
	return yard_birth(&fresh);
}

static double branch(void)
{
	return visit_fork(&trunk, &fresh);
}
static double served_ping(void)
{
	return service_ping(&service);
}
static double served_hit(void)
{
	return service_exec(&service, "2+2");
}
static double served_snippet(void)
{
	return service_run(&service, "2+2");
}

/* In the table's order. */
static struct row rows[] = {
	{ "ping", "floor: a warm Python behind a socket", ping, 1, 1, .us = NULL },
	{ "snippet", "agentjail: session snippet", snippet, 1, 1, .us = NULL },
	{ "statements", "agentjail: session snippet of three statements", statements, 1, 1, .us = NULL },
	{ "call", "agentjail: a snippet with one call of a tool", one_call, 1, 1, .us = NULL },
	{ "hit", "agentjail: pool hit, a fresh jail", hit, 1, 1, .us = NULL },
	{ "interrupt", "agentjail: interrupt to result", interrupt, 1, 2, .us = NULL },
	{ "branch", "agentjail: a session's branch, until it can be used", branch, 1, 2, .us = NULL },
	{ "served-ping", "the service: ping", served_ping, 1, 1, .us = NULL },
	{ "served-snippet", "the service: session snippet", served_snippet, 1, 1, .us = NULL },
	{ "served-hit", "the service: pool hit, a fresh jail", served_hit, 1, 1, .us = NULL },
	{ "exec", "back to back: exec in Python itself, no isolation", in_process, BURST, 1, .us = NULL },
	{ "pings", "back to back: floor: a warm Python", ping, BURST, 1, .us = NULL },
	{ "snippets", "back to back: session snippets", snippet, BURST, 1, .us = NULL },
	{ "hits", "back to back: pool hits", hit, BURST, 1, .us = NULL },
	{ "loop", "a loop of 100 without calls", no_calls, 1, 1, .us = NULL },
	{ "calls", "a loop of 100 with calls of a tool", many_calls, 1, 1, .us = NULL },
	{ "fork", "floor: fork of the warm Python, and its end", bare_fork, 1, 1, .us = NULL },
	{ "birth-floor", "floor: fork into namespaces, answer", bare_birth, 1, 1, .us = NULL },
	{ "birth-floor-modules", "floor: the same, the policy's modules loaded", loaded_birth, 1, 1, .us = NULL },
	{ "no-network", "floor: without a network namespace", without_network, 1, 1, .us = NULL },
	{ "filter", "floor: with a snippet's filter", with_filter, 1, 1, .us = NULL },
	{ "landlock", "floor: with Landlock", with_landlock, 1, 1, .us = NULL },
	{ "counts", "floor: with limits in /proc/sys/user", with_counts, 1, 1, .us = NULL },
	{ "capabilities", "floor: with all capabilities dropped", without_capabilities, 1, 1, .us = NULL },
	{ "birth", "agentjail: a fresh jail, order to armed", birth, 1, 1, .us = NULL },
	{ "spawn", "bare python3 -I -S -c pass", bare_spawn, 1, 4, .us = NULL },
	{ "bwrap", "bubblewrap -- python3 -I -S -c pass", bwrap_spawn, 1, 4, .us = NULL },
};
enum { ROWS = sizeof rows / sizeof *rows };

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double percentile(double *values, size_t count, double part)
{
	qsort(values, count, sizeof *values, ascending);
	return count ? values[(size_t)((double)(count - 1) * part + 0.5)] : 0;
}

static struct row *row(const char *key)
{
	for (size_t i = 0; i < ROWS; i++)
		if (strcmp(rows[i].key, key) == 0)
			return &rows[i];
	die("no row `%s`", key);
}

static double median(const char *key)
{
	return row(key)->median;
}

/* --- latencies --- */

static void measure_rows(int rounds)
{
	for (size_t i = 0; i < ROWS; i++)
		rows[i].us = calloc((size_t)rounds * (size_t)rows[i].burst, sizeof(double));
	for (int round = -3; round < rounds; round++) { /* three to warm up */
		size_t order[ROWS];
		for (size_t i = 0; i < ROWS; i++) {
			size_t j = (size_t)random() % (i + 1);
			order[i] = order[j];
			order[j] = i;
		}
		for (size_t i = 0; i < ROWS; i++) {
			struct row *r = &rows[order[i]];
			if ((r->measure == bwrap_spawn && !bwrap) || (round >= 0 && round % r->every))
				continue;
			yard_settle(&pool);
			yard_settle(&fresh);
			usleep(THINK_US);
			for (int k = 0; k < r->burst; k++) {
				double us = r->measure();
				if (round >= 0)
					r->us[r->count++] = us;
			}
		}
	}
	for (size_t i = 0; i < ROWS; i++) {
		rows[i].median = percentile(rows[i].us, rows[i].count, 0.5);
		rows[i].p99 = percentile(rows[i].us, rows[i].count, 0.99);
	}
}

/* --- 10^7 additions, in turns --- */

struct compute {
	double bare_ms, inside_ms;
};

static struct compute measure_compute(int rounds, long additions)
{
	double bare_us[64], inside_us[64];
	char code[80];
	snprintf(code, sizeof code, ADDITIONS, additions);
	for (int i = 0; i < rounds; i++) {
		bare_us[i] = floor_ask(&bare, 'x', code, NULL);
		inside_us[i] = visit_run(&session, &fresh, code, false);
	}
	return (struct compute){ percentile(bare_us, (size_t)rounds, 0.5) / 1e3, percentile(inside_us, (size_t)rounds, 0.5) / 1e3 };
}

/* --- births: processor time of everybody who takes part --- */

struct births {
	double ours_us, bare_us, loaded_us;
};

static double floor_births(const struct floor *f, int count)
{
	double before, after;
	floor_ask(f, 'u', "", &before);
	for (int i = 0; i < count; i++)
		birth_of(f);
	floor_ask(f, 'u', "", &after);
	return (after - before) / count;
}

/* Of the yard without parked jails, which must be the only one with a zygote. From the order to the end of the jail. */
static struct births measure_births(int count)
{
	struct births b = { .bare_us = floor_births(&bare, count), .loaded_us = floor_births(&loaded, count) };
	yard_rest(&fresh);
	double before = used_cpu_us();
	for (int i = 0; i < count; i++)
		yard_birth(&fresh);
	yard_rest(&fresh);
	b.ours_us = (used_cpu_us() - before) / count;
	return b;
}

/* --- flows --- */

static const int clients[] = { 1, 2, 4, 16 };
enum { LOADS = sizeof clients / sizeof *clients };
static double flows[3][LOADS][FLOW_ROUNDS]; /* ours, bubblewrap's, bare */

static void measure_flows(double us)
{
	for (int round = 0; round < FLOW_ROUNDS; round++)
		for (int load = 0; load < LOADS; load++) {
			flows[0][load][round] = yard_flow(&pool, clients[load], us);
			yard_settle(&pool);
			flows[1][load][round] = bwrap ? spawn_flow(bwrap, clients[load], us) : 0;
			flows[2][load][round] = spawn_flow(python, clients[load], us);
		}
	for (int which = 0; which < 3; which++)
		for (int load = 0; load < LOADS; load++)
			flows[which][load][0] = percentile(flows[which][load], FLOW_ROUNDS, 0.5);
}

/* --- crowd --- */

static const int sizes[] = { 10, 100, CROWD };
enum { SIZES = sizeof sizes / sizeof *sizes };
struct crowd {
	double open_ms, kib;
	double median[SIZES], p99[SIZES], ping[SIZES];
	double turn_median, turn_p99, python_median, python_p99; /* all alive, and as many bare Pythons: one of each in turn */
};

/* Both on cold caches: each sandbox and each Python waits until all others have had their turn. */
static void measure_turns(struct crowd *c, struct visit *visits, struct yard *y, int alive, double *us, double *pings, int samples)
{
	static struct floor pythons[CROWD];
	char *none[] = { NULL };
	for (int i = 0; i < alive; i++)
		floor_start(&pythons[i], python[0], floor_script, folder, none);
	for (int i = 0; i < samples; i++) {
		pings[i] = floor_ask(&pythons[i % alive], 'e', "2+2", NULL);
		us[i] = visit_run(&visits[i % alive], y, "2+2", false);
	}
	for (int i = 0; i < alive; i++)
		floor_end(&pythons[i]);
	c->turn_median = percentile(us, (size_t)samples, 0.5);
	c->turn_p99 = percentile(us, (size_t)samples, 0.99);
	c->python_median = percentile(pings, (size_t)samples, 0.5);
	c->python_p99 = percentile(pings, (size_t)samples, 0.99);
}

static struct crowd measure_crowd(struct yard *y, int crowd, int samples)
{
	static struct visit visits[CROWD];
	struct crowd c = { 0 };
	double *us = calloc((size_t)samples, sizeof *us), *pings = calloc((size_t)samples, sizeof *pings);
	double before_kib = free_kib();
	int alive = 0;
	for (int size = 0; size < SIZES; size++) {
		int target = sizes[size] < crowd ? sizes[size] : crowd;
		double began = now_us();
		for (int i = alive; i < target; i++)
			visit_begin(&visits[i], y);
		for (int i = alive; i < target; i++)
			visit_await_open(&visits[i], y);
		c.open_ms += (now_us() - began) / 1e3;
		for (; alive < target; alive++)
			visit_run(&visits[alive], y, "2+2", false); /* the first one of each is another row's */
		for (int i = 0; i < samples && us && pings; i++) {
			pings[i] = ping();
			us[i] = visit_run(&visits[i % target], y, "2+2", false);
		}
		c.median[size] = percentile(us, (size_t)samples, 0.5);
		c.p99[size] = percentile(us, (size_t)samples, 0.99);
		c.ping[size] = percentile(pings, (size_t)samples, 0.5);
	}
	c.kib = (before_kib - free_kib()) / alive;
	if (us && pings)
		measure_turns(&c, visits, y, alive, us, pings, samples);
	for (int i = 0; i < alive; i++)
		visit_end(&visits[i]);
	free(us);
	free(pings);
	return c;
}

/* --- tables --- */

static void print_rows(void)
{
	printf("%-52s %9s %9s %9s   us\n", "latency", "median", "p99", "ratio");
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].count)
			printf("  %-50s %9.0f %9.0f %8.2fx\n", rows[i].name, rows[i].median, rows[i].p99,
			       rows[i].median / median("ping"));
}

static double per_call(void)
{
	return (median("calls") - median("loop")) / CALLS;
}

static void aim(const char *what, double is, double limit, bool at_most)
{
	bool met = at_most ? is <= limit : is >= limit;
	printf("  %-66s %7.2f, %s %.2f: %s\n", what, is, at_most ? "at most" : "at least", limit, met ? "met" : "not met");
}

static void print_flows(void)
{
	static const char *const names[] = { "agentjail: fresh jails, 2+2", "bubblewrap -- python3 -I -S -c pass",
		                             "bare python3 -I -S -c pass" };
	printf("\n%-52s", "runs a second, by number of clients");
	for (int load = 0; load < LOADS; load++)
		printf(" %9d", clients[load]);
	for (int which = 0; which < 3; which++) {
		printf("\n  %-50s", names[which]);
		for (int load = 0; load < LOADS; load++)
			printf(" %9.1f", flows[which][load][0]);
	}
	printf("\n");
}

static void print_crowd(const struct crowd *c, int crowd)
{
	printf("\n%-52s %9s %9s %9s   us\n", "a session snippet beside live jails", "median", "p99", "ping");
	for (int size = 0; size < SIZES; size++)
		printf("  %-50d %9.0f %9.0f %9.0f\n", sizes[size] < crowd ? sizes[size] : crowd, c->median[size], c->p99[size],
		       c->ping[size]);
	printf("  %d jails alive after %.0f ms, %.2f ms each\n", crowd, c->open_ms, c->open_ms / crowd);
	printf("  each takes %.0f KiB of the machine's memory, everything of the kernel's included\n", c->kib);
	printf("\n%-52s %9s %9s   us\n", "one of all in turn", "median", "p99");
	printf("  a snippet in one of %4d sessions %25.0f %9.0f\n", crowd, c->turn_median, c->turn_p99);
	printf("  a ping to one of %4d bare Pythons %24.0f %9.0f\n", crowd, c->python_median, c->python_p99);
}

static void print_note(const char *load)
{
	struct utsname u;
	uname(&u);
	printf("\n%s %s, %ld CPUs, as %s, load %s at the start\n", u.sysname, u.release, sysconf(_SC_NPROCESSORS_ONLN),
	       geteuid() ? "an ordinary user" : "root", load);
}

static char *read_load(void)
{
	static char text[16] = "?";
	FILE *f = fopen("/proc/loadavg", "re");
	if (f && fscanf(f, "%15s", text) != 1)
		strcpy(text, "?");
	if (f)
		fclose(f);
	return text;
}

/* A thousand jails have six descriptors each. */
static void raise_files(void)
{
	struct rlimit files;
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	if (files.rlim_cur < 8 * CROWD)
		die("%d jails need more open files than %lu (ulimit -n)", CROWD, (unsigned long)files.rlim_cur);
}

/* To look at with a profiler: one row alone, again and again. */
static void measure_alone(const char *key, int rounds)
{
	struct row *r = row(key);
	r->us = calloc((size_t)rounds, sizeof *r->us);
	for (int i = 0; i < rounds; i++) {
		yard_settle(&pool);
		r->us[r->count++] = r->measure();
	}
	r->median = percentile(r->us, r->count, 0.5);
	printf("%s: median %.0f us, p99 %.0f us\n", r->name, r->median, percentile(r->us, r->count, 0.99));
}

int main(int argc, char **argv)
{
	const char *alone = argc > 5 && strchr(argv[1], ':') ? strtok(argv[1], ":") : NULL;
	int rounds = argc > 5 ? atoi(alone ? argv[1] + strlen(alone) + 1 : argv[1]) : 0;
	if (rounds < 1)
		die("usage: bench-warm [ROW:]ROUNDS PYTHON FLOOR.PY FOLDER AGENTJAIL [BUBBLEWRAP ARG... COMMAND ARG...]");
	char *load = read_load(), **modules = yard_modules(POLICY), *none[] = { NULL };
	bool quick = rounds < 50;
	int crowd = quick ? 100 : CROWD;
	bwrap = argc > 6 ? argv + 6 : NULL;
	python[0] = argv[2];
	floor_script = argv[3];
	folder = argv[4];
	snprintf(calls_code, sizeof calls_code, "for i in range(%d):\n    tool(i)\n", CALLS);
	snprintf(loop_code, sizeof loop_code, "for i in range(%d):\n    abs(i)\n", CALLS);
	srandom((unsigned)getpid());
	raise_files();
	floor_start(&bare, argv[2], argv[3], argv[4], none);
	floor_start(&loaded, argv[2], argv[3], argv[4], modules);
	memory_not_a_jail(bare.pid);
	memory_not_a_jail(loaded.pid);

	struct memory waiting = { 0 };
	struct births births = { 0 };
	if (!alone) {
		yard_open(&fresh, POLICY, MEASURED_JAILS);
		yard_rest(&fresh);
		memory_of_jails(&waiting);
		yard_close(&fresh);
	}
	yard_open(&fresh, POLICY, 0);
	if (!alone)
		births = measure_births(quick ? 20 : 200);
	yard_open(&pool, POLICY, DEPTH);
	visit_begin(&session, &fresh);
	visit_await_open(&session, &fresh);
	visit_tool(&session);
	visit_begin_branching(&trunk, &fresh);
	visit_await_open(&trunk, &fresh);
	visit_run(&trunk, &fresh, "x = 1", false);
	service_start(&service, argv[5], DEPTH);
	memory_not_a_jail(service.pid);
	if (alone) {
		measure_alone(alone, rounds);
		service_end(&service);
		return 0;
	}
	measure_rows(rounds);
	service_end(&service);
	struct compute compute = measure_compute(quick ? 3 : 11, quick ? 1000000 : 10000000);
	measure_flows(quick ? 3e5 : 1.5e6);
	visit_end(&session);
	visit_end(&trunk);
	yard_close(&pool);
	struct crowd c = measure_crowd(&fresh, crowd, quick ? 200 : 4000);
	yard_close(&fresh);

	print_rows();
	printf("  %-50s %9.0f %9s %8.2fx\n", "a call of a tool, of 100", per_call(), "", per_call() / median("ping"));
	printf("  %-50s %9.0f %9s %8.2fx\n", "a call of a tool, of one", median("call") - median("snippet"), "",
	       (median("call") - median("snippet")) / median("ping"));
	printf("\n%-52s %9s\n", "a birth: processor time of all, to the jail's end", "us");
	printf("  %-50s %9.0f\n  %-50s %9.0f\n  %-50s %9.0f\n", "floor: fork into namespaces", births.bare_us,
	       "floor: the same, the policy's modules loaded", births.loaded_us, "agentjail: a fresh jail", births.ours_us);
	print_flows();
	print_crowd(&c, crowd);
	printf("\n%-52s %9s %9s\n", "memory, KiB", "PSS", "private");
	printf("  a jail that waits (of %d; %d inits are the zygote's) %13.0f %9.0f\n", waiting.jails, waiting.shared_inits,
	       waiting.pss_kib, waiting.private_kib);
	printf("  %-50s %9.0f %9.0f\n", "the zygote", waiting.zygote_pss_kib, waiting.zygote_private_kib);
	printf("\n%-52s %9s %9s %9s\n", "additions in a loop, ms", "bare", "inside", "ratio");
	printf("  %-50s %9.0f %9.0f %8.3fx\n", quick ? "10^6" : "10^7", compute.bare_ms, compute.inside_ms,
	       compute.inside_ms / compute.bare_ms);

	printf("\naims\n");
	aim("pool hit / ping", median("hit") / median("ping"), 2.2, true);
	aim("pool hit of the service / ping", median("served-hit") / median("ping"), 2.9, true);
	aim("session snippet / ping", median("snippet") / median("ping"), 1.6, true);
	aim("session snippet of the service / ping", median("served-snippet") / median("ping"), 2.2, true);
	aim("session snippets / pings, back to back", median("snippets") / median("pings"), 2.5, true);
	aim("tool round trip / ping", (median("call") - median("snippet")) / median("ping"), 2.5, true);
	aim("tool round trips / pings, back to back", per_call() / median("pings"), 2.5, true);
	aim("creation of a jail / fork into namespaces", median("birth") / median("birth-floor"), 1.3, true);
	aim("creation of a jail / fork into namespaces with modules", median("birth") / median("birth-floor-modules"), 1.3, true);
	for (int i = 1; bwrap && i < LOADS; i++) {
		char what[80];
		snprintf(what, sizeof what, "fresh jails / bubblewrap's Pythons, %d clients", clients[i]);
		aim(what, flows[0][i][0] / flows[1][i][0], 5, false);
	}
	aim("PSS of a jail that waits, MiB", waiting.pss_kib / 1024, 1.6, true);
	aim("one of all sessions / one of as many Pythons, in turn: median", c.turn_median / c.python_median, 2, true);
	aim("one of all sessions / one of as many Pythons, in turn: p99", c.turn_p99 / c.python_p99, 3, true);
	aim("additions inside / outside", compute.inside_ms / compute.bare_ms, 1.02, true);
	print_note(load);
	floor_end(&bare);
	floor_end(&loaded);
	return fflush(stdout) ? 1 : 0;
}
