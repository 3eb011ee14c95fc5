#!/usr/bin/env bash
# Runs a command of pytest. Tests that failed beside others are run once more, one after the other: one that fails again
# fails the run. Both times every failure is printed, so that a test which needs a quiet machine is seen and mended.
set -uo pipefail
"$@" && exit 0
status=$?
[ "$status" -eq 1 ] || exit "$status"
echo "Once more, one after the other: what failed beside other tests."
exec "$@" --last-failed --last-failed-no-failures none -n 0 --maxfail 3
