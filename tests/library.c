/* Uses the library as a stranger would: one header, C99, threads, signals, forks and an event loop of its own. Each check is a line,
 * `ok NAME` or `FAIL NAME: why`; arguments choose parts. It looks at what a program can see, not at how the jails are made. */
#define _GNU_SOURCE
#include <agentjail.h>
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct agentjail_error err;
static int failed;

static void check(int good, const char *name, const char *why, ...)
{
	va_list args;
	failed += !good;
	printf("%s %s%s", good ? "ok" : "FAIL", name, good ? "\n" : ": ");
	if (!good) {
		va_start(args, why);
		vprintf(why, args);
		va_end(args);
		printf(" [%s: %s]\n", err.step, err.cause);
	}
	fflush(stdout);
}

static void is(const char *got, const char *want, const char *name)
{
	check(got && want ? strcmp(got, want) == 0 : got == want, name, "`%s` in place of `%s`", got ? got : "NULL", want ? want : "NULL");
}

static agentjail *open_with(unsigned parked)
{
	struct agentjail_options o = { .size = sizeof o, .parked = parked };
	memset(&err, 0, sizeof err);
	agentjail *h = agentjail_open(&o, &err);
	check(h != NULL, "a handle opens", "none");
	if (!h)
		exit(1);
	return h;
}

static agentjail_result *run(agentjail_session *s, const char *code)
{
	struct agentjail_snippet snippet = { .size = sizeof snippet, .code = code };
	memset(&err, 0, sizeof err);
	return agentjail_session_run(s, &snippet, &err);
}

static void runs_to(agentjail_session *s, const char *code, const char *value, const char *name)
{
	agentjail_result *r = run(s, code);
	is(r ? agentjail_result_get(r, "value") : NULL, value, name);
	agentjail_result_free(r);
}

/* --- one snippet, one jail; results and their parts --- */

static void part_run(void)
{
	agentjail *h = open_with(1);
	struct agentjail_snippet s = { .size = sizeof s, .code = "x = 41\nprint('hi')\n{'n': [x + y]}", .variables = "{\"y\":1}", .id = "r1" };
	agentjail_result *r = agentjail_run(h, &s, &err);
	check(r && agentjail_result_status(r) == AGENTJAIL_OK, "run: ok", "no result, or another status");
	if (r) {
		is(agentjail_result_get(r, "value"), "{\"n\":[42]}", "run: the value as JSON");
		is(agentjail_result_get(r, "value.n.0"), "42", "run: a part of the value");
		is(agentjail_result_get(r, "value.n.1"), NULL, "run: an index that is not there");
		is(agentjail_result_get(r, "stdout"), "hi\n", "run: text as it is");
		is(agentjail_result_get(r, "error"), NULL, "run: null is not there");
		is(agentjail_result_get(r, "id"), "r1", "run: the caller's id");
		is(agentjail_result_get(r, "session"), NULL, "run: no session");
		check(strstr(agentjail_result_json(r), "\"id\":\"r1\"") != NULL, "run: the whole as JSON", "%s",
		      agentjail_result_json(r));
	}
	agentjail_result_free(r);
	s = (struct agentjail_snippet){ .size = sizeof s, .code = "x" };
	r = agentjail_run(h, &s, &err);
	check(r && agentjail_result_status(r) == AGENTJAIL_ERROR, "run: nothing of another run is there", "it is");
	is(r ? agentjail_result_get(r, "error.type") : NULL, "NameError", "run: an error's type");
	agentjail_result_free(r);
	s = (struct agentjail_snippet){ .size = sizeof s, .code = "import pty" };
	r = agentjail_run(h, &s, &err);
	check(r && agentjail_result_status(r) == AGENTJAIL_REJECTED, "run: rejected", "another status");
	agentjail_result_free(r);
	s = (struct agentjail_snippet){ .size = sizeof s, .code = "while True: pass", .timeout_ms = 200 };
	r = agentjail_run(h, &s, &err);
	check(r && agentjail_result_status(r) == AGENTJAIL_TIMEOUT, "run: timeout", "another status");
	is(r ? agentjail_result_get(r, "told_to_stop") : NULL, "wall_clock", "run: it was told to stop");
	is(r ? agentjail_result_get(r, "error.message") : NULL, "the snippet took longer than 200 ms", "run: at its limit");
	agentjail_result_free(r);
	s = (struct agentjail_snippet){ .size = sizeof s, .code = "1+1##garbage", .code_bytes = 3 };
	r = agentjail_run(h, &s, &err);
	is(r ? agentjail_result_get(r, "value") : NULL, "2", "run: code by its length");
	agentjail_result_free(r);
	s = (struct agentjail_snippet){ .size = sizeof s, .code = "x = 3", .value_of_statement = 1 };
	r = agentjail_run(h, &s, &err);
	is(r ? agentjail_result_get(r, "value") : NULL, "3", "run: the value of an assignment");
	agentjail_result_free(r);
	static const uint32_t zero;
	s = (struct agentjail_snippet){ .size = sizeof s, .code = "import random\nrandom.random()", .seed = &zero };
	r = agentjail_run(h, &s, &err);
	is(r ? agentjail_result_get(r, "repr") : NULL, "0.8444218515250481", "run: a seed");
	agentjail_result_free(r);
	s = (struct agentjail_snippet){ .size = sizeof s, .code = "int(input()) + int(input())", .stdin_text = "40\n2" };
	r = agentjail_run(h, &s, &err);
	is(r ? agentjail_result_get(r, "value") : NULL, "42", "run: a standard input");
	agentjail_result_free(r);
	s = (struct agentjail_snippet){ .size = sizeof s, .code = "6 * 7", .brief = 1 };
	r = agentjail_run(h, &s, NULL);
	is(r ? agentjail_result_get(r, "value") : NULL, "42", "run: brief");
	is(r ? agentjail_result_get(r, "policy") : "", NULL, "run: without the policy");
	agentjail_result_free(r);
	size_t bytes = 0;
	s = (struct agentjail_snippet){ .size = sizeof s, .code = "print('a\\0b')\nx + y", .variables = "{\"x\":\"1\\u0000\",\"y\":\"2\"}" };
	r = agentjail_run(h, &s, &err);
	const char *text = r ? agentjail_result_bytes(r, "value", &bytes) : NULL;
	check(text && bytes == 3 &&
	          memcmp(text,
	                 "1\0"
	                 "2",
	                 4) == 0,
	      "run: a NUL in and out", "%zu bytes", bytes);
	text = r ? agentjail_result_bytes(r, "stdout", &bytes) : NULL;
	check(text && bytes == 4 && memcmp(text, "a\0b\n", 5) == 0, "run: a NUL in the output", "%zu bytes", bytes);
	text = r ? agentjail_result_bytes(r, "imports", &bytes) : NULL;
	check(text && bytes == 2 && strcmp(text, "[]") == 0, "run: the length of JSON", "%zu bytes", bytes);
	check(r && !agentjail_result_bytes(r, "error", &bytes), "run: null has no bytes", "it has");
	agentjail_result_free(r);
	s = (struct agentjail_snippet){ .size = sizeof s,
		                        .code = "x == '\\ud800'",
		                        .variables = "{\"x\":{\"__type__\":\"str\",\"data\":\"7aCA\"}}" };
	r = agentjail_run(h, &s, &err);
	is(r ? agentjail_result_get(r, "value") : NULL, "true", "run: a string that JSON has no text for");
	agentjail_result_free(r);
	agentjail_close(h);
}

/* --- what is refused, with step, cause and fix --- */

static void refused(agentjail *h, struct agentjail_snippet s, const char *word, const char *name)
{
	memset(&err, 0, sizeof err);
	agentjail_result *r = agentjail_run(h, &s, &err);
	check(!r && err.code == 2 && strstr(err.cause, word), name, "result %p, code %d", (void *)r, err.code);
	agentjail_result_free(r);
}

static void no_handle(struct agentjail_options o, int code, const char *word, const char *name)
{
	memset(&err, 0, sizeof err);
	agentjail *h = agentjail_open(&o, &err);
	check(!h && err.code == code && strstr(err.cause, word), name, "handle %p, code %d", (void *)h, err.code);
	agentjail_close(h);
}

static void part_errors(void)
{
	const char *bad_key[] = { "limits.memroy=1", NULL }, *bad_value[] = { "limits.memory=much", NULL },
		   *good[] = { "limits.memory=200M", NULL };
	struct {
		struct agentjail_options o;
		void *later;
	} newer = { .o = { .size = sizeof newer } };
#define O(...) (struct agentjail_options){ .size = sizeof(struct agentjail_options), __VA_ARGS__ }
	no_handle((struct agentjail_options){ .policy = "snippet" }, 2, "size", "errors: a size that is not set");
	check(err.fix[0] != '\0', "errors: with a fix", "none");
	no_handle(O(.policy = "no-such"), 2, "no-such", "errors: an unknown policy");
	no_handle(O(.policy = "snippet", .policy_file = "x.toml"), 2, "both", "errors: two policies");
	no_handle(O(.policy_file = "/no/such.toml"), 2, "/no/such.toml", "errors: a policy's file");
	no_handle(O(.settings = bad_key), 2, "memroy", "errors: an unknown setting");
	no_handle(O(.settings = bad_value), 2, "much", "errors: a bad setting");
	no_handle(O(.rootfs = "/tmp"), 125, "/tmp", "errors: a tree that is none");
	newer.later = &newer;
	memset(&err, 0, sizeof err);
	check(!agentjail_open(&newer.o, &err) && strstr(err.cause, "does not know"), "errors: a field of a newer header", "opened");
	newer.later = NULL;
	agentjail *h = agentjail_open(&newer.o, &err);
	check(h != NULL, "errors: a newer header, and nothing new in use", "refused");
	agentjail_close(h);
	h = agentjail_open(&O(.settings = good), &err);
	check(h != NULL, "errors: a good setting", "refused");
	check(agentjail_open(NULL, NULL) == NULL, "errors: nobody asked why", "opened");
#define S(...) (struct agentjail_snippet){ .size = sizeof(struct agentjail_snippet), __VA_ARGS__ }
	refused(h, S(.code = "'\xff'"), "UTF-8", "errors: code that is not UTF-8");
	refused(h, S(.code = "1", .stdin_text = "1\xff"), "the standard input is not UTF-8", "errors: a standard input that is not UTF-8");
	refused(h, S(.code = "a\0b", .code_bytes = 3), "0x00", "errors: a NUL in the code");
	refused(h, S(.id = "x"), "code", "errors: no code");
	refused(h, S(.code = "1", .variables = "{"), "JSON", "errors: variables that are not JSON");
	refused(h, S(.code = "1", .variables = "{\"class\":1}"), "the name `class` is a keyword",
	        "errors: a variable that Python has no name for");
	refused(h, S(.code = "1", .code_bytes = SIZE_MAX), "bytes is too large", "errors: the -1 of a read() as the size of code");
	refused(h, S(.code = "1", .files_count = 3), "no files are given", "errors: a number of files without the files");
	struct agentjail_file bad_size = { .name = "x", .data = "x", .bytes = SIZE_MAX };
	refused(h, S(.code = "1", .files = &bad_size, .files_count = 1), "bytes is too large",
	        "errors: the -1 of a read() as the size of a file");
	struct agentjail_session_options so = { .size = sizeof so };
	agentjail_session *s = agentjail_session_open(h, &so, &err);
	struct agentjail_snippet one = S(.code = "import time; time.sleep(0.05)");
	check(s && agentjail_session_start(s, &one, &err) == 0, "errors: a run begins", "no");
	check(!run(s, "2") && err.code == 2 && strstr(err.step, "busy"), "errors: two runs at a time", "accepted");
	check(!agentjail_session_take(s, &err) && strstr(err.cause, "still running"), "errors: nothing to take yet", "something");
	while (agentjail_session_busy(s))
		agentjail_turn(h, -1, &err);
	check(!run(s, "2") && strstr(err.cause, "not taken"), "errors: a result that nobody took", "accepted");
	agentjail_result_free(agentjail_session_take(s, &err));
	check(!agentjail_session_take(s, &err) && strstr(err.cause, "nothing was run"), "errors: it is taken once", "twice");
	runs_to(s, "1+2", "3", "errors: and everything continues");
	agentjail_close(h); /* with its session */
	h = agentjail_open(&O(.parked = UINT_MAX, .jails_max = 2), &err);
	agentjail_result *r = h ? agentjail_run(h, &S(.code = "1"), &err) : NULL;
	is(r ? agentjail_result_get(r, "value") : NULL, "1", "errors: as many parked jails as an unsigned can say are not none");
	agentjail_result_free(r);
	agentjail_close(h);
	const char *two[] = { "limits.memory=200M", "process.env=TOKEN=secret", NULL };
	h = agentjail_open(&O(.settings = two), &err);
	r = h ? agentjail_run(h, &S(.code = "1"), &err) : NULL;
	is(r ? agentjail_result_get(r, "policy.options") : NULL, "[\".settings limits.memory=200M\",\".settings process.env=TOKEN\"]",
	   "errors: results name the keys that were set, and no secret");
	agentjail_result_free(r);
	agentjail_close(h);
	agentjail_close(NULL);
	agentjail_session_close(NULL);
	agentjail_result_free(NULL);
}

/* --- a tree of the caller's choice is an option, by whatever door it comes --- */

static void part_tree(void)
{
	no_handle(O(.policy = "locked", .rootfs = "/nowhere"), 2, ".rootfs", "tree: .rootfs is an option, which a policy can lock");
	setenv("AGENTJAIL_ROOTFS", "/nowhere", 1);
	no_handle(O(.policy = "locked"), 2, "AGENTJAIL_ROOTFS", "tree: so is the variable");
	no_handle(O(.policy = "snippet"), 125, "/nowhere", "tree: without a lock it is obeyed");
	unsetenv("AGENTJAIL_ROOTFS");
	agentjail *h = agentjail_open(&O(.policy = "locked"), &err);
	check(h != NULL, "tree: control: the policy opens where nothing is named", "none");
	agentjail_close(h);
}

/* --- the audit trail --- */

/* Lines of the trail with `event` in them. */
static int recorded(const char *path, const char *event)
{
	char line[8192];
	int count = 0;
	FILE *f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f))
		count += strstr(line, event) != NULL;
	if (f)
		fclose(f);
	return count;
}

static void part_audit(void)
{
	char folder[] = "/tmp/agentjail-library-XXXXXX", site[64], trail[64];
	static const char start[] = "\"event\":\"start\"", end[] = "\"event\":\"end\"", failed_so[] = "\"status\":\"setup_error\"";
	FILE *f = NULL;
	if (mkdtemp(folder)) {
		snprintf(site, sizeof site, "%s/site.toml", folder);
		snprintf(trail, sizeof trail, "%s/trail.jsonl", folder);
		f = fopen(site, "w");
	}
	check(f != NULL, "audit: a folder for it", "none");
	if (!f)
		return;
	fprintf(f, "[audit]\ndestination = \"file:%s\"\n", trail);
	fclose(f);
	agentjail *h = agentjail_open(&O(.config = site), &err);
	agentjail_session *s = h ? agentjail_session_open(h, NULL, &err) : NULL;
	struct agentjail_snippet twice = S(.code = "a", .variables = "{\"a\":1,}");
	check(s && !agentjail_session_run(s, &twice, &err) && err.code == 2, "audit: variables that cannot be sent", "accepted");
	check(recorded(trail, start) == 1 && recorded(trail, end) == 1, "audit: an end for each start, also of what was not begun",
	      "%d and %d", recorded(trail, start), recorded(trail, end));
	check(recorded(trail, failed_so) == 1, "audit: it says so", "%d times", recorded(trail, failed_so));
	if (s)
		runs_to(s, "1+2", "3", "audit: and everything continues");
	check(recorded(trail, start) == 2 && recorded(trail, end) == 2, "audit: one more of each", "%d and %d",
	      recorded(trail, start), recorded(trail, end));
	agentjail_close(h);
	unlink(trail);
	unlink(site);
	rmdir(folder);
}

/* --- sessions --- */

static void collect(void *arg, int number, const char *data, size_t bytes)
{
	char *out = arg;
	snprintf(out + strlen(out), 256 - strlen(out), "%d:%.*s|", number, (int)bytes, data);
}

static agentjail *inside;
static void misuse(void *arg, int number, const char *data, size_t bytes)
{
	(void)number, (void)data, (void)bytes;
	memset(&err, 0, sizeof err);
	*(int *)arg = agentjail_turn(inside, 0, &err);
	agentjail_close(inside);
}

static void part_files(void)
{
	char host[] = "/tmp/aj-library-XXXXXX", part[8] = "";
	int fd = mkstemp(host);
	check(fd >= 0 && write(fd, "of the host", 11) == 11, "files: control", strerror(errno));
	close(fd);
	const struct agentjail_file files[] = { { .name = "a.bin", .data = "a\0b", .bytes = 3 },
		                                { .name = "host.txt", .path = host },
		                                { .name = "/tmp/empty", .data = "" } };
	agentjail *h = open_with(1);
	struct agentjail_snippet snippet = S(.code = "with open('/output/x.txt', 'w') as f: f.write(open('/input/host.txt').read().upper())\n"
	                                             "len(open('/input/a.bin', 'rb').read()) + len(open('/tmp/empty').read())",
	                                     .files = files, .files_count = 3, .output_files = AGENTJAIL_OUTPUT_DATA);
	agentjail_result *r = agentjail_run(h, &snippet, &err);
	is(r ? agentjail_result_get(r, "value") : err.cause, "3", "files: a run has them");
	is(r ? agentjail_result_get(r, "files.0.name") : NULL, "x.txt", "files: and gives one back");
	is(r ? agentjail_result_get(r, "files.0.data") : NULL, "T0YgVEhFIEhPU1Q=", "files: with its bytes");
	agentjail_result_free(r);
	/* The session's jail is not ready yet, and the array is the caller's again at once. */
	struct agentjail_session_options later = { .size = sizeof later, .no_wait = 1 };
	agentjail_session *s = agentjail_session_open(h, &later, &err);
	struct agentjail_file mine = { .name = "a", .data = strdup("xyz"), .bytes = 3 };
	snippet = (struct agentjail_snippet)S(.code = "open('/input/a').read()", .files = &mine, .files_count = 1);
	check(s && agentjail_session_start(s, &snippet, &err) == 0, "files: of a run that waits", err.cause);
	memset((char *)mine.data, '-', 3);
	free((char *)mine.data);
	while (s && agentjail_session_busy(s) && agentjail_turn(h, -1, &err) == 0)
		;
	r = s ? agentjail_session_take(s, &err) : NULL;
	is(r ? agentjail_result_get(r, "value") : err.cause, "xyz", "files: were copied");
	agentjail_result_free(r);
	check(agentjail_session_write_files(s, files, 3, &err) == 0, "files: written in a session", err.cause);
	check(agentjail_session_read_file(s, "/input/a.bin", 1, part, sizeof part, &err) == 2 && part[0] == 0 && part[1] == 'b',
	      "files: read", err.cause);
	check(agentjail_session_read_file(s, "/input/a.bin", 9, part, sizeof part, &err) == 0, "files: behind the end", err.cause);
	check(agentjail_session_read_file(s, "/etc/passwd", 0, part, sizeof part, &err) == -1, "files: not the host's", "it was read");
	r = agentjail_session_list_files(s, "/input", &err);
	is(r ? agentjail_result_get(r, "truncated") : err.cause, "false", "files: listed");
	agentjail_result_free(r);
	check(agentjail_session_remove_file(s, "/input/a.bin", &err) == 0 && agentjail_session_remove_file(s, "/input/a.bin", &err) == -1,
	      "files: removed", err.cause);
	const struct agentjail_file sizeless = { .name = "status", .path = "/proc/self/status" };
	check(agentjail_session_write_files(s, &sizeless, 1, &err) == 0, "files: of /proc, whose size is said to be 0", err.cause);
	runs_to(s, "'Threads:' in open('/input/status').read()", "true", "files: has its contents");
	const struct agentjail_file bad[] = { { .name = "x" },
		                              { .data = "x" },
		                              { .name = "x", .data = "x", .path = host },
		                              { .name = "x", .path = "/" },
		                              { .name = "x", .path = "/no/such/file" },
		                              { .name = "../x", .data = "x", .bytes = 1 },
		                              { .name = "\xff", .data = "x", .bytes = 1 } };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		check(agentjail_session_write_files(s, &bad[i], 1, &err) == -1 && strcmp(err.step, "files") == 0,
		      "files: refused", err.step);
	const struct agentjail_file into[] = { { .name = "f", .data = "" }, { .name = "f/g", .data = "" } };
	check(agentjail_session_write_files(s, into, 2, &err) == -1 && strstr(err.cause, "Not a directory"),
	      "files: the jail's own error", err.cause);
	runs_to(s, "6 * 7", "42", "files: and the session lives on");
	agentjail_close(h);
	unlink(host);
}

static void part_session(void)
{
	agentjail *h = open_with(1);
	agentjail_session *s = agentjail_session_open(h, NULL, &err), *other = agentjail_session_open(h, NULL, &err);
	check(s && other, "session: two open", "not both");
	runs_to(s, "def f(n): return n + 1\nx = 41", NULL, "session: a first run");
	runs_to(s, "f(x)", "42", "session: variables stay");
	agentjail_result *r = run(other, "x");
	check(r && agentjail_result_status(r) == AGENTJAIL_ERROR, "session: and not in the other", "they do");
	agentjail_result_free(r);
	check(agentjail_session_set(s, "{\"x\":[1,2]}", &err) == 0, "session: set", "refused");
	runs_to(s, "sum(x)", "3", "session: what was set");
	agentjail_result *read = agentjail_session_get(s, "x", &err);
	is(read ? agentjail_result_get(read, "value") : NULL, "[1,2]", "session: get");
	agentjail_result_free(read);
	read = agentjail_session_get(s, "missing", &err);
	is(read ? agentjail_result_get(read, "error.type") : NULL, "NameError", "session: get of no variable");
	agentjail_result_free(read);
	check(!agentjail_session_get(s, NULL, &err), "session: get wants a name", "it took none");
	read = agentjail_session_vars(s, &err);
	is(read ? agentjail_result_get(read, "value.0.name") : NULL, "f", "session: vars");
	agentjail_result_free(read);
	const char *json_alone[] = { "json", NULL }, *too_many[] = { "json", "pty", NULL };
	struct agentjail_python python = { .size = sizeof python, .imports = json_alone, .builtins = "minimal" };
	struct agentjail_session_options asks = { .size = sizeof asks, .python = &python };
	agentjail_session *narrow = agentjail_session_open(h, &asks, &err);
	json_alone[0] = "math"; /* the caller's again */
	runs_to(narrow, "import json\njson.dumps(1)", "1", "session: a Python layer of its own");
	agentjail_result *no = narrow ? run(narrow, "import math\nhex(1)") : NULL;
	is(no ? agentjail_result_get(no, "error.allowed") : NULL, "[\"json\"]", "session: for all of its runs");
	agentjail_result_free(no);
	runs_to(s, "import math\nhex(1)", "0x1", "session: and for no other's");
	struct agentjail_snippet alone = S(.code = "import math", .python = &python);
	check(!agentjail_session_run(s, &alone, &err) && strcmp(err.step, "python") == 0, "session: it is chosen at the start",
	      "a run changed it");
	no = agentjail_run(h, &alone, &err);
	is(no ? agentjail_result_get(no, "status") : NULL, "ok", "session: a single run has one too");
	agentjail_result_free(no);
	python.imports = too_many;
	check(!agentjail_session_open(h, &asks, &err) && err.code == 2 && strcmp(err.step, "imports") == 0 &&
	          strstr(err.fix, "requests.imports"),
	      "session: no more than the policy lets be asked for", "%s", err.cause);
	static const uint32_t seven = 7;
	alone.code = "import datetime, random, time\ntime.sleep(3600)\n[time.time(), datetime.datetime.now().year, random.random()]";
	alone.seed = &seven;
	python = (struct agentjail_python){ .size = sizeof python, .clock = "2001-01-01T00:00:00Z", .sleep_max = "10ms" };
	no = agentjail_run(h, &alone, &err);
	is(no ? agentjail_result_get(no, "value") : err.cause, "[978307200.0,2001,0.32383276483316237]",
	   "session: a clock, a longest sleep and a seed");
	agentjail_result_free(no);
	alone.seed = NULL;
	python.clock = "yesterday";
	check(!agentjail_run(h, &alone, &err) && strcmp(err.step, "clock") == 0, "session: a clock that is none", "%s: %s",
	      err.step, err.cause);
	python.clock = NULL, python.sleep_max = "soon";
	check(!agentjail_run(h, &alone, &err) && strcmp(err.step, "sleep_max") == 0, "session: a sleep that is none", "%s: %s",
	      err.step, err.cause);
	python = (struct agentjail_python){ .size = sizeof python, .layer = "false" };
	check(!agentjail_run(h, &alone, &err) && strcmp(err.step, "layer") == 0, "session: a layer is on or off", "%s", err.cause);
	python.layer = "off";
	check(!agentjail_run(h, &alone, &err) && strcmp(err.step, "layer") == 0, "session: and stays on", "%s", err.cause);
	agentjail_session_close(narrow);
	const char *lets[] = { "requests.layer=false", NULL };
	agentjail *open = agentjail_open(&O(.settings = lets), &err);
	alone.code = "import os\nos.sep";
	no = open ? agentjail_run(open, &alone, &err) : NULL;
	is(no ? agentjail_result_get(no, "value") : NULL, "/", "session: where the policy lets it be off");
	agentjail_result_free(no);
	agentjail_close(open);
	check(agentjail_session_set(s, "[1]", &err) < 0, "session: set wants an object", "it took a list");
	char out[256] = "";
	struct agentjail_snippet said = S(.code = "print('a')\n1", .output = collect, .output_arg = out);
	agentjail_result_free(agentjail_session_run(s, &said, &err));
	check(strstr(out, "1:") && strstr(out, "a\n"), "session: output as it comes", "`%s`", out);
	int inner = 7;
	inside = h;
	said = S(.code = "print('a')\n1", .output = misuse, .output_arg = &inner);
	r = agentjail_session_run(s, &said, &err);
	check(inner == -1 && strcmp(err.step, "output") == 0, "session: no calls from an output callback", "%d", inner);
	is(r ? agentjail_result_get(r, "value") : NULL, "1", "session: which harms nothing");
	agentjail_result_free(r);
	said = S(.code = "while True: pass", .timeout_ms = 200);
	r = agentjail_session_run(s, &said, &err);
	check(r && agentjail_result_status(r) == AGENTJAIL_TIMEOUT, "session: a snippet takes too long", "another status");
	is(r ? agentjail_result_get(r, "session") : NULL, "alive", "session: and it lives on");
	agentjail_result_free(r);
	runs_to(s, "sum(x)", "3", "session: with its variables");
	check(agentjail_session_alive(s) == 1, "session: alive", "no");
	char *stats = agentjail_stats(h, &err);
	check(stats && strstr(stats, "\"jails\":"), "session: stats", "%s", stats ? stats : "none");
	agentjail_free(stats);
	agentjail_session_close(s);
	runs_to(other, "2", "2", "session: the other continues");
	agentjail_close(h);
	h = agentjail_open(&O(.jails_max = 1), &err);
	s = h ? agentjail_session_open(h, NULL, &err) : NULL;
	struct agentjail_snippet more = S(.code = "1");
	check(s && !agentjail_run(h, &more, &err) && strcmp(err.step, "busy") == 0, "session: no more jails than may be", "it ran");
	struct agentjail_session_options no_wait = { .size = sizeof no_wait, .no_wait = 1 };
	other = h ? agentjail_session_open(h, &no_wait, &err) : NULL;
	check(other && !run(other, "1") && strcmp(err.step, "busy") == 0, "session: also when nobody waited", "it ran");
	agentjail_session_close(s);
	r = h ? agentjail_run(h, &more, &err) : NULL;
	is(r ? agentjail_result_get(r, "value") : NULL, "1", "session: and then there is room again");
	agentjail_result_free(r);
	agentjail_close(h);
	struct agentjail_options o = { .size = sizeof o, .idle_ms = 100 };
	h = agentjail_open(&o, &err);
	s = h ? agentjail_session_open(h, NULL, &err) : NULL;
	for (int i = 0; s && i < 100 && agentjail_session_alive(s); i++)
		agentjail_turn(h, 20, &err);
	check(s && !agentjail_session_alive(s), "session: idle for too long", "alive");
	check(s && !run(s, "1") && strstr(err.cause, "idle"), "session: and a run says why", "it ran");
	agentjail_close(h);
}

/* --- interrupts: from a signal handler, and from another thread --- */

static agentjail_session *volatile target;

static void on_alarm(int sig)
{
	(void)sig;
	agentjail_interrupt(target);
}

static void *interrupter(void *arg)
{
	(void)arg;
	usleep(200000);
	agentjail_interrupt(target);
	return NULL;
}

static void interrupted(const char *name)
{
	char text[80];
	agentjail_result *r = run(target, "seen = 0\nwhile True: seen += 1");
	snprintf(text, sizeof text, "interrupt: %s", name);
	is(r ? agentjail_result_get(r, "error.type") : NULL, "KeyboardInterrupt", text);
	agentjail_result_free(r);
	snprintf(text, sizeof text, "interrupt: %s, and the session lives", name);
	runs_to(target, "seen > 0", "true", text);
}

static void part_interrupt(void)
{
	agentjail *h = open_with(0);
	target = agentjail_session_open(h, NULL, &err);
	pthread_t thread;
	struct sigaction before, alarm_ = { .sa_handler = on_alarm };
	agentjail_interrupt(target);
	runs_to(target, "1", "1", "interrupt: before a run it is nothing");
	sigaction(SIGALRM, &alarm_, &before);
	struct itimerspec when = { .it_value.tv_nsec = 300000000 };
	timer_t timer;
	timer_create(CLOCK_MONOTONIC, &(struct sigevent){ .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM }, &timer);
	timer_settime(timer, 0, &when, NULL);
	interrupted("from a signal handler");
	pthread_create(&thread, NULL, interrupter, NULL);
	interrupted("from a thread");
	pthread_join(thread, NULL);
	agentjail_close(h);
}

/* --- tools --- */

#define T(...)                                                     \
	(struct agentjail_tool)                                    \
	{                                                          \
		.size = sizeof(struct agentjail_tool), __VA_ARGS__ \
	}

static const char two_integers[] = "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"integer\"}},"
				   "\"required\":[\"a\",\"b\"],\"additionalProperties\":false}";

static char *add(void *arg, const char *args, char **error)
{
	int a, b;
	char text[32];
	++*(int *)arg;
	if (sscanf(args, "{\"a\":%d,\"b\":%d}", &a, &b) != 2) {
		*error = strdup(args);
		return NULL;
	}
	snprintf(text, sizeof text, "%d", a + b);
	return strdup(text);
}

static char *fail(void *arg, const char *args, char **error)
{
	(void)arg, (void)args;
	*error = strdup("no such book");
	return NULL;
}

static char *echo(void *arg, const char *args, char **error)
{
	(void)arg, (void)error;
	return strdup(strcmp(args, "{\"text\":\"a\\u0000b\"}") == 0 ? "\"c\\u0000d\"" : "null");
}

static char *give_back(void *arg, const char *args, char **error)
{
	(void)arg, (void)error;
	return strdup(args);
}

static char *garbage(void *arg, const char *args, char **error)
{
	(void)arg, (void)args, (void)error;
	return strdup("{");
}

static char *nested(void *arg, const char *args, char **error)
{
	agentjail_result *r = run(arg, "20 + 1");
	char *value = r && agentjail_result_get(r, "value") ? strdup(agentjail_result_get(r, "value")) : NULL;
	(void)args, (void)error;
	agentjail_result_free(r);
	return value;
}

static char *closer(void *arg, const char *args, char **error)
{
	(void)args, (void)error;
	agentjail_session_close(*(agentjail_session **)arg);
	return NULL;
}

static char *slow(void *arg, const char *args, char **error)
{
	(void)args, (void)error;
	usleep(300000);
	++*(int *)arg;
	return strdup("\"late\"");
}

/* The snippet ends with the tool's answer or with the signal to stop, whichever reaches it first: no deadline is checked while the tool runs. */
static int ok_or_timeout(const agentjail_result *r)
{
	return r && (agentjail_result_status(r) == AGENTJAIL_OK || agentjail_result_status(r) == AGENTJAIL_TIMEOUT);
}

/* Longer than a timeout of 100 ms and the second until the kill. */
static void dawdle(void *arg, int number, const char *data, size_t bytes)
{
	(void)number, (void)data, (void)bytes;
	if (!*(int *)arg)
		usleep(1300000);
	++*(int *)arg;
}

/* A tool that answers when its call, or the whole snippet, is at its end: no other call and no later run takes that answer for its own. */
static void part_late(void)
{
	agentjail *h = open_with(1);
	int slows = 0, adds = 0;
	check(agentjail_add_tool(h, &T(.name = "slow", .call = slow, .arg = &slows, .timeout_ms = 50), &err) == 0 &&
	          agentjail_add_tool(h, &T(.name = "slow_async", .call = slow, .arg = &slows, .timeout_ms = 50, .is_async = 1), &err) == 0 &&
	          agentjail_add_tool(h, &T(.name = "patient", .call = slow, .arg = &slows), &err) == 0 &&
	          agentjail_add_tool(h, &T(.name = "add", .call = add, .arg = &adds, .parameters = two_integers), &err) == 0,
	      "late: tools", "refused");
	agentjail_session *s = agentjail_session_open(h, NULL, &err);
	runs_to(s,
	        "def tried(f):\n    try: return f()\n    except ToolError as e: return type(e).__name__\n"
	        "[tried(slow), add(a=1, b=2), tried(slow), add(a=3, b=4)]",
	        "[\"late\",3,\"late\",7]", "late: calls before and after one that is late get their own answers");
	runs_to(s,
	        "import asyncio\nasync def a():\n    try: return await slow_async()\n    except ToolError as e: return type(e).__name__\n"
	        "[len(await asyncio.gather(a(), a())), add(a=5, b=6)]",
	        "[2,11]", "late: so do calls at the same time");
	struct agentjail_snippet one = S(.code = "x = 'before'\npatient()", .timeout_ms = 100);
	agentjail_result *r = agentjail_session_run(s, &one, &err);
	check(ok_or_timeout(r), "late: a tool that outlasts its snippet", "%s", r ? agentjail_result_json(r) : "none");
	agentjail_result_free(r);
	runs_to(s, "[x, add(a=7, b=8)]", "[\"before\",15]", "late: and the next run gets its own answers");
	r = agentjail_run(h, &one, &err);
	check(ok_or_timeout(r), "late: the same of a single run", "%s", r ? agentjail_result_json(r) : "none");
	agentjail_result_free(r);
	one = (struct agentjail_snippet)S(.code = "add(a=9, b=10)");
	r = agentjail_run(h, &one, &err);
	is(r ? agentjail_result_get(r, "value") : NULL, "19", "late: and the next one");
	agentjail_result_free(r);
	check(slows > 0, "late: control: the tools did answer", "%d", slows);
	int outputs = 0;
	one = (struct agentjail_snippet)S(.code = "print('y', flush=True)\nimport time\ntime.sleep(0.02)\nx = 5",
	                                  .timeout_ms = 100, .output = dawdle, .output_arg = &outputs);
	r = agentjail_session_run(s, &one, &err);
	check(ok_or_timeout(r) && outputs > 0, "late: an output callback that outlasts the snippet's time", "%d outputs", outputs);
	agentjail_result_free(r);
	runs_to(s, "'here'", "here", "late: the session continues, as its snippet had ended");
	/* A program that is busy elsewhere until after the time of the kill. */
	int seen = 1;
	one = (struct agentjail_snippet)S(.code = "print('y', flush=True)\nwhile True: pass", .timeout_ms = 100, .output = dawdle,
	                                  .output_arg = &seen);
	check(agentjail_session_start(s, &one, &err) == 0, "late: a run begins", "refused");
	while (seen == 1 && agentjail_session_busy(s))
		agentjail_turn(h, -1, &err);
	usleep(1300000);
	while (agentjail_session_busy(s))
		agentjail_turn(h, -1, &err);
	r = agentjail_session_take(s, &err);
	check(r && agentjail_result_status(r) == AGENTJAIL_TIMEOUT, "late: a snippet that runs while the program does not turn",
	      "%s", r ? agentjail_result_json(r) : "none");
	agentjail_result_free(r);
	runs_to(s, "'there'", "there", "late: it is told to stop before it is killed");
	agentjail_close(h);
}

static void part_tools(void)
{
	agentjail *h = open_with(1);
	int calls = 0;
	check(agentjail_add_tool(h, &T(.name = "add", .description = "Adds.", .parameters = two_integers, .call = add, .arg = &calls),
	                         &err) == 0,
	      "tools: one is added", "refused");
	check(agentjail_add_tool(h, &T(.name = "fail", .call = fail), &err) == 0, "tools: without parameters", "refused");
	check(agentjail_add_tool(h, &T(.name = "class", .call = add), &err) < 0 && strstr(err.cause, "`class`") &&
	          strstr(err.cause, "keyword"),
	      "tools: a keyword is no name", "taken");
	check(agentjail_add_tool(h, &T(.name = "x", .call = add, .parameters = "{"), &err) < 0 && strstr(err.cause, "JSON"),
	      "tools: a schema that is not JSON", "taken");
	check(agentjail_add_tool(h, &T(.name = "x"), &err) < 0, "tools: a tool without a function", "taken");
	struct agentjail_snippet once = S(.code = "add(a=40, b=2)");
	agentjail_result *r = agentjail_run(h, &once, &err);
	is(r ? agentjail_result_get(r, "value") : NULL, "42", "tools: called by a single run");
	check(r && strstr(agentjail_result_json(r), "\"outcome\":\"ok\""), "tools: its result lists the call", "not there");
	agentjail_result_free(r);
	check(agentjail_add_tool(h, &T(.name = "echo", .call = echo, .parameters = "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}}}"),
	                         &err) == 0,
	      "tools: one for strings", "refused");
	agentjail_session *s = agentjail_session_open(h, NULL, &err), *second = agentjail_session_open(h, NULL, &err);
	runs_to(s, "sum(add(a=i, b=1) for i in range(10))", "55", "tools: called ten times");
	check(calls == 11, "tools: every call came", "%d", calls);
	runs_to(s, "echo('a\\0b') == 'c\\0d'", "true", "tools: a NUL to a tool and from it");
	runs_to(s, "try: echo('\\ud800')\nexcept ToolError as e: r = 'a lone surrogate' in str(e)\nr", "true",
	        "tools: a string that JSON has no text for");
	runs_to(s, "try: add(a='1', b=1)\nexcept Exception as e: r = type(e).__name__\nr", "ToolError", "tools: arguments that do not fit");
	check(calls == 11, "tools: were not passed on", "%d", calls);
	runs_to(s, "try: fail()\nexcept Exception as e: r = 'no such book' in str(e)\nr", "true", "tools: an error with its words");
	static const char words[] = "{\"type\":\"object\",\"properties\":{\"w\":{\"type\":\"array\"}},\"additionalProperties\":true}";
	check(agentjail_add_tool(h, &T(.name = "x", .call = give_back, .parameters = words, .variadic = "v"), &err) < 0 &&
	          strstr(err.cause, "variadic"),
	      "tools: a variadic parameter that is none", "taken");
	check(agentjail_session_add_tool(s, &T(.name = "words", .call = give_back, .parameters = words, .variadic = "w", .reserved = 1),
	                                 &err) == 0,
	      "tools: a variadic one", "refused");
	runs_to(s, "words(1, 2, k=3)", "{\"w\":[1,2],\"k\":3}", "tools: gets all arguments");
	once = (struct agentjail_snippet)S(.code = "words = 1");
	r = agentjail_session_run(s, &once, &err);
	check(r && agentjail_result_status(r) == AGENTJAIL_REJECTED, "tools: a reserved name", "%s", r ? agentjail_result_json(r) : "none");
	agentjail_result_free(r);
	check(agentjail_session_add_tool(s, &T(.name = "bad", .call = garbage), &err) == 0, "tools: one for a session", "refused");
	runs_to(s, "try: bad()\nexcept Exception as e: r = 'not JSON' in str(e)\nr", "true", "tools: a value that is not JSON");
	check(agentjail_session_add_tool(s, &T(.name = "typed", .call = add, .arg = &calls, .parameters = two_integers, .returns = "{\"type\":\"string\"}"),
	                                 &err) == 0,
	      "tools: with a type of its own", "refused");
	runs_to(s, "try: typed(a=1, b=2)\nexcept Exception as e: r = str(e) != ''\nr", "true", "tools: a value that does not fit");
	agentjail_session_add_tool(s, &T(.name = "nested", .call = nested, .arg = second), &err);
	runs_to(s, "nested() * 2", "42", "tools: one that runs another session");
	agentjail_session_add_tool(s, &T(.name = "closer", .call = closer, .arg = &s), &err);
	check(!run(s, "closer()") && strstr(err.cause, "closed"), "tools: one that closes its own session", "it went on");
	runs_to(second, "1", "1", "tools: and the other continues");
	agentjail_close(h);
}

/* --- branches --- */

static void part_branch(void)
{
	agentjail *h = open_with(0);
	struct agentjail_session_options o = { .size = sizeof o, .branching = 1 };
	int calls = 0;
	static const char two[] = "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"integer\"}}}";
	agentjail_add_tool(h, &T(.name = "add", .parameters = two, .call = add, .arg = &calls), &err);
	agentjail_session *plain = agentjail_session_open(h, NULL, &err), *s = agentjail_session_open(h, &o, &err);
	check(plain && s, "branch: sessions open", "not both");
	check(!agentjail_session_fork(plain, &err) && strcmp(err.step, "branching") == 0, "branch: only where it was asked for", "forked");
	runs_to(s, "x = [1]", NULL, "branch: a variable");
	uint64_t mark = agentjail_session_checkpoint(s, &err);
	check(mark != 0, "branch: a checkpoint", "none");
	agentjail_session *other = agentjail_session_fork(s, &err);
	check(other != NULL, "branch: a fork", "none");
	runs_to(s, "x.append(2); x", "[1,2]", "branch: one way");
	runs_to(other, "x.append(3); x", "[1,3]", "branch: the other way");
	runs_to(other, "add(a=40, b=2)", "42", "branch: a fork has the tools");
	check(agentjail_session_rollback(s, mark, &err) == 0, "branch: back", "refused");
	runs_to(s, "x", "[1]", "branch: as it was");
	struct agentjail_snippet slow = S(.code = "while True: pass", .timeout_ms = 100);
	check(agentjail_session_start(s, &slow, &err) == 0, "branch: something runs", "refused");
	check(!agentjail_session_fork(s, &err) && strcmp(err.step, "busy") == 0, "branch: not while it runs", "forked");
	check(agentjail_session_rollback(s, mark, &err) < 0 && strcmp(err.step, "busy") == 0, "branch: nor back", "it went");
	while (agentjail_session_busy(s))
		agentjail_turn(h, -1, &err);
	agentjail_result_free(agentjail_session_take(s, &err));
	/* Too much memory kills the jail, one way or the other. */
	agentjail_result_free(run(s, "b = []\nwhile True: b.append(bytearray(1 << 20))"));
	check(agentjail_session_rollback(s, mark, &err) == 0 && agentjail_session_alive(s), "branch: back from the dead", "refused");
	runs_to(s, "x", "[1]", "branch: alive again");
	check(agentjail_session_forget(s, mark, &err) == 0, "branch: forget", "refused");
	check(agentjail_session_rollback(s, mark, &err) < 0 && strcmp(err.step, "checkpoint") == 0,
	      "branch: what was forgotten is gone", "it is there");
	agentjail_close(h);
}

/* --- an event loop of somebody else's --- */

static void part_loop(void)
{
	enum { MANY = 4 };
	agentjail *h = open_with(2);
	struct agentjail_session_options no_wait = { .size = sizeof no_wait, .no_wait = 1 };
	agentjail_session *s[MANY];
	int done = 0, turns = 0;
	char code[64];
	for (int i = 0; i < MANY; i++) {
		s[i] = agentjail_session_open(h, &no_wait, &err);
		snprintf(code, sizeof code, "import time; time.sleep(0.1); %d * 11", i);
		struct agentjail_snippet snippet = S(.code = code);
		check(s[i] && agentjail_session_start(s[i], &snippet, &err) == 0, "loop: begun before there is a jail", "refused");
		memset(code, 'x', sizeof code); /* it was copied */
	}
	int fd = agentjail_fd(h);
	while (done < MANY && turns++ < 10000) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		poll(&p, 1, agentjail_due_ms(h));
		agentjail_turn(h, 0, &err);
		done = 0;
		for (int i = 0; i < MANY; i++)
			done += !agentjail_session_busy(s[i]);
	}
	for (int i = 0; i < MANY; i++) {
		agentjail_result *r = agentjail_session_take(s[i], &err);
		snprintf(code, sizeof code, "%d", i * 11);
		is(r ? agentjail_result_get(r, "value") : NULL, code, "loop: each has its value");
		agentjail_result_free(r);
	}
	check(turns < 2000, "loop: it does not spin", "%d turns", turns);
	check(agentjail_fd(h) == fd, "loop: one fd for good", "another");
	struct agentjail_snippet slow = S(.code = "while True: pass");
	agentjail_session_start(s[0], &slow, &err);
	agentjail_session_close(s[0]); /* while it runs */
	runs_to(s[1], "3", "3", "loop: one closed while it ran, and the others go on");
	/* An edge-triggered loop, as the header describes it: with more output than one turn takes. */
	int edges = epoll_create1(EPOLL_CLOEXEC), ends = 0, waits = 0;
	struct epoll_event edge = { .events = EPOLLIN | EPOLLET };
	struct pollfd left = { .fd = fd, .events = POLLIN };
	check(edges >= 0 && epoll_ctl(edges, EPOLL_CTL_ADD, fd, &edge) == 0, "loop: an edge-triggered loop", strerror(errno));
	struct agentjail_snippet wordy = S(.code = "for i in range(50): print('x' * 4000)");
	for (int i = 1; i < MANY; i++)
		agentjail_session_start(s[i], &wordy, &err);
	for (int at_end = 0; !at_end && ends >= 0 && waits < 10000; waits++) {
		ends = epoll_wait(edges, &edge, 1, agentjail_due_ms(h));
		do
			agentjail_turn(h, 0, &err);
		while (poll(&left, 1, 0) == 1);
		at_end = 1;
		for (int i = 1; i < MANY; i++)
			at_end &= !agentjail_session_busy(s[i]);
	}
	int whole = 0;
	for (int i = 1; i < MANY; i++) {
		agentjail_result *r = agentjail_session_take(s[i], &err);
		whole += r && agentjail_result_status(r) == AGENTJAIL_OK;
		agentjail_result_free(r);
	}
	check(whole == MANY - 1, "loop: it misses no event", "%d runs in %d waits", whole, waits);
	close(edges);
	agentjail_close(h);
	/* A run that ends while a blocking call does the work of its handle: a program that polls afterwards would wait for ever. */
	h = open_with(0);
	s[0] = agentjail_session_open(h, NULL, &err);
	s[1] = agentjail_session_open(h, NULL, &err);
	struct pollfd p = { .fd = agentjail_fd(h), .events = POLLIN };
	struct agentjail_snippet quick = S(.code = "7");
	check(s[0] && s[1] && agentjail_session_start(s[0], &quick, &err) == 0, "loop: one begins", "none");
	while (s[0] && s[1] && agentjail_session_busy(s[0]))
		agentjail_result_free(run(s[1], "import time; time.sleep(0.05)"));
	check(poll(&p, 1, 0) == 1, "loop: a run that ended in another's blocking call makes the fd readable", "no");
	agentjail_result_free(run(s[1], "2"));
	check(poll(&p, 1, 0) == 1, "loop: also after one more such call", "no");
	agentjail_turn(h, 0, &err);
	check(poll(&p, 1, 0) == 0, "loop: and a turn is enough", "it still is");
	agentjail_result *r = agentjail_session_take(s[0], &err);
	is(r ? agentjail_result_get(r, "value") : NULL, "7", "loop: its result is there");
	agentjail_result_free(r);
	runs_to(s[1], "4", "4", "loop: a call that waits for its own run alone");
	check(poll(&p, 1, 0) == 0, "loop: leaves nothing to do", "the fd is readable");
	agentjail_close(h);
}

/* --- threads: a handle each, at once, while others allocate; and jails die with theirs --- */

static volatile int stop;

static void *churn(void *arg)
{
	while (!stop)
		free(malloc((size_t)(rand() % 100000)));
	return arg;
}

static void *worker(void *arg)
{
	struct agentjail_options o = { .size = sizeof o, .parked = 1 };
	struct agentjail_error why;
	long good = 0;
	(void)arg;
	for (int round = 0; round < 3; round++) {
		agentjail *h = agentjail_open(&o, &why);
		struct agentjail_snippet snippet = S(.code = "print('x' * 1000)\n2+2");
		for (int i = 0; h && i < 5; i++) {
			agentjail_result *r = agentjail_run(h, &snippet, &why);
			good += r && strcmp(agentjail_result_get(r, "value"), "4") == 0 &&
			        strlen(agentjail_result_get(r, "stdout")) == 1001;
			agentjail_result_free(r);
		}
		agentjail_close(h);
	}
	return (void *)good;
}

static agentjail *stranger;
static void *use_stranger(void *arg)
{
	struct agentjail_error why = { 0 };
	(void)arg;
	agentjail_turn(stranger, 0, &why);
	agentjail_close(stranger);
	return (void *)(long)(strcmp(why.step, "thread") == 0 && why.fix[0]);
}

static agentjail *volatile lost; /* by a thread that ended; nobody may close it any more */

static void *leave_behind(void *arg)
{
	struct agentjail_options o = { .size = sizeof o, .parked = 1 };
	struct agentjail_error why;
	agentjail *h = agentjail_open(&o, &why);
	*(agentjail_session **)arg = h ? agentjail_session_open(h, NULL, &why) : NULL;
	/* With nothing under way: one that is just being born would belong to the process. */
	for (int i = 0, settled = 0; h && i < 500 && !settled; i++) {
		agentjail_turn(h, 20, &why);
		char *stats = agentjail_stats(h, &why);
		settled = strstr(stats, "\"parked\":1,\"starting\":0,") != NULL;
		agentjail_free(stats);
	}
	lost = h;
	return h;
}

/* Those of all threads: how many, and all of them get the signal; 0 is none. */
static int children_get(int sig)
{
	char path[64], line[4096] = "";
	int count = 0;
	DIR *tasks = opendir("/proc/self/task");
	for (struct dirent *e; tasks && (e = readdir(tasks));) {
		snprintf(path, sizeof path, "/proc/self/task/%.20s/children", e->d_name);
		FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
		if (f && fgets(line, sizeof line, f))
			for (char *at = strtok(line, " "); at; at = strtok(NULL, " "), count++)
				kill(atoi(at), sig);
		if (f)
			fclose(f);
	}
	if (tasks)
		closedir(tasks);
	return count;
}

static int children(void)
{
	return children_get(0);
}

static void part_threads(void)
{
	pthread_t threads[3], noise[2], one;
	void *good;
	long sum = 0;
	for (int i = 0; i < 2; i++)
		pthread_create(&noise[i], NULL, churn, NULL);
	/* As little stack as docs/reference/library.md says is enough. */
	pthread_attr_t small;
	pthread_attr_init(&small);
#ifdef __SANITIZE_ADDRESS__
	pthread_attr_setstacksize(&small, 1 << 20);
#else
	pthread_attr_setstacksize(&small, 128 << 10);
#endif
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], &small, worker, NULL);
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], &good);
		sum += (long)good;
	}
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(noise[i], NULL);
	check(sum == 45, "threads: each with a handle of its own", "%ld of 45 runs", sum);
	stranger = open_with(0);
	pthread_create(&one, NULL, use_stranger, NULL);
	pthread_join(one, &good);
	check(good != NULL, "threads: another one is refused", "it was not");
	agentjail_session *s = agentjail_session_open(stranger, NULL, &err);
	runs_to(s, "1", "1", "threads: and did no harm");
	agentjail_close(stranger);
	check(children() == 0, "threads: no child is left", "%d", children());
	agentjail_session *left = NULL;
	pthread_create(&one, NULL, leave_behind, &left);
	pthread_join(one, &good);
	for (int i = 0; i < 200 && left && waitpid(-1, NULL, WNOHANG) >= 0; i++)
		usleep(10000);
	check(left && waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "threads: jails end with their thread", "%d are there",
	      children());
}

/* --- fork, signals, children and what else of a process is not ours to touch --- */

static int forks_seen;
static void at_fork(void)
{
	forks_seen++;
}

static void *reaper(void *arg)
{
	while (!stop)
		if (waitpid(-1, NULL, WNOHANG) <= 0)
			usleep(500);
	return arg;
}

static void all_dispositions(struct sigaction out[65])
{
	memset(out, 0, 65 * sizeof *out);
	for (int i = 1; i < 65; i++)
		sigaction(i, NULL, &out[i]);
}

static void part_host(void)
{
	static struct sigaction before[65], after[65];
	sigset_t mask_before, mask_after;
	pthread_t thread;
	pthread_atfork(NULL, NULL, at_fork);
	all_dispositions(before);
	sigprocmask(SIG_SETMASK, NULL, &mask_before);
	char **environment = environ;
	gid_t groups_before[64], groups_after[64];
	int count_before = getgroups(64, groups_before);
	agentjail *h = open_with(1);
	agentjail_session *s = agentjail_session_open(h, NULL, &err);
	runs_to(s, "1", "1", "host: a run");
	/* Something that the kernel refuses, and is asked about. */
	agentjail_result_free(run(s, "try: open('/etc/passwd')\nexcept Exception: pass"));
	all_dispositions(after);
	int same = 1;
	for (int i = 1; i < 65; i++)
		same &= before[i].sa_handler == after[i].sa_handler;
	check(same, "host: no signal's handler is changed", "one is");
	sigprocmask(SIG_SETMASK, NULL, &mask_after);
	check(memcmp(&mask_before, &mask_after, 8) == 0, "host: nor the mask", "it is");
	check(environ == environment, "host: nor the environment", "it is");
	check(getgroups(64, groups_after) == count_before &&
	          memcmp(groups_before, groups_after, sizeof(gid_t) * (size_t)(count_before > 0 ? count_before : 0)) == 0,
	      "host: nor our groups", "they are");
	pid_t child = fork();
	if (child == 0) {
		agentjail_close(h);
		_exit(agentjail_turn(h, 0, &err) == -1 && strcmp(err.step, "thread") == 0 ? 0 : 1);
	}
	int status;
	waitpid(child, &status, 0);
	check(status == 0, "host: a child may not use the handle", "%d", status);
	runs_to(s, "2", "2", "host: and the parent still can");
	agentjail_close(h);
	/* A loop that takes every child. */
	pthread_create(&thread, NULL, reaper, NULL);
	h = open_with(1);
	for (int i = 0; i < 5; i++) {
		struct agentjail_snippet snippet = S(.code = "3+3");
		agentjail_result *r = agentjail_run(h, &snippet, &err);
		is(r ? agentjail_result_get(r, "value") : NULL, "6", "host: children reaped by somebody else");
		agentjail_result_free(r);
	}
	struct agentjail_snippet killed = S(.code = "b = []\nwhile True: b.append(bytearray(1 << 20))");
	agentjail_result *r = agentjail_run(h, &killed, &err);
	check(r && (agentjail_result_status(r) == AGENTJAIL_OOM || agentjail_result_status(r) == AGENTJAIL_ERROR),
	      "host: and what one died of", "%s", r ? agentjail_result_json(r) : "");
	agentjail_result_free(r);
	agentjail_close(h);
	stop = 1;
	pthread_join(thread, NULL);
	stop = 0;
	/* Ignored children vanish by themselves. */
	signal(SIGCHLD, SIG_IGN);
	h = open_with(1);
	s = agentjail_session_open(h, NULL, &err);
	runs_to(s, "4", "4", "host: SIGCHLD ignored");
	agentjail_close(h);
	signal(SIGCHLD, SIG_DFL);
	check(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "host: no child is left", "one is");
}

/* --- a child of ours that holds a copy of every descriptor --- */

static pid_t holder(void)
{
	pid_t child = fork();
	if (child == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (; child == 0;)
		pause();
	return child;
}

/* A loop of somebody else's may sleep: nothing is left that would wake it without end. */
static void sleeps(agentjail *h, const char *name)
{
	struct pollfd p = { .fd = agentjail_fd(h), .events = POLLIN };
	int turns = 0;
	for (int quiet = 0; quiet < 3 && turns < 1000; turns++) {
		agentjail_turn(h, 20, &err);
		quiet = poll(&p, 1, 100) == 0 ? quiet + 1 : 0;
	}
	check(turns < 1000, name, "it is woken, again and again");
}

static void part_copies(void)
{
	static const char *const ways[][2] = {
		{ "import os\nos.write(1, b'x' * 60000)\nos.close(1)\nos.close(2)", "copies: output that ends while it is taken" },
		{ "import os\nos.close(3)", "copies: a channel that is closed" },
		{ "import socket\ns = socket.socket(fileno=3)\ns.shutdown(1)", "copies: a channel that ends one way" },
		{ "import os\nos._exit(0)", "copies: a jail that ends" },
	};
	const char *set[] = { "python.layer=false", "limits.wall=2s", NULL };
	agentjail *h = agentjail_open(&O(.settings = set, .parked = 1), &err);
	struct agentjail_session_options no_wait = { .size = sizeof no_wait, .no_wait = 1 };
	agentjail_session *first = h ? agentjail_session_open(h, &no_wait, &err) : NULL;
	pid_t child = holder();
	if (!first)
		return;
	sleeps(h, "copies: of a zygote that was being started");
	kill(child, SIGKILL);
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		agentjail_session *s[6];
		for (int k = 0; k < 6; k++)
			s[k] = agentjail_session_open(h, NULL, &err);
		child = holder();
		for (int k = 0; k < 6; k++)
			agentjail_result_free(run(s[k], ways[i][0]));
		sleeps(h, ways[i][1]);
		for (int k = 0; k < 6; k++)
			agentjail_session_close(s[k]);
		sleeps(h, "copies: and all sessions are closed");
		kill(child, SIGKILL);
	}
	struct agentjail_session_options o = { .size = sizeof o, .branching = 1 };
	agentjail_session *s = agentjail_session_open(h, &o, &err);
	child = holder();
	agentjail_session *other = s ? agentjail_session_fork(s, &err) : NULL;
	check(other != NULL, "copies: a fork", "none");
	sleeps(h, "copies: of a session that was forked");
	kill(child, SIGKILL);
	child = holder();
	agentjail_session_close(other);
	agentjail_session_close(s);
	sleeps(h, "copies: and both are closed");
	kill(child, SIGKILL);
	agentjail_close(h);
	while (wait(NULL) > 0)
		;
}

/* --- what goes wrong in the background --- */

static int logged, log_turned;
static void on_log(void *arg, const char *line)
{
	(void)line;
	if (logged++)
		return;
	memset(&err, 0, sizeof err);
	log_turned = agentjail_turn(inside, 0, &err);
	agentjail_interrupt(*(agentjail_session **)arg);
	agentjail_session_close(*(agentjail_session **)arg);
	agentjail_close(inside);
}

/* A program that began as root and is another user now: the kernel gives its files below /proc to root, and those of its children. */
static void part_owner(void)
{
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		static const id_t nobody = 65534;
		if (geteuid() == 0 &&
		    (setgroups(0, NULL) < 0 || setresgid(nobody, nobody, nobody) < 0 || setresuid(nobody, nobody, nobody) < 0))
			_exit(9);
		agentjail_result *r;
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* where the sysctl fs.suid_dumpable says another thing */
		agentjail *h = open_with(0);
		r = agentjail_run(h, &S(.code = "1"), &err);
		check(!r && strcmp(err.step, "id_maps") == 0, "owner: an undumpable program without root's rights has no jail", "it has");
		check(strstr(err.fix, "PR_SET_DUMPABLE") != NULL, "owner: the fix says why", "%s", err.fix);
		agentjail_result_free(r);
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
		r = agentjail_run(h, &S(.code = "1 + 1"), &err);
		is(r ? agentjail_result_get(r, "value") : NULL, "2", "owner: and helps");
		agentjail_result_free(r);
		agentjail_close(h);
		_exit(failed != 0);
	}
	int status = -1;
	waitpid(child, &status, 0);
	check(status == 0, "owner: to the end", "%d", status);
}

static void part_log(void)
{
	agentjail_session *s = NULL;
	struct agentjail_options o = { .size = sizeof o, .parked = 1, .log = on_log, .log_arg = &s };
	agentjail *h = inside = agentjail_open(&o, &err);
	s = h ? agentjail_session_open(h, NULL, &err) : NULL;
	check(s != NULL, "log: a session", "none");
	int jails = children();
	children_get(SIGKILL);
	for (int i = 0; h && i < 500 && (!logged || agentjail_session_alive(s)); i++)
		agentjail_turn(h, 20, &err);
	check(jails && logged, "log: what was killed is told", "%d children, nothing is said", jails);
	check(log_turned == -1 && strcmp(err.step, "output") == 0, "log: no calls from its callback", "%d", log_turned);
	check(s && !run(s, "1") && strcmp(err.step, "session") == 0, "log: the session is there, and has ended", "it is not");
	agentjail_session_close(s);
	/* A jail may be had that was killed and is not dead yet. */
	struct agentjail_snippet snippet = S(.code = "2");
	int good = 0;
	for (int i = 0; h && i < 50 && !good; i++) {
		agentjail_result *r = agentjail_run(h, &snippet, &err);
		good = r && agentjail_result_status(r) == AGENTJAIL_OK;
		agentjail_result_free(r);
	}
	check(good, "log: and everything continues", "nothing runs any more");
	agentjail_close(h);
}

/* Fds 0, 1 and 2 may be closed: what happened is told by the exit code. */
static void part_closed(void)
{
	close(0), close(1), close(2);
	struct agentjail_options o = { .size = sizeof o, .parked = 1 };
	agentjail *h = agentjail_open(&o, &err);
	struct agentjail_snippet snippet = S(.code = "print('x'); 5");
	agentjail_result *r = h ? agentjail_run(h, &snippet, &err) : NULL;
	_exit(r && strcmp(agentjail_result_get(r, "value"), "5") == 0 && strcmp(agentjail_result_get(r, "stdout"), "x\n") == 0 ? 0 : 1);
}

/* Open, run, close, again and again: fds and memory stay what they were. */
static void part_leaks(void)
{
	long fds[2] = { 0, 0 };
	for (int round = 0; round < 6; round++) {
		agentjail *h = open_with(1);
		agentjail_session *s = agentjail_session_open(h, NULL, &err);
		runs_to(s, "1", "1", "leaks: a run");
		agentjail_close(h);
		DIR *d = opendir("/proc/self/fd");
		fds[1] = 0;
		while (d && readdir(d))
			fds[1]++;
		closedir(d);
		if (round == 0)
			fds[0] = fds[1];
	}
	check(fds[0] == fds[1], "leaks: no fd", "%ld, then %ld", fds[0], fds[1]);
	check(children() == 0, "leaks: no child", "%d", children());
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} parts[] = { { "run", part_run },
		      { "errors", part_errors },
		      { "tree", part_tree },
		      { "audit", part_audit },
		      { "session", part_session },
		      { "files", part_files },
		      { "interrupt", part_interrupt },
		      { "tools", part_tools },
		      { "late", part_late },
		      { "branch", part_branch },
		      { "loop", part_loop },
		      { "threads", part_threads },
		      { "host", part_host },
		      { "owner", part_owner },
		      { "log", part_log },
		      { "copies", part_copies },
		      { "closed", part_closed },
		      { "leaks", part_leaks } };
	(void)forks_seen;
	for (int i = 1; i < argc; i++)
		for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
			if (strcmp(argv[i], parts[p].name) == 0)
				parts[p].run();
	return failed != 0;
}
