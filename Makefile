# make demo    train on a small corpus and look at the senses of its labels
# make check   linters, types, quick unit tests, the contract of methods: before every commit
# make test    everything that guards the project: C++ tests, linters, types, Python tests, Annif

PYTHON ?= python3
CLANG  ?= clang++
VENV   := .venv
BIN    := $(VENV)/bin
CORE   := build/core
ANNIF  := build/annif-venv
NATIVE := $(shell find native -name '*.cpp' -o -name '*.hpp') CMakeLists.txt pyproject.toml
SOURCE := $(shell find src -type f -not -name '*.pyc')

PIP    := -m pip --quiet --disable-pip-version-check
# Without isolation all installs share one build, and the C++ core is compiled once.
BUILD  := --no-build-isolation --config-settings=build-dir=$(CORE)
NINJA  := -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja)
# Of the extra "transformer", this very torch: others bring gigabytes for GPUs along.
NEURAL := torch==2.13.0 'transformers>=4.40' accelerate peft
PYTEST := $(BIN)/python -m pytest
BESIDE := -n auto --dist worksteal

.PHONY: demo check test lint native-test annif-test sanitize clang-test benchmark screenshots clean FORCE

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
	$(ANNIF)/bin/python $(PIP) install "polyseme[annif] @ file://$$(echo $(abspath build/wheel)/*.whl)" 'pytest>=8'
	touch $@

clean:
	rm -rf build $(VENV)
