# The C library and the command dlock, for the Makefile at the root, which sets PREFIX.

.PHONY: install uninstall
install: ## C library, headers, pkg-config file, CMake package, dlock into PREFIX=/usr/local (DESTDIR= is served too)
	@built=$$(scripts/build.sh libdlock-ffi libdlock-cli) && ffi-c/install.sh "$$built" "$(PREFIX)"

uninstall: ## remove what `make install` with the same PREFIX and DESTDIR put there
	@ffi-c/install.sh --uninstall "$(PREFIX)"
