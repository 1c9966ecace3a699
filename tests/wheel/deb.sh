#!/bin/sh
# The Debian packages: what lintian says of them, and a Debian 12 of its own on which dpkg installs, uses and removes them.
# Nothing is installed on this host, whose AppArmor and systemd see nothing of it.
#
# Usage: tests/wheel/deb.sh     as root; `make check-deb`
export AGENTJAIL_CACHE="${AGENTJAIL_CACHE:-${HOME:?}/.cache/agentjail}" # before a test's own home
. "$(dirname "$0")/../lib.sh"

top=$(cd "$tests/.." && pwd -P)
debs=$top/build/deb
unset AGENTJAIL AGENTJAIL_ROOTFS PYTHONPATH
USER_ID=58903
. "$tests/wheel/systems.sh"

[ "$(id -u)" = 0 ] || { skip "Debian's packages" "only root can change the root of all files"; finish; }

# The project has no address of its own: whoever publishes the packages names one.
mkdir "$T/lintian"
check "lintian" env TMPDIR="$T/lintian" lintian --fail-on error,warning --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog "$debs"/*.changes
is "lintian says nothing" "" "$(grep -v 'root privileges' "$T/check" | head -n 5)"

# --- dpkg installs them, where AppArmor is one that restricts user namespaces ---
release bookworm dpkg tar libc-bin dash coreutils sed grep findutils diffutils init-system-helpers python3 libsystemd0 >"$T/log" 2>&1 ||
	{ fail "a Debian 12" "$(tail -c 500 "$T/log")"; finish; }
root=$T/bookworm
mkdir -p "$root"/var/lib/dpkg/info "$root"/var/lib/dpkg/updates "$root"/etc/apparmor.d/abi "$root"/debs
: >"$root/var/lib/dpkg/status"
: >"$root/etc/apparmor.d/abi/4.0"
cp "$debs"/*.deb "$root/debs/"
chmod -R a+rX "$root"
# The system's own packages were only unpacked, so that dpkg knows none of them.
enter bookworm 0 /bin/sh -c 'dpkg --force-depends -i /debs/*.deb' >"$T/log" 2>&1
is "dpkg installs all four: $(grep -v "^Note" "$T/log" | tail -n 4 | tr "\n" " ")" 4 "$(grep -c '^Status: install ok installed' "$root/var/lib/dpkg/status")"
version=$("$AJ" --version)
for package in "$debs"/*.deb; do is "the version of $(basename "$package" .deb)" "${version#* }" "$(dpkg-deb -f "$package" Version)"; done
is "the version of the installed program" "$version" "$(enter bookworm 0 /usr/bin/agentjail --version)"
is "the version of the installed client" "${version#* }" "$(enter bookworm 0 /usr/bin/python3 -c 'import agentjail; print(agentjail.__version__)')"
for user in 0 $USER_ID; do
	is "user $user: a snippet" 4 "$(enter bookworm $user /usr/bin/agentjail exec -c 2+2)"
	is "user $user: the client" 4 "$(enter bookworm $user /usr/bin/python3 -c 'import agentjail; print(agentjail.run("2+2").value)')"
done
check "the tree is as in its manifest" enter bookworm 0 /usr/bin/agentjail rootfs verify
check "AppArmor: version 4 compiles the profile" sh "$tests/vm/apparmor.sh" --run -QT "$root/etc/apparmor.d/agentjail"
check "AppArmor: a profile of the installed program" grep -q '^profile agentjail /usr/bin/agentjail ' "$root/etc/apparmor.d/agentjail"
for file in lib/systemd/system/agentjail.socket usr/lib/systemd/user/agentjail.socket usr/share/man/man1/agentjail.1.gz usr/share/man/man5/agentjail.toml.5.gz \
	usr/share/bash-completion/completions/agentjail usr/share/zsh/vendor-completions/_agentjail usr/share/fish/vendor_completions.d/agentjail.fish \
	usr/include/agentjail.h usr/share/doc/agentjail/third-party/THIRD-PARTY.txt; do
	check "there is /$file" test -s "$root/$file"
done
check "the units name the installed program" grep -q '^ExecStart=/usr/bin/agentjail serve$' "$root/lib/systemd/system/agentjail.service"
is "no unit is enabled" "" "$(find "$root/etc/systemd" -name 'agentjail*' 2>/dev/null)"
is "no file holds a path of the build" "" "$(grep -rlF -e "$top" "$root/usr/bin/agentjail" "$root/usr/lib/agentjail" "$root/usr/lib/python3/dist-packages/agentjail" "$root/usr/share/agentjail" "$root"/usr/lib/*/libagentjail*)"

# --- and takes them away again ---
enter bookworm 0 /usr/bin/dpkg --force-depends -P python3-agentjail libagentjail-dev libagentjail0 agentjail >"$T/log" 2>&1
is "dpkg removes all four" 0 "$(grep -c '^Status: install ok installed' "$root/var/lib/dpkg/status")"
is "no file is left" "" "$(find "$root/usr" "$root/etc" "$root/var/lib/systemd" -name '*agentjail*' 2>/dev/null)"

# --- AppArmor 3, which does not know the profile's rules, gets no profile ---
mkdir -p "$T/older/etc/apparmor.d" "$T/older/usr/share/agentjail"
: >"$T/older/usr/share/agentjail/apparmor-profile"
check "postinst" env DPKG_ROOT="$T/older" sh "$top/src/packaging/debian/agentjail.postinst" configure
is "AppArmor 3: no profile" "" "$(ls "$T/older/etc/apparmor.d")"

finish
