#!/bin/sh
# `make release` in a clone: what it refuses, that two runs give the same bytes, what the SBOM names; and build/compile_commands.json.
# The wheel is a small stand-in; tests/wheel has the real one.
. "$(dirname "$0")/../lib.sh"

top=$(cd "$tests/.." && pwd -P)
build=$(dirname "$AJ")
if [ ! -e "$top/.git" ] || ! command -v git >/dev/null; then
	skip "a release" "this is no git clone"
	finish
fi

# --- how each file is compiled ---
if [ -e "$build/compile_commands.json" ]; then
	check "compile_commands.json names each source" "$PY" - "$build/compile_commands.json" "$top" <<-'END'
		import glob, json, shlex, subprocess, sys
		rows = json.load(open(sys.argv[1]))
		there = {f[len(sys.argv[2]) + 1:] for f in glob.glob(sys.argv[2] + "/src/**/*.c", recursive=True)}
		assert {row["file"] for row in rows if row["file"].endswith(".c")} == there, there ^ {row["file"] for row in rows}
		row = next(row for row in rows if row["file"].endswith("/main.c"))
		words = [word for word in shlex.split(row["command"]) if word not in ("-MMD", "-MP", "-c")]
		subprocess.run([*words[:words.index("-o")], "-fsyntax-only", row["file"]], cwd=row["directory"], check=True)
	END
else
	skip "compile_commands.json" "this tree was not built here"
fi

# --- a release ---
export GIT_CONFIG_GLOBAL="$T/gitconfig" GIT_CONFIG_NOSYSTEM=1
printf '[user]\n\tname = A\n\temail = a@example.org\n[safe]\n\tdirectory = *\n' >"$GIT_CONFIG_GLOBAL"
git clone -q --no-tags --shared "$top" "$T/clone" || fail "a clone" "git clone"
cp "$top/src/packaging/release.sh" "$top/src/packaging/sbom.py" "$T/clone/src/packaging/"
cd "$T/clone" || exit 1
version=$(sed -n 's/^VERSION *:= //p' Makefile)
"$PY" - "$T/libagentjail-$version-py3-none-any.whl" <<-'END'
	import sys, zipfile
	with zipfile.ZipFile(sys.argv[1], "w") as wheel:
	    wheel.writestr("libagentjail-1.dist-info/METADATA", "Name: libagentjail\nLicense-Expression: MIT AND PSF-2.0\n")
	    wheel.writestr("libagentjail-1.dist-info/licenses/THIRD-PARTY.txt", "program  libcap-dev  1:2.66-4+b1  libcap-dev.txt\ntree     libc6       2.36-9       libc6.txt\n")
END
release() { sh src/packaging/release.sh "$@" >"$T/out" 2>"$T/err"; }
refused() { # NAME PATTERN
	if release check "$version"; then fail "$1" "it was accepted"; else check "$1" grep -q "$2" "$T/err"; fi
}
git add -A && git commit -qm 'packaging: as it is here' --allow-empty
sed -i "/^## $version - /d" CHANGELOG.md && git commit -qam 'changelog: without this version' --allow-empty
refused "a version without a section of the changelog" "no section of this version"
sed -i "s/^## Unreleased\$/## $version - 2026-01-02/" CHANGELOG.md
grep -q "^## $version - " CHANGELOG.md || sed -i "0,/^## /s//## $version - 2026-01-02\n\nFirst.\n\n## /" CHANGELOG.md
refused "a tree with changes" "differs from the commit: *M CHANGELOG.md"
git commit -qam 'changelog: this version'
check "this commit can be released" release check "$version"
pack() { release pack "$version" "$1" "$T/libagentjail-$version-py3-none-any.whl" || { cat "$T/err"; return 1; }; }
check "a release" pack "$T/one"
is "the commit is tagged" "$(git rev-parse HEAD)" "$(git rev-parse "v$version^{commit}" 2>&1)"
check "the tag names the version" sh -c "git cat-file tag v$version | grep -q '^agentjail $version\$'"
(umask 077 && TZ=Asia/Tokyo pack "$T/two") || fail "again" "$(cat "$T/err")"
check "two runs give the same bytes" diff -r "$T/one" "$T/two"
is "the files" "SHA256SUMS agentjail-$version.spdx.json agentjail-$version.tar.gz libagentjail-$version-py3-none-any.whl" "$(cd "$T/one" && echo *)"
check "SHA256SUMS" sh -c "cd '$T/one' && sha256sum -c --quiet SHA256SUMS"
git ls-files | sort >"$T/files"
tar -tzf "$T/one/agentjail-$version.tar.gz" | sed "s|^agentjail-$version/||; /\/\$/d; /^\$/d" | sort >"$T/packed"
check "the archive has the commit's files alone" cmp "$T/files" "$T/packed"
check "the SBOM" "$PY" - "$T/one" "$version" <<-'END'
	import glob, hashlib, json, sys
	folder, version = sys.argv[1:]
	sbom = json.load(open("%s/agentjail-%s.spdx.json" % (folder, version)))
	ids = {package["SPDXID"] for package in sbom["packages"]}
	assert sbom["spdxVersion"] == "SPDX-2.3" and len(ids) == len(sbom["packages"]) == 4, ids
	assert all({r["spdxElementId"], r["relatedSpdxElement"]} <= ids | {"SPDXRef-DOCUMENT"} for r in sbom["relationships"])
	for package in sbom["packages"][:2]:
	    data = open(folder + "/" + package["packageFileName"], "rb").read()
	    assert package["checksums"][0]["checksumValue"] == hashlib.sha256(data).hexdigest(), package
	assert sbom["packages"][2]["externalRefs"][0]["referenceLocator"] == "pkg:deb/debian/libcap-dev@1%3A2.66-4%2Bb1", sbom["packages"][2]
END
git commit -q --allow-empty -m 'docs: a later commit'
refused "a version whose tag is at another commit" "the tag v$version is at another commit"
cd / || exit 1
finish
