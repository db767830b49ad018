# make help      lists what there is. Everything here can be run by hand too: the recipes are scripts.

SHELL := /bin/bash
PREFIX ?= /usr/local
N ?= 2000
MINUTES ?= 60
.DEFAULT_GOAL := help
.PHONY: help deps demo test check-long soak bench docs lint fmt dist dist-all

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## ?/  make \1\t/' | expand -t 20

deps: ## check the prerequisites, install what else the tests need (as root, with apt-get)
	@scripts/deps.sh test

demo: ## a process in each language, all on one lock; N=2000 times each, REDIS_URL=... for a server that is there
	@scripts/deps.sh demo
	@N=$(N) REDIS_URL=$(REDIS_URL) demo/run.sh

test: ## every test of every language, then one line of totals
	@scripts/deps.sh test
	@scripts/test.sh

check-long: ## what is slow: exits, soak, the tests between languages REPEATS=20 times in a row
	@scripts/deps.sh test
	@REPEATS=$(REPEATS) scripts/check-long.sh

soak: ## processes under random faults for MINUTES=60, with every hold watched; SEED=... repeats a run's faults
	@scripts/deps.sh test
	@SEED=$(SEED) scripts/soak.sh $(MINUTES)

bench: ## tables and goals: every language beside the floor and its peers, 25 minutes; ROWS="pairs held" some of it
	@scripts/deps.sh bench
	@bench/run.sh $(ROWS)

docs: ## the documentation as a site, in build/site; book/build.sh serve shows it
	@book/build.sh

lint: ## formatters in check mode, linters with warnings as errors
	@scripts/deps.sh test
	@scripts/lint.sh

fmt: ## format everything
	@scripts/fmt.sh

dist: ## the crates, the wheel, the npm packages, the jar, the C library as an archive, in build/dist
	@scripts/deps.sh test
	@scripts/dist.sh

dist-all: ## the packages of all platforms, in build/dist-all: an hour the first time
	@scripts/deps.sh dist
	@python3 scripts/dist/all.py

# `make install PREFIX=...`: C library, headers, pkg-config file and CMake package.
-include ffi-c/install.mk
