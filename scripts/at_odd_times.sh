#!/usr/bin/env bash
# Runs a command twice, under circumstances that show what depends on the clock, the zone, the locale or the order of
# sets: a minute before a new year, where it begins first, with letters whose case is not that of English; and at 02:30
# in the night in which summer time ends, where the locale knows ASCII alone.
#
# The clock is shifted by libfaketime for every process that inherits the environment; it goes on from there. Times of
# files are not.
set -euo pipefail

if ! command -v faketime localedef >/dev/null || [ ! -d /usr/share/i18n/locales ]; then
    echo "faketime or the sources of locales are missing (Debian: apt-get install faketime locales)." >&2
    exit 1
fi
locales=$(mktemp -d)
trap 'rm -rf "$locales"' EXIT
localedef --inputfile=tr_TR --charmap=UTF-8 "$locales/tr_TR.UTF-8"

at() {
    local zone=$1 moment=$2 locale=$3
    shift 3
    local shift_s=$(($(TZ=$zone date --date "$moment" +%s) - $(date +%s)))
    echo "At $moment in $zone, LC_ALL=$locale"
    env TZ="$zone" LC_ALL="$locale" LOCPATH="$locales" PYTHONHASHSEED="$((RANDOM + 1))" \
        faketime -f "$(printf '%+d' "$shift_s")" "$@"
}

failed=0
at Pacific/Kiritimati "$(date +%Y)-12-31 23:59" tr_TR.UTF-8 "$@" || failed=1
at Europe/Berlin "2026-10-25 02:30" C "$@" || failed=1
exit $failed
