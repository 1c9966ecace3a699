/* Tests of base/program: the file that execvp(3) would start. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/program.h"

Test(program, the_first_executable_file_on_the_path)
{
	char folder[] = "/tmp/aj-unit.XXXXXX", out[64];
	cr_assert(mkdtemp(folder) && chdir(folder) == 0);
	cr_assert(mkdir("a", 0755) == 0 && mkdir("a/tool", 0755) == 0 && mkdir("b", 0755) == 0 && mkdir("c", 0755) == 0);
	cr_assert_eq(close(open("b/tool", O_CREAT | O_WRONLY, 0644)), 0);
	cr_assert_eq(close(open("c/tool", O_CREAT | O_WRONLY, 0755)), 0);
	setenv("PATH", "none:a:b:c", 1);
	cr_expect(aj_program_find("tool", out, sizeof out));
	cr_expect_str_eq(out, "c/tool", "neither a folder nor a file that cannot be executed");
	cr_expect_not(aj_program_find("other", out, sizeof out));
	cr_expect_not(aj_program_find("tool", out, sizeof "c/tool" - 1), "a path that does not fit");
	cr_expect(aj_program_find("./c/tool", out, sizeof out), "a name with a slash is a path");
	cr_expect_str_eq(out, "./c/tool");
	cr_expect_not(aj_program_find("./b/tool", out, sizeof out));
	unsetenv("PATH");
	cr_expect_not(aj_program_find("tool", out, sizeof out));
	cr_assert(unlink("b/tool") == 0 && unlink("c/tool") == 0 && rmdir("a/tool") == 0);
	cr_assert(rmdir("a") == 0 && rmdir("b") == 0 && rmdir("c") == 0 && rmdir(folder) == 0);
}
