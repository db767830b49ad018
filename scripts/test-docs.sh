#!/usr/bin/env bash
# Compiles and runs the programs of the README, the quickstart and examples/, as a reader would; builds the site and looks at it.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/c-library.sh
scripts/python-venv.sh
scripts/node-app.sh
scripts/java-jar.sh
python3 scripts/test_examples.py
python3 scripts/test_docs.py
exec python3 scripts/test_book.py
