# Rules that make packages of the product; the Makefile includes them. A comment that begins with `make ` is a line of `make help`.
# A package holds what `make all` built and nothing that was made for it alone, but for the program, which is linked once more without symbols.
.PHONY: wheel wheel-file deb release

WHEEL  := build/wheel
STAGE  := $(WHEEL)/stage
# In a folder that Python is told of, so that no virtual environment is needed.
HATCH  := build/cache/hatchling

# make wheel    a Python wheel that holds the program, its Python tree and the client, in build/wheel/
wheel: deps-build
	@$(MAKE) --no-print-directory wheel-file

wheel-file: all $(WHEEL)/bin/agentjail $(HATCH)/fetched
	$(call say,WHEEL,$(WHEEL))rm -rf $(STAGE) $(WHEEL)/*.whl && mkdir -p $(STAGE)/bin $(STAGE)/rootfs
	$Q cp -R src/packaging/wheel/hatch.toml src/packaging/wheel/hatch_build.py README.md LICENSE src/sdk/python/agentjail $(STAGE)
	$Q sed -e '/^license = /r src/packaging/wheel/project.toml' -e '/^license = /d' src/sdk/python/pyproject.toml > $(STAGE)/pyproject.toml
	$Q cp $(WHEEL)/bin/agentjail $(STAGE)/bin && cp -R --preserve=mode $(ROOTFS) $(STAGE)/rootfs/default
	$Q for file in $(SHARED); do install -D -m 0644 docs/$${file%%:*} $(STAGE)/share/$${file#*:} || exit 1; done
	$Q src/packaging/licences.sh $(WHEEL)/bin/agentjail.inputs $(ROOTFS) build/cache/rootfs/debs $(STAGE)/licenses
	$Q sed -i 's/^__version__ = .*/__version__ = "$(BUILD_VERSION)"/' $(STAGE)/agentjail/__init__.py
	$Q chmod -R u=rwX,go=rX $(STAGE)
	$Q cd $(STAGE) && PYTHONPATH=$(CURDIR)/$(HATCH) python3 -m hatchling build -t wheel -d $(abspath $(WHEEL))
	$Q rm -rf $(STAGE)

# Without symbols: they are most of the file, and hold paths of the machine that builds.
$(WHEEL)/bin/agentjail: $B/src/cli/main.o $(LIB_OBJS)
	$(call say,LD)mkdir -p $(@D) && $(CXX) $(CFLAGS) $(LINK) -s -Wl,--trace -o $@ $^ $(LDLIBS) > $@.inputs

$(HATCH)/fetched: src/packaging/wheel/requirements.txt
	$(call say,FETCH,$<)rm -rf $(@D) && pip3 install -q --disable-pip-version-check --root-user-action ignore --no-warn-script-location \
	    --no-deps --only-binary :all: --require-hashes -r $< -t $(@D) && touch $@

# --- Debian ---

DEB := build/deb

# make deb      Debian packages of the program, the library and the client, in build/deb/
deb: deps-build deps-package
	@$(MAKE) --no-print-directory all $(WHEEL)/bin/agentjail
	$(call say,DEB,$(DEB))rm -rf $(DEB) && mkdir -p $(DEB)/agentjail && cp -R src/packaging/debian $(DEB)/agentjail/
	$Q sed -i '1s/(.*)/($(BUILD_VERSION))/' $(DEB)/agentjail/debian/changelog
	$Q src/packaging/licences.sh $(WHEEL)/bin/agentjail.inputs $(ROOTFS) build/cache/rootfs/debs $(DEB)/agentjail/third-party
	$Q cd $(DEB)/agentjail && env -u MAKEFLAGS -u MAKELEVEL TOP=$(CURDIR) dpkg-buildpackage --build=binary --no-sign >../log 2>&1 || { tail -n 40 ../log >&2; exit 1; }
	$Q ls $(DEB)/*.deb

# --- releases ---

RELEASE := build/release

# make release  the files of a release of this commit in build/release/, and its tag; CONTRIBUTING.md has the checklist
release: deps-build
	$Q src/packaging/release.sh check $(VERSION)
	@$(MAKE) --no-print-directory BUILD_VERSION=$(VERSION) wheel-file
	$Q src/packaging/release.sh pack $(VERSION) $(RELEASE) $(WHEEL)/libagentjail-$(VERSION)-*.whl
