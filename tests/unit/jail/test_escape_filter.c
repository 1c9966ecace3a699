/* Tests of pty/escape_filter and pty/modes: which control sequences reach a person's terminal, and what is undone at the end.
 * Each row is fed whole and byte by byte: where a sequence is cut must not matter. */
#include <criterion/criterion.h>
#include <limits.h>
#include <string.h>

#include "jail/pty/escape_filter.h"

static struct aj_escape_filter filter;
static char made[65536];

static const char *feed(enum aj_escapes level, const char *in, size_t bytes, size_t piece)
{
	size_t n = 0;
	aj_escape_init(&filter, level);
	for (size_t i = 0; i < bytes; i += piece)
		n += aj_escape_filter(&filter, in + i, bytes - i < piece ? bytes - i : piece, made + n);
	made[n] = '\0';
	return made;
}

#define ST "\033\\"
#define COLOURS "\033]104" ST "\033]105" ST "\033]110" ST "\033]111" ST "\033]112" ST "\033]117" ST "\033]119" ST
/* `left`: what passes; NULL: all of it. */
static const struct {
	const char *in, *left;
	int kind; /* that is counted, -1: none */
} rows[] = {
	{ "text\ttab\r\nbell\a\b", NULL, -1 },
	{ "\xe2\x82\xac \xc3\xa9 \xf0\x9f\x98\x80 \xe2\x80\x9c", NULL, -1 },
	{ "\033[1;31mred\033[0m\033[K\033[2J\033[10;20H\033[?1049h\033[?25l\033[>4;2m\033[>1u\033[<u\033[ q", NULL, -1 },
	{ "\0337\0338\033=\033>\033M\033(0\033(B\033#8\033c", NULL, -1 },
	{ "\033[6n\033[c\033[>c\033[>q\033[?2026$p\033[18t\033[14t\033[22;2t\033[23;2t", NULL, -1 }, /* answers of digits */
	{ "\033]0;a title\007\033]2;title" ST, NULL, -1 },
	{ "\033]8;id=1;https://x.test/\033\\link\033]8;;" ST, NULL, -1 },
	{ "\033]10;?\007\033]11;?" ST "\033]4;1;?\007\033]104\007\033]9;4;1;50" ST, NULL, -1 },
	{ "a\033]52;c;aGk=\007b", "ab", AJ_ESCAPE_CLIPBOARD },
	{ "a\033]52;c;?" ST "b", "ab", AJ_ESCAPE_CLIPBOARD },
	{ "\033]9;hello\007", "", AJ_ESCAPE_NOTIFICATION },
	{ "\033]777;notify;a;b\007", "", AJ_ESCAPE_NOTIFICATION },
	{ "\033]99;i=1;x" ST, "", AJ_ESCAPE_NOTIFICATION },
	{ "\033[21t", "", AJ_ESCAPE_ANSWER },
	{ "\033[20t", "", AJ_ESCAPE_ANSWER },
	{ "\033[1;1;1;1;10;10*y", "", AJ_ESCAPE_ANSWER },
	{ "\005", "", AJ_ESCAPE_ANSWER },
	{ "\033kq", "q", AJ_ESCAPE_STRING },
	{ "\033!xq", "q", AJ_ESCAPE_STRING },
	{ "\033\"xq", "q", AJ_ESCAPE_STRING },
	{ "\033GQ", "Q", AJ_ESCAPE_ANSWER }, /* once answered with a line feed at its end */
	{ "\033[1$w", "", AJ_ESCAPE_ANSWER },
	{ "\033[7n", "", AJ_ESCAPE_ANSWER },
	{ "\033[2t", "", AJ_ESCAPE_WINDOW },
	{ "\033[t", "", AJ_ESCAPE_WINDOW },
	{ "\033[8;50;80t", "", AJ_ESCAPE_WINDOW },
	{ "\033[99t", "", AJ_ESCAPE_WINDOW },
	{ "\033[>3t", "", AJ_ESCAPE_WINDOW },
	{ "\033[12;2]", "", AJ_ESCAPE_WINDOW },
	{ "\033[5i", "", AJ_ESCAPE_PRINTER },
	{ "\033[?5i", "", AJ_ESCAPE_PRINTER },
	{ "\033]46;/tmp/log\007", "", AJ_ESCAPE_PRINTER },
	{ "\033P$qm" ST "x", "x", AJ_ESCAPE_STRING },
	{ "\033Pq#0;2;0;0;0" ST, "", AJ_ESCAPE_STRING },
	{ "\033_Gf=100,t=f;L2V0Yy9wYXNzd2Q=" ST, "", AJ_ESCAPE_STRING },
	{ "\033^pm" ST "\033Xsos" ST, "", AJ_ESCAPE_STRING },
	{ "\033Ptmux;\033\033]52;c;aGk=\007" ST "x", "x", AJ_ESCAPE_CLIPBOARD },
	{ "\033Ptmux;\033\033[21t" ST "x", "x", AJ_ESCAPE_ANSWER },
	{ "\xc2\x9b"
	  "21t",
	  "21t", AJ_ESCAPE_C1 },
	{ "\x9d"
	  "52;c;aGk=\007",
	  "52;c;aGk=\007", AJ_ESCAPE_C1 },
	{ "\xe0\x82\x9b"
	  "5i",
	  "5i", AJ_ESCAPE_C1 }, /* longer than need be: a careless terminal decodes it */
	{ "\xc0\x9b[5i", "[5i", AJ_ESCAPE_C1 },
	{ "\033]1337;File=name=YQ==;inline=1:AAAA\007", "", AJ_ESCAPE_OTHER },
	{ "\033]7;file://h/tmp" ST, "", AJ_ESCAPE_OTHER },
	{ "\033]50;?\007", "", AJ_ESCAPE_OTHER },
	{ "\033]ltitle" ST, "", AJ_ESCAPE_OTHER },
	{ "\033]0;a\nb\007", "", AJ_ESCAPE_OTHER },
	{ "\033]0;\xc2\x9b"
	  "21t\007",
	  "", AJ_ESCAPE_OTHER },
	{ "\033]Prrggbb7x\033]R", "x", AJ_ESCAPE_OTHER }, /* of the Linux console: nothing else ends it */
	{ "\033%@", "", AJ_ESCAPE_OTHER },
	{ "\033 F", "", AJ_ESCAPE_OTHER },
	{ "\033[2h", "", AJ_ESCAPE_OTHER },
	{ "\033[?25;2l", "", AJ_ESCAPE_OTHER },
	{ "\033[?38h", "", AJ_ESCAPE_OTHER }, /* Tektronix */
	{ "\033[?1003s", "", AJ_ESCAPE_OTHER },
	{ "\033[?1003r", "", AJ_ESCAPE_OTHER },
	{ "\033[20h", "", AJ_ESCAPE_OTHER },
	{ "\033[3h\033[?2l\033[?3h\033[?8l\033[?66h\033[?67h\033[?1043h\033[?1046l\033[?9001h", "",
	  AJ_ESCAPE_OTHER }, /* would stay */
	{ "\033[?25;9001h\033[?2004$h\033[=7h\033[>5h", "", AJ_ESCAPE_OTHER },
	{ "\033[>1;2m\033[>0;1m\033[>5;1m\033[>1;1f\033[>3p\033[1'z\033[1'{", "", AJ_ESCAPE_OTHER },
	{ "\033[!p\033[?3;4l\033[4l\033>\033[?1034h\033[?12;25h\033[?1048h\033[?1048l\033[?1007h\033[h", NULL, -1 },
	{ "\033[4;12l", "", AJ_ESCAPE_OTHER },
	{ "\033[20l\033[12h\033[?12h\033[?12l\033[s\033[u\033[2;9r\033[!p\033[?2026$p", NULL, -1 }, /* of the same letters */
	{ "\033[61\"p", "", AJ_ESCAPE_OTHER },
	{ "\033H\033[g\033[3g\033[0W\033[2W\033[5W\033[?5W", "", AJ_ESCAPE_OTHER }, /* tab stops */
	{ "\033[>1n\033[>4n\033[>n\033[>1s\033[>s\033[1 t\033[8 t\033[1 u\033[1\"q\033[2\"q", "",
	  AJ_ESCAPE_OTHER }, /* would stay */
	{ "\033[1$}", "", AJ_ESCAPE_OTHER },
	{ "\033[2$~", "", AJ_ESCAPE_OTHER },
	{ "\033n\033o\033|\033}\033~", "", AJ_ESCAPE_OTHER }, /* locking shifts */
	{ "\033V\033W", "", AJ_ESCAPE_OTHER },                /* areas that no erasure clears */
	{ "\033#3\033#4\033#6", "", AJ_ESCAPE_OTHER },        /* lines of double width */
	{ "\033l\033m", "", AJ_ESCAPE_OTHER },                /* memory lock */
	{ "\033$B\033&x\033(\"x", "\033(\"x", AJ_ESCAPE_OTHER },
	{ "\033[3\033[5ix", "x", AJ_ESCAPE_PRINTER },
	{ "\033[3\n1m", "\n1m", AJ_ESCAPE_OTHER },
	{ "\033[3\x18"
	  "1m",
	  "1m", AJ_ESCAPE_OTHER },
	{ "\033]0;a\033[5ix", "x", AJ_ESCAPE_PRINTER },
	{ "\033]0;never ends", "", -1 },
	{ "\xe2\x82"
	  "A\xe2\x82",
	  "\xe2\x82"
	  "A",
	  -1 }, /* the last character is not whole yet */
};

Test(escapes, what_passes)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t piece = 1; piece < 100; piece += 33) {
			const char *want = rows[i].left ? rows[i].left : rows[i].in;
			cr_expect_str_eq(feed(AJ_ESCAPES_FILTERED, rows[i].in, strlen(rows[i].in), piece), want,
			                 "row %zu, %zu bytes at a time", i, piece);
			uint64_t counted = 0;
			for (int kind = 0; kind < AJ_ESCAPE_KINDS; kind++)
				counted += filter.left_out[kind];
			cr_expect_eq(counted > 0, rows[i].kind >= 0, "row %zu", i);
			cr_expect(rows[i].kind < 0 || filter.left_out[rows[i].kind], "row %zu", i);
		}
}

/* A flood of bells is bounded, in both ways to ring; a bell now and then always passes. */
Test(escapes, bells)
{
	static char flood[4000];
	const char *one[] = { "\a", "\033g" };
	for (size_t k = 0; k < 2; k++) {
		size_t length = strlen(one[k]), count = sizeof flood / length;
		for (size_t i = 0; i < count; i++)
			memcpy(flood + i * length, one[k], length);
		cr_expect_eq(strlen(feed(AJ_ESCAPES_FILTERED, flood, count * length, 100)), AJ_ESCAPE_BELLS * length, "row %zu",
		             k);
		cr_expect_eq(filter.left_out[AJ_ESCAPE_BELL], count - AJ_ESCAPE_BELLS, "row %zu", k);
		cr_expect_eq(strlen(feed(AJ_ESCAPES_ALL, flood, count * length, 100)), count * length, "row %zu", k);
	}
	feed(AJ_ESCAPES_FILTERED, "", 0, 1);
	char out[2 * AJ_ESCAPE_MAX];
	for (int64_t now = 7; now < 1000 * AJ_ESCAPE_BELL_US; now += AJ_ESCAPE_BELL_US) {
		aj_escape_time(&filter, now);
		cr_expect_eq(aj_escape_filter(&filter, "\a", 1, out), 1, "at %ld", now);
	}
	for (int i = 0; i < 100; i++) {
		aj_escape_time(&filter, 2000LL * AJ_ESCAPE_BELL_US + i);
		cr_expect_eq(aj_escape_filter(&filter, "\a", 1, out), i < AJ_ESCAPE_BELLS, "bell %d at once", i);
	}
	feed(AJ_ESCAPES_FILTERED, "\033]0;t\a", 6, 1);
	cr_expect_eq(filter.bells, 0, "the end of a sequence rings no bell");
}

Test(escapes, levels)
{
	const char *text = "a\033[1mb\033]52;c;aGk=\007c\005\xc2\x9b";
	cr_expect_str_eq(feed(AJ_ESCAPES_NONE, text, strlen(text), 3), "abc");
	cr_expect_str_eq(feed(AJ_ESCAPES_FILTERED, text, strlen(text), 3), "a\033[1mbc");
	cr_expect_str_eq(feed(AJ_ESCAPES_ALL, text, strlen(text), 3), text);
	cr_expect_eq(filter.left_out[AJ_ESCAPE_CLIPBOARD], 0);
	cr_expect(filter.modes.set, "what is undone is known all the same");
}

Test(escapes, lengths)
{
	static char text[3 * AJ_ESCAPE_MAX];
	memset(text, 'x', sizeof text);
	memcpy(text, "\033]0;", 4);
	text[AJ_ESCAPE_MAX - 1] = '\007';
	cr_expect_eq(strlen(feed(AJ_ESCAPES_FILTERED, text, sizeof text, 100)), sizeof text, "a sequence as long as can be");
	text[AJ_ESCAPE_MAX - 1] = 'x';
	text[AJ_ESCAPE_MAX] = '\007';
	cr_expect_eq(strlen(feed(AJ_ESCAPES_FILTERED, text, sizeof text, 100)), sizeof text - AJ_ESCAPE_MAX - 1, "one byte more");
	memcpy(text, "\033[1;", 4);
	memset(text + 4, '1', sizeof text - 4);
	text[sizeof text - 1] = 'm';
	cr_expect_str_eq(feed(AJ_ESCAPES_FILTERED, text, sizeof text, 100), "");
}

/* What is undone after this output. */
static const char *undone(const char *text)
{
	static char out[AJ_MODES_TEXT + 1];
	feed(AJ_ESCAPES_FILTERED, text, strlen(text), 7);
	out[aj_modes_undo(&filter.modes, out)] = '\0';
	return out;
}

Test(escapes, modes_are_undone)
{
	static const struct {
		const char *text, *undo;
	} set[] = {
		{ "text", "" },
		{ "\033[?1049h\033[?25l\033[?1000;1006h", "\033[?1000l\033[?1006l\033[?1049l\033[?25h" },
		{ "\033[?1049h\033[?1049l\033[?25l\033[?25h", "" },
		{ "\033[31m", "\033[m" },
		{ "\033[31m\033[0m", "" },
		{ "\033[31m\033[m", "" },
		{ "\033[2;5r", "\0337\033[r\0338" },
		{ "\033[2;5r\033[r", "" },
		{ "\033[>1u\033[>3u\033[<u", "\033[<1u" },
		{ "\033[>4;2m", "\033[>4;0m" },
		{ "\033=\033(0", "\033>\033(B" },
		{ "\033(0\033[?1049h", "\033[?1049l\033(B" }, /* which brings back the charset of before */
		{ "\033)0\016", "\033)B\033*B\033+B\017" },
		{ "\016\017\033)B", "" },
		{ "\033]8;;http://x.test/" ST "link", "\033]8;;" ST },
		{ "\033]8;id=1;http://x.test/\007link\033]8;;\007", "" },
		{ "\033[?1049h\033=\033c", "" },
		{ "\033[5 q", "\033[0 q" },
		{ "\033]11;?\007", "" },
		{ "\033]10;?;?\007\033]4;1;?;2;?\007", "" },
		{ "\033]10;#000;?\007", COLOURS },
		{ "\033]4;1;?;15;#000\007", COLOURS },
		{ "\033[>4;02m", "\033[>4;0m" },
		{ "\033[>4;2m\033[>4m", "" },
		{ "\033[=1u\033[=0;2u", "\033[=0u" },
		{ "\033[=31u\033[=0u", "" },
		/* each screen has its own stack of the keyboard */
		{ "\033[>31u\033[?1049h\033[<u\033[?1049l", "\033[<1u" },
		{ "\033[>31u\033[?1049h\033[>1u\033[>1u", "\033[<2u\033[?1049l\033[<1u" },
		{ "\033[?1049h\033[?47l\033[>31u\033[?47h\033[<u\033[?47l", "\033[<1u\033[?1049l" },
		{ "\033[=31u\033[?47h\033[=0u\033[?47l", "\033[=0u" },
		/* attributes that come back */
		{ "\0337\0338\033[s\033[u", "" },
		{ "\033[8m\0337\033[m\0338", "\033[m" },
		{ "\033(0\033[s\033(B\033[u", "\033(B" },
		{ "\033[8m\033[#{\033[m\033[#}", "\033[m" },
		{ "\033[8m\033[?1048h\033[m\033[?1048l", "\033[m" },
		{ "\033[8m\033[?1049h\033[m\033[?1049l", "\033[m" },
		{ "\033[8m\033[?1049h\033[m", "\033[?1049l\033[m" },
		{ "\033]11;red\007", COLOURS },
		{ "\033]9;4;1;50\007", "\033]9;4;0" ST },
		{ "\033]9;4;1;50\007\033]9;4;0\007", "" },
		/* a title: the one of before, where it is on the terminal's stack, else none */
		{ "\033]2;x\007", "\033]0;" ST },
		{ "\033[22t\033]2;x\007", "\033[23;0t" },
		{ "\033[22;0t\033]2;x\007\033[22;2t\033]2;y\007", "\033[23;0t\033[23;0t" },
		{ "\033[22;2t\033]2;x\007\033[23;2t", "" },
		{ "\033]2;x\007\033[22;2t\033[23;2t", "\033]0;" ST },
		{ "\033[22;1t\033]2;x\007", "\033]0;" ST }, /* the icon's alone */
		{ "\033[23t\033[22t\033[23t\033]2;x\007", "\033]0;" ST },
	};
	char all[AJ_MODES_TEXT];
	struct aj_modes most;
	for (size_t i = 0; i < sizeof set / sizeof *set; i++)
		cr_expect_str_eq(undone(set[i].text), set[i].undo, "row %zu", i);
	const struct aj_keyboard keyboard = { .depth = UINT_MAX, .flags = UINT_MAX, .set = true };
	most = (struct aj_modes){ .set = (1ULL << 36) - 1,
		                  .saved = UINT64_MAX,
		                  .keyboard = { keyboard, keyboard },
		                  .alternate = true,
		                  .modified_keys = UINT_MAX,
		                  .titles = 8 };
	cr_expect_lt(aj_modes_undo(&most, all), sizeof all, "everything fits");
	cr_expect_lt(aj_modes_again(&most, all), sizeof all);
}
