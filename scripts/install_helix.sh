#!/usr/bin/env bash
# Prints the program that starts Helix, installing it first where it is missing: from Debian 13, the first that has it,
# with the C library it was built for, into a folder outside the checkout. apt checks what it downloads.
# With --check it installs nothing, and fails where Helix is missing.
set -euo pipefail

if command -v hx || command -v helix; then
    exit 0
fi
folder=${XDG_CACHE_HOME:-$HOME/.cache}/rolecall-dev/helix-debian13-$(uname -m)
if [ -x "$folder/hx" ]; then
    echo "$folder/hx"
    exit 0
fi
if [ "${1:-}" = --check ]; then
    echo "run scripts/install_helix.sh" >&2
    exit 1
fi
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
if ! command -v apt-get >/dev/null || [ ! -f "$keyring" ]; then
    echo "not Debian: install Helix yourself" >&2
    exit 1
fi

mkdir -p "$(dirname "$folder")"
building=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$building"' EXIT
mkdir -p "$building/apt/lists/partial" "$building/apt/cache/archives/partial" "$building/unpacked"
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' | sed -n 1p)
echo "deb [signed-by=$keyring] $mirror trixie main" >"$building/apt/sources.list"
# Root itself downloads: apt's own user may not enter a folder of mktemp's.
apt=(apt-get -qq -o APT::Sandbox::User=root -o Dir::Etc::sourcelist="$building/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o Dir::State::lists="$building/apt/lists" -o Dir::Cache="$building/apt/cache")
(
    cd "$building"
    "${apt[@]}" update
    "${apt[@]}" download hx/trixie libc6/trixie libgcc-s1/trixie
    for package in *.deb; do dpkg-deb --extract "$package" unpacked; done
    rm -rf apt ./*.deb
) >&2

libraries=usr/lib/$(uname -m)-linux-gnu
loader=$(cd "$building/unpacked" && find usr/lib* -name 'ld-linux-*.so.*' | sed -n 1p)
# It names the folder that it is moved to, not the one in which it is built.
cat >"$building/hx" <<LAUNCHER
#!/bin/sh
export HELIX_RUNTIME=$folder/unpacked/usr/lib/hx/runtime
exec $folder/unpacked/$loader --library-path $folder/unpacked/$libraries $folder/unpacked/usr/lib/hx/hx "\$@"
LAUNCHER
chmod +x "$building/hx"
# Another run may have been faster: mv would then put this folder into that one.
[ -d "$folder" ] || mv "$building" "$folder"
echo "$folder/hx"
