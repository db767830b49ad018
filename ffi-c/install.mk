# The C library, for the Makefile at the root, which sets PREFIX.

.PHONY: install
install: ## C library, headers, pkg-config file, CMake package into PREFIX=/usr/local (DESTDIR= is served too)
	@cargo build --release --package libdlock-ffi
	@ffi-c/install.sh target/release $(PREFIX)
