# agentjail -- `make run` shows a snippet in a jail, `make check` runs all tests, `make help` lists the rest.
CC         ?= cc
CXX        ?= c++
PREFIX     ?= /usr/local
LIBDIR     ?= $(PREFIX)/lib
VERSION    := 0.1.0
comma      := ,
B          := build$(if $(SAN),-san)
AJ         := $B/agentjail
ROOTFS     := build/rootfs/default
# Linked statically where every library can be: the dynamic loader alone costs more than a namespace. STATIC= links dynamically.
NO_ARCHIVE := $(filter-out /%,$(foreach l,edit tinfo bsd nl-route-3 nl-3 cap jansson md stdc++ c,$(shell $(CC) -print-file-name=lib$l.a)))
STATIC     ?= $(if $(SAN)$(NO_ARCHIVE),,1)

WARN_BOTH  := -Wall -Wextra -Wshadow -Wvla -Wpointer-arith -Wundef -Werror
WARN       := $(WARN_BOTH) -Wstrict-prototypes -Wmissing-prototypes
SANITIZE   := -fsanitize=address$(comma)undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
HARDEN     := $(if $(SAN),$(SANITIZE),-D_FORTIFY_SOURCE=2 -fstack-protector-strong)
CPPFLAGS   += -D_GNU_SOURCE -Isrc -MMD -MP -DAJ_VERSION='"$(VERSION)"'
CFLAGS     ?= -O2 -g
CXXFLAGS   ?= $(CFLAGS)
# One set of objects for the program and the shared library: for hidden symbols position-independent code is the same in both.
AJ_CFLAGS  := -std=gnu11 -fPIC -fvisibility=hidden $(WARN) $(HARDEN) -isystem /usr/include/libnl3
# One file is C++ (policy/toml.cc). Nothing in it throws, and vptr checks would want type information.
AJ_CXXFLAGS := -std=c++17 -fPIC -fvisibility=hidden -fno-gnu-unique -fno-exceptions -fno-rtti $(WARN_BOTH) $(HARDEN) $(if $(SAN),-fno-sanitize=vptr)
# With -static-pie those two would take the rest of the line back to shared libraries.
LINK       := $(if $(STATIC),-static-pie,-pie -static-libstdc++ -static-libgcc) $(if $(SAN),$(SANITIZE)) \
	      -Wl,-z,relro,-z,now -Wl,--gc-sections
LIBRARY_LIBS := -lnl-route-3 -lnl-3 -lcap -ljansson -lmd -lpthread -lm
LDLIBS     := -ledit -ltinfo -lbsd $(LIBRARY_LIBS)

MAIN       := src/cli/main.c
NOT_LINKED := $(MAIN) src/seccomp/compile.c $(wildcard src/gen/*.c src/guest/*.c src/scope/*.c)
SRCS       := $(sort $(wildcard src/*/*.c))
LIB_OBJS   := $(patsubst %.c,$B/%.o,$(filter-out $(NOT_LINKED),$(SRCS))) $B/src/policy/toml.o $B/gen/filters.o $B/gen/builtins.o
# The library is what is below cli/, and exports agentjail_* alone: neither ours nor the C++ runtime's names meet a program's own.
LIBRARY_OBJS := $(filter-out $B/src/cli/% $B/src/policycmd/% $B/src/shell/% $B/src/serve/%,$(LIB_OBJS))
SO         := $B/libagentjail.so.0
A          := $B/libagentjail.a
GEN_OBJS   := $(patsubst %,$B/src/%.o,gen/filters seccomp/compile seccomp/syscalls seccomp/startup seccomp/zygote seccomp/groups base/error base/fd)
EMBED_OBJS := $(patsubst %,$B/src/%.o,gen/builtins policy/toml base/arena base/fd base/sha256 base/text)
CLANG      ?= $(firstword $(wildcard $(addsuffix /clang,$(subst :, ,$(PATH)))) $(lastword $(sort $(wildcard /usr/lib/llvm-*/bin/clang))))
FUZZ_SRCS  := tests/fuzz/policy.c $(wildcard src/policy/*.c) src/policy/toml.cc src/base/arena.c src/base/fd.c src/base/sha256.c src/base/text.c
FUZZ_TOOLS := tests/fuzz/tools.c $(wildcard src/tools/*.c src/jsonschema/*.c) src/base/arena.c src/base/error.c src/base/json.c src/base/buffer.c src/base/json_scan.c src/base/text.c src/base/json_tree.c
FUZZ_CHANNEL := tests/fuzz/channel.c src/base/procfs.c src/result/output_buffer.c src/jail/channel.c src/result/result.c src/jail/encode.c src/mediate/violations.c src/session/calls.c $(wildcard src/tools/*.c src/jsonschema/*.c) \
	      src/plan/pack.c src/sandbox/handshake.c src/base/message.c src/seccomp/notify.c src/base/arena.c src/base/error.c src/base/fd.c src/base/frame.c src/base/sha256.c src/base/json.c src/base/loop.c src/base/buffer.c src/base/quota.c src/base/json_scan.c src/base/text.c src/base/json_tree.c
FUZZ_SERVE := tests/fuzz/serve.c src/serve/accept.c src/serve/http.c src/serve/frame_read.c src/serve/listen.c src/serve/sd_notify.c src/serve/frame_write.c src/serve/fault.c src/serve/proto.c \
	      src/base/error.c src/base/fd.c src/base/json.c src/base/loop.c src/base/buffer.c src/base/quota.c src/base/json_scan.c src/base/text.c src/base/json_tree.c
FUZZ_GITCONFIG := tests/fuzz/gitconfig.c src/workspace/gitconfig.c src/workspace/gitruns.c
FUZZ_FLAGS := -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
POLICIES   := $(sort $(wildcard policies/*.toml)) agentjail.toml
UNITS      := $(patsubst tests/unit/%.c,$B/unit/%,$(sort $(wildcard tests/unit/test_*.c)))
GUEST_SRCS := $(wildcard src/guest/*.c) src/plan/pack.c src/base/frame.c src/base/fd.c src/base/error.c \
	      src/base/message.c src/sandbox/channels.c src/seccomp/install.c src/sandbox/handshake.c src/sandbox/init.c src/sandbox/landlock.c src/sandbox/mask.c src/sandbox/mount.c src/sandbox/overlay.c src/sandbox/jail_steps.c
LAYER      := $(sort $(wildcard src/bootstrap/*.py src/bootstrap/*/*.py))

# Asks systemd for a cgroup where a policy demands one. libsystemd has no static library, so this is a program of its own;
# without its headers it is not built, and whoever would need it is told.
SCOPE      := $(if $(wildcard /usr/include/systemd/sd-bus.h),$B/agentjail-scope)

Q := $(if $(V),,@)
SAY = $(if $Q,@printf '  %-7s %s\n' '$1' '$2')

.PHONY: all lib run check check-vm check-docs docs rootfs install install-lib uninstall faults bench bench-warm bench-walls fuzz format tidy clean fuzzers help deps-build deps-check deps-vm

all: $(AJ) lib $(SCOPE) rootfs

lib: $(SO) $(A)

run: deps-build
	@$(MAKE) --no-print-directory all
	$(AJ) exec --json docs/examples/first.py

# The same set-up, then everything that can be tested here; ends with a count. It builds with all processors, unless -j says otherwise.
check: deps-check
	@$(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc)) all $(if $(SAN),build/guest.so) $(UNITS) $B/probe $B/toml-check $B/jail $B/warm $B/sessions $B/branch $B/raw.so $B/inject $(USERS) fuzzers
	$Q sh tests/check-layers.sh
	@$(MAKE) --no-print-directory check-docs
	$Q AGENTJAIL=$(CURDIR)/$(AJ) AGENTJAIL_ROOTFS=$(CURDIR)/$(ROOTFS) sh tests/run.sh $(UNITS)

# What needs another kernel, real cgroups or systemd: in a machine of its own. VM_OPTIONS=--quick: minutes instead of half an hour.
check-vm: deps-vm
	@$(MAKE) --no-print-directory all $B/probe $B/jail $B/warm $B/sessions $B/branch $B/raw.so $B/inject
	$Q AGENTJAIL=$(CURDIR)/$(AJ) AGENTJAIL_ROOTFS=$(CURDIR)/$(ROOTFS) sh tests/vm/check.sh $(VM_OPTIONS)

# What the documentation takes from tables in the code.
DOCS := docs
GENERATED := reach.md syscalls.md architecture.md tools.md protocol.md serve.md agentjail.1 agentjail.toml.5 policy.schema.json agentjail.toml.schema.json
# A table between two comments of a page that is otherwise written by hand.
FILL = awk -v f=$B/$1.md '/<!-- $1 begin/ { print; while ((getline l < f) > 0) print l; skip = 1 } /<!-- $1 end/ { skip = 0 } !skip'
docs: $B/gen-docs
	$Q python3 tests/reach/page.py > $B/reach.md && cp $B/reach.md $(DOCS)/reach.md
	$Q $< syscalls > $(DOCS)/syscalls.md
	$Q $< steps > $B/steps.md
	$Q $(call FILL,steps) docs/architecture.md > $B/architecture.md && cp $B/architecture.md $(DOCS)/architecture.md
	$Q $< keywords > $B/keywords.md
	$Q $(call FILL,keywords) docs/tools.md > $B/tools.md && cp $B/tools.md $(DOCS)/tools.md
	$Q for c in requests faults metrics; do $< $$c > $B/$$c.md; done
	$Q $(call FILL,requests) docs/protocol.md > $B/protocol-requests.md && $(call FILL,faults) $B/protocol-requests.md > $B/protocol.md && \
	    cp $B/protocol.md $(DOCS)/protocol.md
	$Q $(call FILL,metrics) docs/serve.md > $B/serve.md && cp $B/serve.md $(DOCS)/serve.md
	$Q for c in exec run session serve; do $< man-$$c > $B/man-$$c; done; \
	    sed -e '/^@EXEC@$$/{r $B/man-exec' -e 'd}' -e '/^@RUN@$$/{r $B/man-run' -e 'd}' \
	    -e '/^@SESSION@$$/{r $B/man-session' -e 'd}' -e '/^@SERVE@$$/{r $B/man-serve' -e 'd}' -e 's/@VERSION@/$(VERSION)/' \
	    docs/agentjail.1.in > $(DOCS)/agentjail.1
	$Q for c in policy-keys site-keys codes; do $< man-$$c > $B/man-$$c; done; \
	    sed -e '/^@POLICY-KEYS@$$/{r $B/man-policy-keys' -e 'd}' -e '/^@SITE-KEYS@$$/{r $B/man-site-keys' -e 'd}' \
	    -e '/^@CODES@$$/{r $B/man-codes' -e 'd}' -e 's/@VERSION@/$(VERSION)/' docs/agentjail.toml.5.in > $(DOCS)/agentjail.toml.5
	$Q $< policy-schema > $(DOCS)/policy.schema.json
	$Q $< site-schema > $(DOCS)/agentjail.toml.schema.json

# Are the committed pages what the tables say?
check-docs: $B/gen-docs
	$Q mkdir -p $B/docs && $(MAKE) --no-print-directory -s docs DOCS=$B/docs
	$Q for f in $(GENERATED); do cmp docs/$$f $B/docs/$$f || { echo "docs/$$f: run make docs"; exit 1; }; done

# Fuzzers: FUZZ_SECONDS each (20), a few seconds in `make check`. Without clang's libFuzzer there are none, and the tests say so.
fuzz: fuzzers
	$Q sh tests/fuzz/run.sh build/fuzz

fuzzers:
	$Q if [ -n "$(CLANG)" ] && ls $$($(CLANG) -print-resource-dir)/lib/*/libclang_rt.fuzzer*.a >/dev/null 2>&1; then \
	    $(MAKE) --no-print-directory $(foreach f,policy tools serve,build/fuzz/$f build/fuzz/$f.dict) build/fuzz/channel build/fuzz/gitconfig; fi

# Every system call of the launcher failed with every errno that is plausible; writes docs/faults.md. Takes some minutes.
faults: all $B/probe $B/inject
	$Q rm -f $B/fault-table.txt
	$Q FAULTS=all FAULT_TABLE=$(CURDIR)/$B/fault-table.txt AGENTJAIL=$(CURDIR)/$(AJ) AGENTJAIL_ROOTFS=$(CURDIR)/$(ROOTFS) sh tests/fault/run.sh
	$Q python3 tests/fault/page.py $B/fault-table.txt > docs/faults.md

bench: all $B/bench-warm $B/probe $B/jail
	$Q sh tests/bench/bench.sh
	$Q sh tests/bench/warm.sh
	$Q sh tests/bench/walls.sh

bench-warm: all $B/bench-warm
	$Q sh tests/bench/warm.sh

# What each wall costs, alone.
bench-walls: all $B/probe $B/jail $B/warm
	$Q sh tests/bench/walls.sh

tidy:
	clang-tidy --quiet $(SRCS) -- $(CPPFLAGS) -std=gnu11 -isystem /usr/include/libnl3
	clang-tidy --quiet src/policy/toml.cc -- $(CPPFLAGS) -std=c++17 -fno-exceptions -fno-rtti

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man5 \
	    $(DESTDIR)$(PREFIX)/share/agentjail/policies $(DESTDIR)$(PREFIX)/lib/agentjail/rootfs
	install -m 0755 $(AJ) $(DESTDIR)$(PREFIX)/bin/agentjail
	install -m 0644 docs/agentjail.1 $(DESTDIR)$(PREFIX)/share/man/man1/agentjail.1
	install -m 0644 docs/agentjail.toml.5 $(DESTDIR)$(PREFIX)/share/man/man5/agentjail.toml.5
	install -m 0644 policies/*.toml $(DESTDIR)$(PREFIX)/share/agentjail/policies/
	install -m 0644 agentjail.toml docs/policy.schema.json docs/agentjail.toml.schema.json $(DESTDIR)$(PREFIX)/share/agentjail/
	$(if $(SCOPE),install -m 0755 $(SCOPE) $(DESTDIR)$(PREFIX)/lib/agentjail/agentjail-scope)
	$(AJ) doctor --apparmor | sed 's|^profile agentjail [^ ]*|profile agentjail $(PREFIX)/bin/agentjail|' \
	    > $(DESTDIR)$(PREFIX)/share/agentjail/apparmor-profile
	rm -rf $(DESTDIR)$(PREFIX)/lib/agentjail/rootfs/default
	cp -r --no-preserve=ownership $(ROOTFS) $(DESTDIR)$(PREFIX)/lib/agentjail/rootfs/default
	for who in system user; do install -d $(DESTDIR)$(PREFIX)/lib/systemd/$$who && \
	    for unit in service socket; do sed 's|@PREFIX@|$(PREFIX)|' docs/systemd/$$who/agentjail.$$unit \
	    > $(DESTDIR)$(PREFIX)/lib/systemd/$$who/agentjail.$$unit || exit 1; done; done
	@$(MAKE) --no-print-directory install-lib

install-lib: lib
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/include
	install -m 0644 src/lib/agentjail.h $(DESTDIR)$(PREFIX)/include/agentjail.h
	install -m 0644 $A $(DESTDIR)$(LIBDIR)/libagentjail.a
	install -m 0755 $(SO) $(DESTDIR)$(LIBDIR)/libagentjail.so.$(VERSION)
	ln -sf libagentjail.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libagentjail.so.0
	ln -sf libagentjail.so.0 $(DESTDIR)$(LIBDIR)/libagentjail.so
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|; s|@LIBDIR@|$(patsubst $(PREFIX)/%,$${prefix}/%,$(LIBDIR))|' \
	    src/lib/agentjail.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/agentjail.pc

# All that `install` put there, and nothing else.
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/agentjail $(DESTDIR)$(PREFIX)/share/man/man1/agentjail.1 \
	    $(DESTDIR)$(PREFIX)/share/man/man5/agentjail.toml.5 $(DESTDIR)$(PREFIX)/include/agentjail.h \
	    $(DESTDIR)$(LIBDIR)/pkgconfig/agentjail.pc $(addprefix $(DESTDIR)$(LIBDIR)/libagentjail.,a so so.0 so.$(VERSION))
	rm -f $(foreach who,system user,$(foreach unit,service socket,$(DESTDIR)$(PREFIX)/lib/systemd/$(who)/agentjail.$(unit)))
	rm -rf $(DESTDIR)$(PREFIX)/share/agentjail $(DESTDIR)$(PREFIX)/lib/agentjail

help:
	@echo "make run      build everything and run an example snippet in a jail"
	@echo "make check    build everything and run all tests (SAN=1: with sanitizers)"
	@echo "make check-vm the same scripts and those of cgroups in test machines: stock Debian kernels, root and user, systemd"
	@echo "make all      build the program and the Python tree; make rootfs: the tree alone"
	@echo "make lib      libagentjail, shared and static; make install-lib: it alone"
	@echo "make install  PREFIX=$(PREFIX) DESTDIR=$(DESTDIR); make uninstall"
	@echo "make fuzz     fuzz what reads policies, schemas of tools, requests, what a jail says and git's configurations, for FUZZ_SECONDS=20 each (clang)"
	@echo "make faults   every system call of the launcher, failed in turn; writes docs/faults.md"
	@echo "make bench    start-up, throughput and the warm path beside the peers that are installed; make bench-warm: the latter; make bench-walls: the cost of single walls"
	@echo "make format   clang-format; make tidy: clang-tidy; make clean"

# Static, so that it runs in a jail that holds nothing else.
$B/probe: tests/probe.c
	$(call SAY,LD,$@)
	$Q mkdir -p $(@D) && $(CC) -D_GNU_SOURCE -std=gnu11 -O2 $(WARN) -static -o $@ $<

# Fails system calls of a launcher; static like the probe, and for x86-64 only.
$B/inject: tests/fault/inject.c
	$(call SAY,LD,$@)
	$Q mkdir -p $(@D) && $(CC) -D_GNU_SOURCE -std=gnu11 -O2 $(WARN) -static -o $@ $< -lseccomp

# Programs of strangers: they know the library as `make install` leaves it, and pkg-config. Sanitizers do not link statically.
DEST := $B/dest
USERS := $B/library-test $B/library-shared $(if $(STATIC),$B/library-static)
AS_STRANGER = env PKG_CONFIG_PATH=$(DEST)/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$(CURDIR)/$(DEST) pkg-config --cflags --libs

$(DEST)/usr/lib/pkgconfig/agentjail.pc: $(SO) $A src/lib/agentjail.h src/lib/agentjail.pc.in
	$(call SAY,INSTALL,$(DEST))
	$Q rm -rf $(DEST) && $(MAKE) --no-print-directory -s install-lib DESTDIR=$(DEST) PREFIX=/usr

$B/library-test: tests/library.c $(DEST)/usr/lib/pkgconfig/agentjail.pc
	$(call SAY,LD,$@)
	$Q$(CC) -std=c99 -g $(WARN) $(if $(SAN),$(SANITIZE)) -o $@ $< $$($(AS_STRANGER) agentjail) -pthread
	$Q printf '#include <agentjail.h>\nint main() { return agentjail_version() == 0; }\n' | \
	    $(CXX) -std=c++98 -pedantic -Wall -Wextra -Werror -x c++ -fsyntax-only $$($(AS_STRANGER) agentjail) -

$B/library-shared: docs/examples/library.c $(DEST)/usr/lib/pkgconfig/agentjail.pc
	$(call SAY,LD,$@)
	$Q$(CC) $(WARN) $(if $(SAN),$(SANITIZE)) -o $@ $< $$($(AS_STRANGER) agentjail)

# The linker's warnings are of libnl, whose parser of addresses nobody calls.
$B/library-static: docs/examples/library.c $(DEST)/usr/lib/pkgconfig/agentjail.pc
	$(call SAY,LD,$@)
	$Q$(CC) $(WARN) -static -o $@ $< $$($(AS_STRANGER) --static agentjail) 2>$@.log || { cat $@.log; exit 1; }

$B/toml-check: $B/tests/policy/toml-check.o $B/src/policy/toml.o $B/src/base/text.o $B/src/base/arena.o
	$(call SAY,LD,$@)
	$Q$(CXX) $(CFLAGS) -pie $(if $(SAN),$(SANITIZE)) -o $@ $^

# Runs a jail under a policy that its arguments spell out, for what no option sets.
$B/jail: $B/tests/jail.o $(LIB_OBJS)
	$(call SAY,LD,$@)
	$Q$(CXX) $(CFLAGS) $(LINK) -o $@ $^ $(LDLIBS)

$B/warm: $B/tests/warm.o $B/src/cli/main.o $(filter-out %/cli/jail.o,$(LIB_OBJS))
	$(call SAY,LD,$@)
	$Q$(CXX) $(CFLAGS) $(LINK) -o $@ $^ $(LDLIBS)

# A Python module for hostile sessions: raw system calls.
$B/raw.so: tests/raw.c
	$(call SAY,LD,$@)
	$Q mkdir -p $(@D) && $(CC) -D_GNU_SOURCE -std=gnu11 -O2 $(WARN) -fPIC -shared -o $@ $<

# Sessions that are forked, kept and rolled back, by a script.
$B/branch: $B/tests/branch.o $(LIB_OBJS)
	$(call SAY,LD,$@)
	$Q$(CXX) $(CFLAGS) $(LINK) -o $@ $^ $(LDLIBS)

# Sessions at the command of a test.
$B/sessions: $B/tests/sessions.o $(LIB_OBJS)
	$(call SAY,LD,$@)
	$Q$(CXX) $(CFLAGS) $(LINK) -o $@ $^ $(LDLIBS)

# Measures the warm path, with the library's own code in its process.
$B/bench-warm: $(patsubst %,$B/tests/bench/%.o,warm floors jails memory service) $(LIB_OBJS)
	$(call SAY,LD,$@)
	$Q$(CXX) $(CFLAGS) $(LINK) -o $@ $^ $(LDLIBS)

$(AJ): $B/src/cli/main.o $(LIB_OBJS)
	$(call SAY,LD,$@)
	$Q$(CXX) $(CFLAGS) $(LINK) -o $@ $^ $(LDLIBS)

$(SO): $(LIBRARY_OBJS) src/lib/agentjail.map
	$(call SAY,LD,$@)
	$Q$(CXX) $(CFLAGS) -shared $(if $(SAN),$(SANITIZE),-Wl$(comma)-z$(comma)defs) -static-libstdc++ -static-libgcc -Wl,-soname,$(@F) \
	    -Wl,--version-script=src/lib/agentjail.map -Wl,-z,relro,-z,now -Wl,--gc-sections -o $@ $(LIBRARY_OBJS) $(LIBRARY_LIBS)

# One object, so that nothing in it but agentjail_* can be linked to, or hide a function of the program's.
$A: $(LIBRARY_OBJS)
	$(call SAY,AR,$@)
	$Q$(LD) -r -o $B/libagentjail.o $^ && objcopy --wildcard --keep-global-symbol='agentjail_*' $B/libagentjail.o
	$Q rm -f $@ && $(AR) rcs $@ $B/libagentjail.o && rm -f $B/libagentjail.o

build/fuzz/policy: $(patsubst %,build/fuzz/%.o,$(FUZZ_SRCS) gen/builtins.c)
	$(call SAY,LD,$@)
	$Q$(CLANG)++ $(FUZZ_FLAGS) -fsanitize=fuzzer -Wl,--wrap=aj_source_read -o $@ $^ -lmd

build/fuzz/tools: $(patsubst %,build/fuzz/%.o,$(FUZZ_TOOLS))
	$(call SAY,LD,$@)
	$Q$(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $^ -ljansson -lm

build/fuzz/channel: $(patsubst %,build/fuzz/%.o,$(FUZZ_CHANNEL))
	$(call SAY,LD,$@)
	$Q$(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer -Wl,--wrap=aj_procfs_check_walls,--wrap=aj_encode_request -o $@ $^ -ljansson -lmd -lm

build/fuzz/gitconfig: $(patsubst %,build/fuzz/%.o,$(FUZZ_GITCONFIG))
	$(call SAY,LD,$@)
	$Q$(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $^

build/fuzz/tools.dict: $B/gen-docs
	$(call SAY,GEN,$@)
	$Q mkdir -p $(@D) && $< keyword-dictionary > $@.tmp && mv $@.tmp $@

build/fuzz/serve: $(patsubst %,build/fuzz/%.o,$(FUZZ_SERVE))
	$(call SAY,LD,$@)
	$Q$(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $^ -ljansson

build/fuzz/serve.dict: $B/gen-docs
	$(call SAY,GEN,$@)
	$Q mkdir -p $(@D) && $< words > $@.tmp && mv $@.tmp $@

build/fuzz/policy.dict: $B/gen-docs
	$(call SAY,GEN,$@)
	$Q mkdir -p $(@D) && $< dictionary > $@.tmp && mv $@.tmp $@

build/fuzz/%.c.o: %.c
	$(call SAY,CC,$@)
	$Q mkdir -p $(@D) && $(CLANG) $(CPPFLAGS) -std=gnu11 -Wall -Wextra $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -c -o $@ $<

build/fuzz/gen/builtins.c.o: $B/gen/builtins.c
	$(call SAY,CC,$@)
	$Q mkdir -p $(@D) && $(CLANG) $(CPPFLAGS) -std=gnu11 -Wall -Wextra $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -c -o $@ $<

build/fuzz/%.cc.o: %.cc
	$(call SAY,CXX,$@)
	$Q mkdir -p $(@D) && $(CLANG)++ $(CPPFLAGS) -std=c++17 -fno-exceptions -fno-rtti -Wall -Wextra $(FUZZ_FLAGS) -fno-sanitize=vptr \
	    -fsanitize=fuzzer-no-link -c -o $@ $<

$B/agentjail-scope: $B/src/scope/agentjail-scope.o
	$(call SAY,LD,$@)
	$Q$(CC) $(CFLAGS) -pie $(if $(SAN),$(SANITIZE)) -Wl,-z,relro,-z,now -o $@ $^ -lsystemd

# The filters are compiled when the program is, by libseccomp, from the table in seccomp/syscalls.c.
$B/gen-filters: $(GEN_OBJS)
	$(call SAY,LD,$@)
	$Q$(CC) $(CFLAGS) -pie $(if $(SAN),$(SANITIZE)) -o $@ $^ -lseccomp

$B/gen-docs: $(patsubst %,$B/src/gen/%.o,docs man dictionary) $(LIB_OBJS)
	$(call SAY,LD,$@)
	$Q$(CXX) $(CFLAGS) -pie $(if $(SAN),$(SANITIZE)) -o $@ $^ $(LDLIBS)

$B/gen/filters.c: $B/gen-filters
	$(call SAY,GEN,$@)
	$Q mkdir -p $(@D) && $< > $@.tmp && mv $@.tmp $@

# The policies are compiled in: a run reads no file that was known when the program was built.
$B/gen-builtins: $(EMBED_OBJS)
	$(call SAY,LD,$@)
	$Q$(CXX) $(CFLAGS) -pie $(if $(SAN),$(SANITIZE)) -o $@ $^ -lmd

$B/gen/builtins.c: $B/gen-builtins $(POLICIES) policies
	$(call SAY,GEN,$@)
	$Q mkdir -p $(@D) && $< $(POLICIES) > $@.tmp && mv $@.tmp $@

$B/gen/%.o: $B/gen/%.c
	$(call SAY,CC,$@)
	$Q$(CC) $(CPPFLAGS) $(AJ_CFLAGS) $(CFLAGS) -c -o $@ $<

# Preloaded into the rootfs' Python: no sanitizer, no dependency but libc.
build/guest.so: $(GUEST_SRCS) $(wildcard $(addprefix src/,base/*.h guest/*.h sandbox/*.h seccomp/*.h plan/*.h policy/policy.h))
	$(call SAY,LD,$@)
	$Q mkdir -p $(@D) && $(CC) -D_GNU_SOURCE -Isrc -std=gnu11 -O2 $(WARN) -fPIC -fvisibility=hidden -shared -s \
	    -D_FORTIFY_SOURCE=2 -fstack-protector-strong -ffunction-sections -Wl,-z,relro,-z,now,--gc-sections -o $@ $(GUEST_SRCS)

# The launcher with sanitizers finds it beside itself, too: a variable would count as an option, which a policy may lock.
rootfs: $(ROOTFS)/manifest
	$(if $(SAN),$Q mkdir -p $B && ln -sfn ../build/rootfs $B/rootfs)

$(ROOTFS)/manifest: build/guest.so $(LAYER) $(wildcard rootfs/*)
	$(call SAY,ROOTFS,$(@D))
	$Q rootfs/build.sh --out $(@D) --guest build/guest.so --layer src/bootstrap

$B/unit/%: $B/tests/unit/%.o $(LIB_OBJS) $B/src/seccomp/compile.o
	$(call SAY,LD,$@)
	$Q mkdir -p $(@D) && $(CXX) $(CFLAGS) -pie $(if $(SAN),$(SANITIZE)) -o $@ $^ $(LDLIBS) -lseccomp -lcriterion

$B/%.o: %.c
	$(call SAY,CC,$<)
	$Q mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(AJ_CFLAGS) $(CFLAGS) -c -o $@ $<

$B/%.o: %.cc
	$(call SAY,CXX,$<)
	$Q mkdir -p $(@D) && $(CXX) $(CPPFLAGS) $(AJ_CXXFLAGS) $(CXXFLAGS) -c -o $@ $<

deps-build:
	$Q .ci/deps build
deps-check:
	$Q .ci/deps check
deps-vm:
	$Q .ci/deps vm

format:
	clang-format -i $(wildcard src/*/*.[ch] src/*/*.cc tests/*.[ch] tests/*/*.[ch])

clean:
	$(RM) -r build build-san

.SECONDARY:
-include $(shell find $B/src $B/gen $B/tests build/fuzz -type f -name '*.d' 2>/dev/null)
