#!/usr/bin/env bash
# Runs a command with every Python from 3.11 on that this machine has, each with an environment of its own (.venv-3.13);
# with PYTHONS=ends with the oldest and the newest, but for the one that .venv has: that is tried anyway.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

found=$(.venv/bin/python scripts/find_pythons.py)
if [ "${PYTHONS:-}" = ends ]; then
    usual=$(.venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    found=$(sed -n '1p;$p' <<<"$found" | uniq | grep -v "^$usual ") || {
        echo "Python $usual is the only one here, or the tests ran with the oldest and the newest already."
        exit 0
    }
fi

failed=()
# From descriptor 3, so that the command cannot read the list away from standard input.
while read -r version path <&3; do
    echo "Python $version ($path)"
    export UV_PROJECT_ENVIRONMENT=.venv-$version
    "$UV" sync --locked --quiet --python "$path"
    "$@" || failed+=("$version")
done 3<<<"$found"
[ ${#failed[@]} -eq 0 ] || { echo "It failed with Python ${failed[*]}."; exit 1; }
