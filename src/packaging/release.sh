#!/bin/sh
# Makes a release of the commit that is checked out: a source archive, the wheel, an SBOM and SHA256SUMS; at the end the tag vVERSION.
# Two runs give the same bytes. It publishes nothing. CONTRIBUTING.md has the checklist.
#
# usage: release.sh check VERSION               is this commit ready to be released?
#        release.sh pack VERSION OUT WHEEL      write the files into OUT, and tag the commit
set -eu
what=$1 version=$2
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."

die() {
	echo "release: $1" >&2
	[ -z "${2:-}" ] || echo "  fix: $2" >&2
	exit 1
}

check() {
	git rev-parse -q --verify HEAD >/dev/null || die 'this is no git clone' 'release from a clone'
	changed=$(git status --porcelain | head -n 1)
	[ -z "$changed" ] || die "the tree differs from the commit: $changed" 'commit or remove it'
	grep -qE "^## $(echo "$version" | sed 's/[.]/[.]/g') - [0-9]{4}-[0-9]{2}-[0-9]{2}\$" CHANGELOG.md ||
		die "CHANGELOG.md has no section of this version" "rename the section Unreleased to \`## $version - YYYY-MM-DD\`"
	head -n 1 src/packaging/debian/changelog | grep -qF "agentjail ($version) " ||
		die "src/packaging/debian/changelog begins with another version than $version" 'add an entry'
	grep -qxF "__version__ = \"$version\"" src/sdk/python/agentjail/__init__.py ||
		die "src/sdk/python/agentjail/__init__.py has another version than $version" 'set __version__'
	tagged=$(git rev-parse -q --verify "refs/tags/v$version^{commit}" || true)
	[ -z "$tagged" ] || [ "$tagged" = "$(git rev-parse HEAD)" ] ||
		die "the tag v$version is at another commit: $tagged" 'set the next VERSION in the Makefile'
}

# The section of this version.
notes() {
	awk -v "head=## $version - " 'index($0, head) == 1 { on = 1; next } /^## / { on = 0 } on' CHANGELOG.md
}

pack() {
	out=$3 wheel=$4 name=agentjail-$version
	rm -rf -- "$out"
	mkdir -p -- "$out"
	git -c tar.umask=0022 archive --format=tar --prefix="$name/" HEAD | gzip -9n >"$out/$name.tar.gz"
	cp -- "$wheel" "$out/"
	python3 "$here/sbom.py" "$version" "$(git rev-parse HEAD)" "$(git log -1 --format=%ct)" "$out/$name.tar.gz" "$out/${wheel##*/}" >"$out/$name.spdx.json"
	(cd "$out" && sha256sum -- *.tar.gz *.whl *.spdx.json >SHA256SUMS)
	git rev-parse -q --verify "refs/tags/v$version" >/dev/null || { echo "agentjail $version"; notes; } | git tag -a --cleanup=verbatim -F - "v$version"
	cat "$out/SHA256SUMS"
}

check
case $what in
check) ;;
pack) pack "$@" ;;
*) die "unknown command: $what" ;;
esac
