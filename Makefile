# agentjail -- `make run` shows a snippet in a jail, `make check` runs all tests, `make help` lists the rest.
# This file builds and installs the product; src/gen/gen.mk generates sources and pages, tests/tests.mk has the tests.
CC         ?= cc
CXX        ?= c++
PREFIX     ?= /usr/local
LIBDIR     ?= $(PREFIX)/lib
VERSION    := 0.1.0
# VERSION.postTIME, with the commit's time in UTC: pip takes the build of a later commit for newer, and every clone, even a shallow one,
# builds the same version of a commit. Sources outside git have VERSION alone.
COMMITTED  := $(shell git ls-files --error-unmatch Makefile >/dev/null 2>&1 && TZ=UTC0 git log -1 --format=%cd --date=format-local:%Y%m%d%H%M%S)
BUILD_VERSION := $(VERSION)$(addprefix .post,$(COMMITTED))
comma      := ,
B          := build$(if $(SAN),-san)
AJ         := $B/agentjail
ROOTFS     := build/rootfs/default
# Linked statically where every library can be: the dynamic loader alone costs more than a namespace. STATIC= links dynamically.
NO_ARCHIVE := $(filter-out /%,$(foreach l,cares edit tinfo bsd nl-route-3 nl-3 cap jansson md z stdc++ c,$(shell $(CC) -print-file-name=lib$l.a)))
STATIC     ?= $(if $(SAN)$(NO_ARCHIVE),,1)

WARN_BOTH  := -Wall -Wextra -Wshadow -Wvla -Wpointer-arith -Wundef -Werror
LIBNL      := -isystem /usr/include/libnl3
WARN       := $(WARN_BOTH) -Wstrict-prototypes -Wmissing-prototypes
SANITIZE   := -fsanitize=address$(comma)undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
HARDEN     := $(if $(SAN),$(SANITIZE),-D_FORTIFY_SOURCE=2 -fstack-protector-strong)
CPPFLAGS   += -D_GNU_SOURCE -Isrc -MMD -MP -DAJ_VERSION='"$(VERSION)"' -DAJ_BUILD_VERSION='"$(BUILD_VERSION)"'
CFLAGS     ?= -O2 -g
CXXFLAGS   ?= $(CFLAGS)
# One set of objects for the program, the shared library and guest.so: for hidden symbols position-independent code is the same in all.
AJ_CFLAGS  := -std=gnu11 -fPIC -fvisibility=hidden -ffunction-sections $(WARN) $(HARDEN) $(LIBNL)
# One file is C++ (base/toml/toml.cc). Nothing in it throws, and vptr checks would want type information.
AJ_CXXFLAGS := -std=c++17 -fPIC -fvisibility=hidden -fno-gnu-unique -fno-exceptions -fno-rtti $(WARN_BOTH) $(HARDEN) $(if $(SAN),-fno-sanitize=vptr)
RELRO      := -Wl,-z,relro,-z,now,--gc-sections
# With -static-pie the libraries of C++ and the compiler would take the rest of the line back to shared ones.
LINK       := $(if $(STATIC),-static-pie,-pie -static-libstdc++ -static-libgcc) $(if $(SAN),$(SANITIZE)) $(RELRO)
LINK_TOOL  := -pie $(if $(SAN),$(SANITIZE))
LIBRARY_LIBS := -lcares -lnl-route-3 -lnl-3 -lcap -ljansson -lmd -lpthread -lm
LDLIBS     := -ledit -ltinfo -lbsd $(LIBRARY_LIBS)

# The groups of src/ and their folders: src/README.md.
SRCS       := $(sort $(wildcard src/*/*.c src/*/*/*.c))
in_folders  = $(foreach folder,$1,$(patsubst %,$2/%.o,$(basename $(wildcard src/$(folder)/*.c src/$(folder)/*.cc))))
NOT_LINKED := src/cli/main.c src/cli/agentjail-scope.c src/policy/seccomp/compile.c $(wildcard src/gen/*.c src/guest/*.c)
LIB_OBJS   := $(patsubst %.c,$B/%.o,$(filter-out $(NOT_LINKED),$(SRCS))) $B/src/base/toml/toml.o $B/gen/filters.o $B/gen/builtins.o $B/gen/export_script.o $B/gen/bytecode_script.o
# The library is what is below cli/, and exports agentjail_* alone: neither ours nor the C++ runtime's names meet a program's own.
LIBRARY_OBJS := $(filter-out $B/src/cli/% $B/src/service/%,$(LIB_OBJS))
SO         := $B/libagentjail.so.0
A          := $B/libagentjail.a
POLICIES   := $(sort $(wildcard policies/*.toml)) agentjail.toml
# Asks systemd for a cgroup where a policy demands one. libsystemd has no static library, so this is a program of its own;
# without its headers it is not built, and the error for a policy that needs the program says so.
SCOPE      := $(if $(wildcard /usr/include/systemd/sd-bus.h),$B/agentjail-scope)

Q := $(if $(V),,@)
# Before a command: what it makes, and for which file; with V=1 the command itself instead.
say = $(if $(V),,@printf '  %-7s %s\n' $1 $(or $2,$@) && )

.PHONY: all lib run rootfs install install-lib uninstall tidy format clean help deps-build deps-check deps-vm deps-package always

all: $(AJ) lib $(SCOPE) rootfs $B/compile_commands.json

lib: $(SO) $(A)

run: deps-build
	@$(MAKE) --no-print-directory all
	$(AJ) exec docs/examples/first.py
	@echo "This was $(AJ) exec docs/examples/first.py. To call it agentjail: export PATH=\"$(CURDIR)/$B:\$$PATH\", or make install"

# --- programs and libraries ---

$(AJ): $B/src/cli/main.o $(LIB_OBJS)
	$(call say,LD)$(CXX) $(CFLAGS) $(LINK) -o $@ $^ $(LDLIBS)

$(SO): $(LIBRARY_OBJS) src/lib/agentjail.map
	$(call say,LD)$(CXX) $(CFLAGS) -shared $(if $(SAN),$(SANITIZE),-Wl$(comma)-z$(comma)defs) -static-libstdc++ -static-libgcc -Wl,-soname,$(@F) \
	    -Wl,--version-script=src/lib/agentjail.map $(RELRO) -o $@ $(LIBRARY_OBJS) $(LIBRARY_LIBS)

# One object, so that nothing in it but agentjail_* can be linked to, or hide a function of the program's.
$A: $(LIBRARY_OBJS)
	$(call say,AR)$(LD) -r -o $B/libagentjail.o $^ && objcopy --wildcard --keep-global-symbol='agentjail_*' $B/libagentjail.o
	$Q rm -f $@ && $(AR) rcs $@ $B/libagentjail.o && rm -f $B/libagentjail.o

$B/agentjail-scope: $B/src/cli/agentjail-scope.o
	$(call say,LD)$(CC) $(CFLAGS) $(LINK_TOOL) $(RELRO) -o $@ $^ -lsystemd

# Preloaded into the rootfs' Python: no sanitizer, no dependency but libc. Of the folders that it shares with the launcher it takes what it calls.
ifeq ($(SAN),)
build/guest.a: $(call in_folders,base policy/plan policy/seccomp sandbox sandbox/mounts,build)
	$Q rm -f $@ && $(AR) qcs $@ $^

build/guest.so: $(call in_folders,guest,build) build/guest.a
	$(call say,LD)$(CC) $(CFLAGS) -shared -s -Wl,-z,defs $(RELRO) -o $@ $^
else
build/guest.so: always
	@$(MAKE) --no-print-directory SAN= $@
endif

# The launcher with sanitizers finds it beside itself, too: a variable would count as an option, which a policy may lock.
rootfs: $(ROOTFS)/manifest
	$(if $(SAN),$Q mkdir -p $B && ln -sfn ../build/rootfs $B/rootfs)

$(ROOTFS)/manifest: build/guest.so $(sort $(wildcard src/guest/layer/*.py src/guest/layer/*/*.py)) $(wildcard rootfs/*)
	$(call say,ROOTFS,$(@D))rootfs/build.sh --out $(@D) --guest build/guest.so --layer src/guest/layer

# --- objects ---

# They hold BUILD_VERSION; written when it changes.
$B/src/cli/main.o $B/src/service/admit.o: $B/version
$B/version: always
	$Q mkdir -p $(@D) && echo '$(BUILD_VERSION)' | cmp -s - $@ || echo '$(BUILD_VERSION)' > $@

$B/%.o: %.c
	$(call say,CC,$<)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(AJ_CFLAGS) $(CFLAGS) -c -o $@ $<

$B/%.o: %.cc
	$(call say,CXX,$<)mkdir -p $(@D) && $(CXX) $(CPPFLAGS) $(AJ_CXXFLAGS) $(CXXFLAGS) -c -o $@ $<

# How each file is compiled, for clangd and other tools, which look for it in build/. It names no commit, so it changes with flags and files alone.
json = $(subst $(BUILD_VERSION),$(VERSION),$(subst ",\",$(subst \,\\,$1)))
entry = {"directory": "$(CURDIR)", "file": "$1", "command": "$(call json,$2 -c -o $B/$(basename $1).o $1)"}
COMMANDS = $(foreach f,$(SRCS),$(call entry,$f,$(CC) $(CPPFLAGS) $(AJ_CFLAGS) $(CFLAGS))$(comma)) \
    $(call entry,src/base/toml/toml.cc,$(CXX) $(CPPFLAGS) $(AJ_CXXFLAGS) $(CXXFLAGS))
$B/compile_commands.json: always | $B/version
	$(file >$@.tmp,[$(COMMANDS)])
	$Q cmp -s $@.tmp $@ && rm $@.tmp || mv $@.tmp $@

# --- installation ---

TO    := $(DESTDIR)$(PREFIX)
# Pages and completions: the file in docs/, and its place below share/.
SHARED := reference/agentjail.1:man/man1/agentjail.1 reference/agentjail.toml.5:man/man5/agentjail.toml.5 \
    completions/agentjail.bash:bash-completion/completions/agentjail completions/_agentjail:zsh/site-functions/_agentjail \
    completions/agentjail.fish:fish/vendor_completions.d/agentjail.fish
UNITS_OF_SYSTEMD := $(foreach for,system user,$(foreach unit,service socket,$(for)/agentjail.$(unit)))

install: all
	install -d $(TO)/bin $(TO)/share/agentjail/policies $(TO)/lib/agentjail/rootfs
	install -m 0755 $(AJ) $(TO)/bin/agentjail
	for file in $(SHARED); do install -D -m 0644 docs/$${file%%:*} $(TO)/share/$${file#*:} || exit 1; done
	install -m 0644 policies/*.toml $(TO)/share/agentjail/policies/
	install -m 0644 agentjail.toml docs/reference/policy.schema.json docs/reference/agentjail.toml.schema.json $(TO)/share/agentjail/
	$(if $(SCOPE),install -m 0755 $(SCOPE) $(TO)/lib/agentjail/agentjail-scope)
	$(AJ) doctor --apparmor | sed 's|^profile agentjail [^ ]*|profile agentjail $(PREFIX)/bin/agentjail|' > $(TO)/share/agentjail/apparmor-profile
	rm -rf $(TO)/lib/agentjail/rootfs/default
	cp -r --no-preserve=ownership $(ROOTFS) $(TO)/lib/agentjail/rootfs/default
	for unit in $(UNITS_OF_SYSTEMD); do install -d $(TO)/lib/systemd/$${unit%/*} && \
	    sed 's|@PREFIX@|$(PREFIX)|' docs/systemd/$$unit > $(TO)/lib/systemd/$$unit || exit 1; done
	@$(MAKE) --no-print-directory install-lib

install-lib: lib
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(TO)/include
	install -m 0644 src/lib/agentjail.h $(TO)/include/agentjail.h
	install -m 0644 $A $(DESTDIR)$(LIBDIR)/libagentjail.a
	install -m 0755 $(SO) $(DESTDIR)$(LIBDIR)/libagentjail.so.$(VERSION)
	ln -sf libagentjail.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libagentjail.so.0
	ln -sf libagentjail.so.0 $(DESTDIR)$(LIBDIR)/libagentjail.so
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|; s|@LIBDIR@|$(patsubst $(PREFIX)/%,$${prefix}/%,$(LIBDIR))|' \
	    src/lib/agentjail.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/agentjail.pc

# All that `install` put there, and nothing else.
uninstall:
	rm -f $(TO)/bin/agentjail $(foreach file,$(SHARED),$(TO)/share/$(lastword $(subst :, ,$(file)))) $(TO)/include/agentjail.h \
	    $(DESTDIR)$(LIBDIR)/pkgconfig/agentjail.pc $(addprefix $(DESTDIR)$(LIBDIR)/libagentjail.,a so so.0 so.$(VERSION)) \
	    $(addprefix $(TO)/lib/systemd/,$(UNITS_OF_SYSTEMD))
	rm -rf $(TO)/share/agentjail $(TO)/lib/agentjail

# --- the rest ---

tidy:
	clang-tidy --quiet $(SRCS) -- $(CPPFLAGS) -std=gnu11 $(LIBNL)
	clang-tidy --quiet src/base/toml/toml.cc -- $(CPPFLAGS) -std=c++17 -fno-exceptions -fno-rtti

format:
	clang-format -i $(wildcard src/*/*.[ch] src/*/*/*.[ch] src/*/*/*.cc tests/*.[ch] tests/*/*.[ch] tests/*/*/*.[ch])

clean:
	$(RM) -r build build-san

deps-build deps-check deps-vm deps-package: deps-%:
	$Q .ci/deps $*

help:
	@echo "make run      build everything and run an example snippet in a jail"
	@echo "make all      build the program, its library and the Python tree; make rootfs: the tree alone"
	@echo "make lib      libagentjail, shared and static; make install-lib: it alone"
	@echo "make install  PREFIX=$(PREFIX) DESTDIR=$(DESTDIR); make uninstall"
	@echo "make format   clang-format; make tidy: clang-tidy; make clean"
	@sed -n 's/^# make /make /p' src/gen/gen.mk src/packaging/packaging.mk tests/tests.mk

include src/gen/gen.mk src/packaging/packaging.mk tests/tests.mk

.SECONDARY:
-include $(shell find $(sort $B/src build/src) $B/gen $B/tests build/fuzz -type f -name '*.d' 2>/dev/null)
