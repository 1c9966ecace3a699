# The source "packages": asks apt what the distribution's default Python needs, downloads it as the user who builds, unpacks it.
# It refuses to install anything on the host, and to use a file whose hash apt's signed lists do not confirm.
# shellcheck shell=sh disable=SC2034,SC2154

debs=$cache/debs
lists=''

# An empty status file makes apt plan as if nothing were installed; Dir::Cache keeps its index out of root's folders.
apt_plan() {
	apt-get -qq -y --print-uris --no-install-recommends \
		-o Dir::State::status=/dev/null -o Dir::Cache="$tmp/apt" -o Debug::NoLocking=1 \
		-o Acquire::ForceHash=SHA256 ${lists:+-o Dir::State::lists="$lists"} install "$@"
}

apt_show() {
	apt-cache -o Dir::Cache="$tmp/apt" ${lists:+-o Dir::State::lists="$lists"} "$@"
}

# Our own copy of the package lists, for a machine that has none or old ones: an ordinary user may not refresh the system's.
own_lists() {
	lists=$cache/lists
	mkdir -p -- "$lists/partial" || return 1
	say "fetching package lists into $lists"
	apt-get -qq update -o Dir::State::lists="$lists" -o Dir::Cache="$tmp/apt" -o Debug::NoLocking=1 \
		-o APT::Sandbox::User="$(id -un)" >"$tmp/update.log" 2>&1
}

packages_fetch() {
	for tool in apt-get apt-cache dpkg-deb dpkg; do
		command -v "$tool" >/dev/null 2>&1 || { reason="no $tool here"; return 1; }
	done
	case "$tmp$top" in *[[:space:]]*) reason="a space in the path $tmp"; return 1 ;; esac
	mkdir -p -- "$debs" "$tmp/apt/archives/partial" || { reason="cannot write to $debs"; return 1; }
	if packages_download; then
		:
	elif [ -n "$unknown" ]; then
		die "$reason"
	else
		first=$reason
		# Lists older than the archive name files that are gone; a second try with lists of our own mends that.
		if ! own_lists || ! packages_download; then
			reason=$first
			return 1
		fi
	fi
	packages_unpack
}

# Sets reason, and unknown when the fault is the caller's (no such package) rather than the network's.
packages_download() {
	unknown=''
	if [ -n "$locked" ]; then
		version=$(lock head "$locked" python)
		lock debs "$locked" >"$tmp/chosen" || exit 1
	else
		packages_plan || return 1
	fi
	packages_get
}

packages_plan() {
	minimal=$(apt_show depends python3-minimal 2>/dev/null | sed -n 's/.*Depends: \(python3\.[0-9]*-minimal\).*/\1/p' | sed 1q)
	version=${minimal#python}
	version=${version%-minimal}
	[ -n "$version" ] || { reason="apt knows no python3-minimal"; return 1; }
	wanted="$minimal libpython$version-stdlib tzdata libstdc++6 libgcc-s1 libgomp1 libffi8 libssl3"
	for name_ in $(printf '%s' "$with" | tr ',' ' '); do
		extra=$(other_name "$name_" 2)
		extra=${extra:-python3-$(printf '%s' "$name_" | tr 'A-Z_' 'a-z-')}
		if ! apt_show show "$extra" >/dev/null 2>&1; then
			reason="this distribution has no package $extra (for --with $name_)" unknown=1
			return 1
		fi
		wanted="$wanted $extra"
	done
	# shellcheck disable=SC2086
	if ! apt_plan $wanted >"$tmp/plan" 2>"$tmp/plan.log"; then
		reason="apt cannot plan: $(sed 1q "$tmp/plan.log")"
		return 1
	fi
	packages_choose <"$tmp/plan" >"$tmp/chosen"
	[ -s "$tmp/chosen" ] || { reason="apt's plan is empty"; return 1; }
}

packages_get() {
	missing=''
	while read -r file size sum; do
		have_deb "$file" "$size" "$sum" || missing="$missing $(deb_spec "$file")"
	done <"$tmp/chosen"
	[ -n "$missing" ] || return 0
	say "downloading$missing"
	mkdir -p -- "$tmp/get"
	# A folder of our own, then a rename: a cut download never looks like a package.
	# shellcheck disable=SC2086
	if ! (cd "$tmp/get" && apt-get -qq download -o Dir::Cache="$tmp/apt" -o Debug::NoLocking=1 \
		-o APT::Sandbox::User="$(id -un)" ${lists:+-o Dir::State::lists="$lists"} $missing) >"$tmp/get.log" 2>&1; then
		reason="download failed: $(sed -n '/^E:/{p;q;}' "$tmp/get.log")"
		return 1
	fi
	mv -- "$tmp"/get/*.deb "$debs/" || { reason="cannot write to $debs"; return 1; }
	while read -r file size sum; do
		have_deb "$file" "$size" "$sum" || { reason="$file is not what apt's lists describe"; return 1; }
	done <"$tmp/chosen"
}

# From apt's plan: name, size, hash of the packages that can hold modules or libraries, minus the deb: rows of exclude.list.
packages_choose() {
	awk -v rows="$rootfs/exclude.list" -v minimal="$minimal" '
		function glob(p) { gsub(/[.+]/, "\\\\&", p); gsub(/\*/, ".*", p); return "^" p "$" }
		BEGIN { while ((getline line < rows) > 0) if (line ~ /^deb:/) { split(substr(line, 5), f, /[ \t]+/); drop[glob(f[1])] } }
		{
			name = $2; sub(/_.*/, "", name)
			if (name !~ /^(lib|python3-|python-.*-data$)/ && name != minimal && name != "zlib1g" && name != "tzdata") next
			for (p in drop) if (name ~ p) next
			sum = $4; sub(/^SHA256:/, "", sum)
			print $2, $3, sum
		}'
}

have_deb() {
	[ -f "$debs/$1" ] || return 1
	[ "$(wc -c <"$debs/$1")" -eq "$2" ] || return 1
	# The lists name a SHA256 for every package of Debian and Ubuntu; without one the file cannot be trusted.
	case $3 in
	????????????????????????????????????????????????????????????????) ;;
	*) return 1 ;;
	esac
	[ "$(sha256sum <"$debs/$1")" = "$3  -" ]
}

# libc6_2.36-9_amd64.deb -> libc6=2.36-9 ; apt writes the colon of an epoch as %3a in file names.
deb_spec() { printf '%s\n' "$1" | sed 's/^\([^_]*\)_\([^_]*\)_.*/\1=\2/; s/%3a/:/'; }

packages_unpack() {
	raw=$tmp/raw
	mkdir -m 0755 -- "$raw"
	while read -r file _; do
		dpkg-deb -x "$debs/$file" "$raw" || die "cannot unpack $file (disk full? $(df -Pk "$tmp" | awk 'END { print $4 " KiB free" }'))"
	done <"$tmp/chosen"
	exe=$raw/usr/bin/python$version
	[ -x "$exe" ] || { reason="the packages hold no python$version"; return 1; }
	libc=$(find "$raw/lib" "$raw/usr/lib" -name 'libc.so.*' -type f 2>/dev/null | sed 1q)
	loader=$(find "$(dirname -- "$libc")" -maxdepth 1 -name 'ld*.so.*' -type f | sed 1q)
	[ -n "$loader" ] || { reason="the packages hold no loader"; return 1; }
	multiarch=$(basename -- "$(dirname -- "$libc")")
	dirs=$raw/lib/$multiarch:$raw/usr/lib/$multiarch
	python="$loader --inhibit-cache --library-path $dirs $exe"
	# shellcheck disable=SC2086
	clean_python $python -S -s -c '' 2>/dev/null || { reason="the unpacked python$version does not run on this machine"; return 1; }
	places="--version $version --exe $exe --stdlib $raw/usr/lib/python$version --dynload $raw/usr/lib/python$version/lib-dynload"
	places="$places --dist $raw/usr/lib/python3/dist-packages --zoneinfo $raw/usr/share/zoneinfo --root $raw"
}
