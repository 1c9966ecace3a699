/* Tests of base/sha256 against the vectors of FIPS 180-4.
 * It trusts no other implementation on this machine. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/sha256.h"

static const struct {
	const char *text, *hex;
} vectors[] = {
	{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
	{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
	{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
};
static const char million_a[] = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

Test(hash, known_vectors)
{
	char hex[AJ_SHA256_HEX];
	for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
		aj_sha256(vectors[i].text, strlen(vectors[i].text), hex);
		cr_expect_str_eq(hex, vectors[i].hex);
	}
}

Test(hash, a_file_and_the_same_bytes)
{
	char hex[AJ_SHA256_HEX];
	int fd = memfd_create("million", 0);
	char *a = malloc(1000000);
	memset(a, 'a', 1000000);
	cr_assert_eq(write(fd, a, 1000000), 1000000);
	lseek(fd, 0, SEEK_SET);
	cr_expect_eq(aj_sha256_fd(fd, hex), 0);
	cr_expect_str_eq(hex, million_a);
	aj_sha256(a, 1000000, hex);
	cr_expect_str_eq(hex, million_a);
	free(a);
	close(fd);
	cr_expect_eq(aj_sha256_fd(fd, hex), -1, "a closed fd has no hash");
}
