/* C callbacks of ctypes without memory that is both writable and executable: replaces the allocation of libffi's closures.
 * libffi would map memory for machine code that it writes, which the filter refuses. Here the code is a page of this library,
 * mapped again for each 256 callbacks, with a page of their data behind it. The code that libffi writes stays data. */
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"

#if defined(__x86_64__)

#define GUEST "/usr/lib/agentjail/guest.so"
enum { PAGE = 4096, ENTRY = 16, ENTRIES = PAGE / ENTRY };

/* Each entry loads the address of its closure, which is a page further on, and jumps where libffi's code in the closure would:
 * to the address behind that code, at 24 in each libffi.so.8. */
__asm__(".pushsection .text.closures, \"ax\", @progbits\n"
        ".balign 4096\n"
        "aj_closure_code:\n"
        ".rept 256\n"
        "1: endbr64\n"
        "movq 1b+4096(%rip), %r10\n"
        "jmp *24(%r10)\n"
        ".balign 16\n"
        ".endr\n"
        ".balign 4096\n"
        ".popsection\n");
extern const char aj_closure_code[] __attribute__((visibility("hidden")));

/* The data of an entry, in the page behind its code. */
struct closure_entry {
	void *closure;
	struct closure_entry *next; /* while it is free */
};
_Static_assert(sizeof(struct closure_entry) <= ENTRY, "an entry's data has the room of its code");

/* Before the memory that libffi knows as the closure. */
struct closure_head {
	struct closure_entry *entry;
	uint64_t unused; /* keeps the closure aligned to 16 bytes */
};

static struct closure_entry *free_entries; /* callers hold the interpreter's lock */

struct code_search {
	off_t offset;
	bool found;
};

static int find_code(struct dl_phdr_info *info, size_t bytes, void *data)
{
	struct code_search *s = data;
	uintptr_t code = (uintptr_t)aj_closure_code;
	(void)bytes;
	for (int i = 0; i < info->dlpi_phnum && !s->found; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + h->p_vaddr;
		if (h->p_type != PT_LOAD || code < start || code >= start + h->p_filesz)
			continue;
		s->offset = (off_t)(h->p_offset + (code - start));
		s->found = true;
	}
	return s->found;
}

static struct closure_entry *data_of(char *code, int i)
{
	return (struct closure_entry *)(void *)(code + PAGE + (ptrdiff_t)i * ENTRY);
}

static bool map_entries(void)
{
	struct code_search s = { 0 };
	dl_iterate_phdr(find_code, &s);
	cleanup_fd int fd = s.found ? open(GUEST, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return false;
	char *room = mmap(NULL, 2UL * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		return false;
	if (mmap(room, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, s.offset) == MAP_FAILED) {
		munmap(room, 2UL * PAGE);
		return false;
	}
	for (int i = 0; i < ENTRIES; i++) {
		struct closure_entry *e = data_of(room, i);
		e->next = free_entries;
		free_entries = e;
	}
	return true;
}

__attribute__((visibility("default"))) void *ffi_closure_alloc(size_t bytes, void **code);
__attribute__((visibility("default"))) void ffi_closure_free(void *closure);

void *ffi_closure_alloc(size_t bytes, void **code)
{
	if (!code || (!free_entries && !map_entries()))
		return NULL;
	struct closure_head *head = calloc(1, sizeof *head + bytes);
	if (!head)
		return NULL;
	head->entry = free_entries;
	free_entries = free_entries->next;
	*head->entry = (struct closure_entry){ .closure = head + 1 };
	*code = (char *)head->entry - PAGE;
	return head + 1;
}

void ffi_closure_free(void *closure)
{
	if (!closure)
		return;
	struct closure_head *head = (struct closure_head *)closure - 1;
	*head->entry = (struct closure_entry){ .next = free_entries };
	free_entries = head->entry;
	free(head);
}

#endif
