/* Finds out why the kernel returned ENOENT for a program that exists: a script's interpreter, or an ELF file's loader, is
 * missing. It reads the program with the jail's rights; the text that it quotes is untrusted. */
#include "sandbox/interpreter.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/program.h"
#include "base/text.h"

/* The text after `#!`, up to a blank; NULL when this is not a script. */
static const char *of_script(char *head)
{
	if (head[0] != '#' || head[1] != '!')
		return NULL;
	char *name = head + 2 + strspn(head + 2, " \t");
	name[strcspn(name, " \t\n")] = '\0';
	return *name ? name : NULL;
}

/* The PT_INTERP of a 64-bit ELF file whose beginning is in `head`. */
static const char *of_elf(char *head, size_t bytes)
{
	Elf64_Ehdr elf;
	memcpy(&elf, head, sizeof elf);
	if (bytes < sizeof elf || memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_ident[EI_CLASS] != ELFCLASS64)
		return NULL;
	for (size_t i = 0; i < elf.e_phnum; i++) {
		Elf64_Phdr part;
		size_t at = elf.e_phoff + i * sizeof part;
		if (elf.e_phoff >= bytes || at + sizeof part > bytes)
			return NULL;
		memcpy(&part, head + at, sizeof part);
		if (part.p_type == PT_INTERP && part.p_offset < bytes && part.p_filesz <= bytes - part.p_offset)
			return head + part.p_offset;
	}
	return NULL;
}

void aj_interpreter_missing(const char *program, struct aj_error *err)
{
	char file[PATH_MAX], head[4096] = "", quoted[400];
	struct stat st;
	int errnum = errno;
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	cleanup_fd int fd = aj_program_find(program, file, sizeof file) ? open(file, flags) : -1;
	ssize_t bytes = fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ? -1 : read(fd, head, sizeof head - 1);
	const char *script = bytes > 0 ? of_script(head) : NULL;
	const char *name = script || bytes <= 0 ? script : of_elf(head, (size_t)bytes);
	if (name && access(name, F_OK) < 0) {
		size_t length = strnlen(name, 90);
		quoted[aj_printable(quoted, name, length)] = '\0';
		aj_fail(err, AJ_EXIT_NOT_FOUND, "exec", 0, "`%s` is there, but its %s `%s` is not in the jail", program,
		        script ? "interpreter" : "loader", quoted);
		if (script)
			aj_advise(err, "name an interpreter that is: agentjail run -- INTERPRETER SCRIPT; "
			               "or show its folder with --bind");
		else
			aj_advise(err, "show the loader's folder with --bind, or use a program that was built for this system");
	}
	errno = errnum;
}
