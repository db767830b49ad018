#!/usr/bin/env bash
# Builds the documentation site into build/site: `make docs`. A warning, such as one about a broken link, is an error.
#   book/build.sh serve    serves it on http://127.0.0.1:8000, as it was built
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$PWD/build/book-venv
if ! cmp -s book/requirements.txt "$venv/requirements.txt"; then
    rm -rf "$venv"
    "${PYTHON:-python3}" -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r book/requirements.txt
    cp book/requirements.txt "$venv/"
fi
python3 book/stage.py
# Without the theme's notice about another major version of MkDocs: this one is pinned. With --quiet no warning counts.
if ! log=$(NO_MKDOCS_2_WARNING=1 "$venv/bin/mkdocs" build --strict --config-file build/book/mkdocs.yml 2>&1); then
    echo "$log" >&2
    exit 1
fi
[ "${1:-}" != serve ] || exec python3 -m http.server --bind 127.0.0.1 --directory build/site 8000
