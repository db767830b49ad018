# The C library and the command dlock, for the Makefile at the root, which sets PREFIX.

.PHONY: install uninstall
install: ## C library, headers, pkg-config file, CMake package, dlock into PREFIX=/usr/local (DESTDIR= is served too)
	@cargo build --release --package libdlock-ffi
	@cargo build --release --package libdlock-cli
	@ffi-c/install.sh "$${CARGO_TARGET_DIR:-target}/release" "$(PREFIX)"

uninstall: ## remove what `make install` with the same PREFIX and DESTDIR put there
	@ffi-c/install.sh --uninstall "$(PREFIX)"
