#!/usr/bin/env bash
# Installs what some tests need of the system: as root on Debian or Ubuntu. Elsewhere it names what is missing.
#
# It never fails for a missing package: a test that needs one says so.
set -euo pipefail

packages=(
    bubblewrap        # confines the tests that Rolecall runs
    chromium          # drives VS Code in the smoke test
    fonts-dejavu-core # letters in its screenshots
    fonts-liberation
    build-essential   # code-server's native modules are compiled
    libkrb5-dev
    pkg-config
    neovim # the editors that the live tests drive
    emacs-nox
    tmux       # a terminal for Helix
)

if ! command -v dpkg-query >/dev/null; then
    command -v chromium >/dev/null || echo "not Debian or Ubuntu: install the equivalents of ${packages[*]} yourself"
    exit 0
fi

# A new machine knows no package before its first update.
emacs=$(apt-cache policy emacs-nox)
if [ "$(id -u)" -eq 0 ] && [[ $emacs != *Candidate:* ]]; then
    apt-get update >/dev/null 2>&1 || true
    emacs=$(apt-cache policy emacs-nox)
fi

# Eglot is part of Emacs from version 29 on.
if [[ $emacs == *"Candidate: 1:28"* ]]; then
    packages+=(elpa-eglot)
fi

missing=()
for package in "${packages[@]}"; do
    status=$(dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null) || status=absent
    [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
    printf 'missing: %s (run `make test` as root, or apt-get install it)\n' "${missing[@]}"
    exit 0
fi

echo "Installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install_packages() {
    apt-get update && DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 \
        install --yes --no-install-recommends "$@"
}
if ! install_packages "${missing[@]}" >"$log" 2>&1; then
    tail -n 20 "$log"
    printf 'missing: %s (apt-get could not install it)\n' "${missing[@]}"
fi
