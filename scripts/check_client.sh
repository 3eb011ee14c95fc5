#!/usr/bin/env bash
# Checks the types and the rules (eslint) of the VS Code client and runs its tests, installing its packages first where they are missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../client-vscode"
export PATH="$PWD/../.venv/bin:$PATH"

# npm writes that file last, so an installation that broke off is made again.
[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --silent
npm run --silent typecheck
npm run --silent lint
npm run --silent test
