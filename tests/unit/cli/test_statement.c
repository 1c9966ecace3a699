/* Tests of shell/statement: what is a whole snippet, and what asks for another line.
 * Whether Python takes it is not asked. */
#include <criterion/criterion.h>

#include "cli/shell/statement.h"

static const char *const whole[] = {
	"\n",
	"1 + 1\n",
	"x = 1 # a comment with ( and '''\n",
	"f(1,\n  2)\n",
	"print('(')\n",
	"print(\"it's\")\n",
	"'''a\nb'''\n",
	"\"\"\"a \\\"\"\" b\"\"\"\n",
	"'unterminated\n", /* Python says so */
	"'a\\\nb'\n",
	"x = 1 + \\\n  2\n",
	"x: int = 1\n",
	"x = d[1:]\n",
	"f = lambda: 1\n",
	"if x: y\n",
	"def f():\n  return 1\n\n",
	"def f():\n  return 1\n   \n",
	"def f(): # why\n  return 1\n\n",
	"class A:\n  '''doc\n\n  doc'''\n\n",
	"@cache\ndef f(n): return n\n\n",
	"if x:\n  y\nelse:\n  z\n\n",
	"if (x and\n    y):\n  z\n\n",
	"def f():\n  return 1\n\nf()\n", /* as it was pasted */
	"def f():\n  return 1\nf()\n",
	"def f():\n  x = 1\n\n  return x\n\n\nf()\n",
	"if x:\n  y\nz = [1,\n2]\n",
	")\n",
	"x = {\n  'a': [1,\n\n 2],\n}\n",
	"# only: a comment:\n",
	"'a' 'b'\n",
	"''\n",
	"''''''\n",
};

static const char *const open_[] = {
	"f(\n",
	"f(1,\n",
	"f(1,\n\n", /* an empty line ends no bracket */
	"x = [\n",
	"{'a': (\n",
	"'''a\n",
	"'''a\n\n",
	"'''a''\n",
	"\"\"\"a '''\n",
	"x = 1 + \\\n",
	"if x:\n",
	"if x: # why\n",
	"if x:\n  y\n",
	"if x:\n  y\nelse:\n",
	"@cache\n",
	"@cache\ndef f(n): return n\n",
	"def f(a,\n      b):\n",
	"for x in [1,\n 2]:\n",
	"while True:\n  '''a\n\n",
	"def f():\n  x = 1\n\n  return x\n", /* pasted: after the empty line, more came */
	"def f():\n  '''doc\ndoc'''\n",
	"if x:\n  y\nelse: z\n",
	"try:\n  x\nexcept E: y\n",
	"x = 1\nif x:\n  y\n# why\n",
	"'a\\\n",
	"class A:\n  x = ')'\n",
};

Test(block, whole_snippets)
{
	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
		cr_expect(aj_statement_complete(whole[i]), "%zu: %s", i, whole[i]);
}

Test(block, snippets_that_go_on)
{
	for (size_t i = 0; i < sizeof open_ / sizeof *open_; i++)
		cr_expect(!aj_statement_complete(open_[i]), "%zu: %s", i, open_[i]);
}
