#!/usr/bin/env bash
# Runs a command of pytest. Tests that failed beside others are run again, one after the other, at most twice: one that fails
# each time fails the run. Every failure is printed, so that a test which needs a quiet machine is seen and mended.
set -uo pipefail
"$@" && exit 0
status=$?
for _ in 1 2; do
    # 1: tests failed. With any other status of pytest there is nothing to run again.
    [ "$status" -eq 1 ] || exit "$status"
    echo "Once more, one after the other: what failed beside other tests."
    # `none`: without a record of failures pytest would run all tests again.
    "$@" --last-failed --last-failed-no-failures none -n 0 --maxfail 5 && exit 0
    status=$?
done
exit "$status"
