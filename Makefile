# make demo   train on a small corpus and look at the senses of its labels
# make test   everything that guards the project: C++ tests, linters, types, Python tests, Annif

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
ANNIF  := build/annif-venv
NATIVE := $(shell find native -name '*.cpp' -o -name '*.hpp') CMakeLists.txt pyproject.toml

.PHONY: demo test native-test annif-test sanitize benchmark screenshots clean

demo: $(VENV)/installed
	$(BIN)/polyseme demo

test: $(VENV)/installed-dev native-test annif-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest

native-test: $(VENV)/installed-dev
	$(BIN)/cmake -S . -B build/native-tests -G Ninja -DPOLYSEME_NATIVE_TESTS=ON \
	    -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) >/dev/null
	$(BIN)/cmake --build build/native-tests
	build/native-tests/native_tests

# Annif wants older versions of NumPy and others, so it has an environment of its own.
annif-test: $(ANNIF)/installed
	$(ANNIF)/bin/python -m pytest tests/annif

# All native tests twice: under AddressSanitizer with UBSan, and under ThreadSanitizer.
sanitize: $(VENV)/installed-dev
	for kind in address,undefined thread; do \
	  $(BIN)/cmake -S . -B build/sanitize-$$kind -G Ninja -DPOLYSEME_NATIVE_TESTS=ON \
	      -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DCMAKE_BUILD_TYPE=RelWithDebInfo \
	      -DCMAKE_CXX_FLAGS="-fsanitize=$$kind -fno-sanitize-recover=all -DPOLYSEME_NO_CLONES" >/dev/null && \
	  $(BIN)/cmake --build build/sanitize-$$kind && \
	  build/sanitize-$$kind/native_tests || exit 1; \
	done

# make benchmark DATA=folder   side by side with the peers, which get an environment of their own
benchmark: $(VENV)/installed
	$(BIN)/python -m benchmarks --data $(DATA)

# The pictures of the README, taken of the demo's model in Chromium
screenshots: $(VENV)/installed-dev
	$(BIN)/python tools/screenshots.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(VENV)/bin/python $(NATIVE)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[server]'
	touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

$(ANNIF)/installed: $(VENV)/installed-dev
	$(PYTHON) -m venv $(ANNIF)
	$(ANNIF)/bin/pip install --quiet --disable-pip-version-check -e '.[annif]' 'pytest>=8'
	touch $@

clean:
	rm -rf build $(VENV)
