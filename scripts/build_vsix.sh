#!/usr/bin/env bash
# Packages the VS Code extension with the language server inside: dist/rolecall-VERSION-TARGET.vsix, for this platform,
# or for each TARGET that is named: linux-x64, linux-arm64, darwin-x64, darwin-arm64, win32-x64; `all` names all of them.
#
# Compiled libraries carry the version of Python in their file names, so one folder serves several versions.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

uv=${UV:-$(command -v .tools/bin/uv || command -v uv)} || { echo "uv is missing: run make once, or set UV" >&2; exit 1; }
python_versions="3.11 3.12 3.13 3.14"
export PATH="$PWD/.venv/bin:$PATH"
export UV_COMPILE_BYTECODE=0  # compiled files would fit one version of Python only
bundled=client-vscode/bundled
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

all="linux-x64 linux-arm64 darwin-x64 darwin-arm64 win32-x64"
# Prints the oldest system of a target that all wheels of the lock file are for.
platform_of() {
    case $1 in
        linux-x64) echo x86_64-manylinux_2_28 ;;
        linux-arm64) echo aarch64-manylinux_2_28 ;;
        darwin-x64) echo x86_64-apple-darwin ;;
        darwin-arm64) echo aarch64-apple-darwin ;;
        win32-x64) echo x86_64-pc-windows-msvc ;;
        *) echo "$1 is none of: $all" >&2; return 2 ;;
    esac
}
targets=${*:-$(node -p '`${process.platform}-${process.arch}`')}
[ "$targets" != all ] || targets=$all
# Here, because a failure within the arguments of `bundle` below does not end the script.
for target in $targets; do
    platform_of "$target" >/dev/null
done

# Puts the server and its libraries for the platform $1 into the folder of the extension.
bundle() {
    rm -rf "$bundled" "$work"/3.*
    mkdir -p "$bundled/libs"
    for python in $python_versions; do
        "$uv" pip install --quiet --python .venv/bin/python --python-version "$python" --python-platform "$1" \
            --only-binary :all: --require-hashes --requirement "$work/requirements.txt" --target "$work/$python"
        cp -Rn "$work/$python/." "$bundled/libs/"
    done
    "$uv" pip install --quiet --python .venv/bin/python --no-deps --target "$bundled/libs" .
    # Programs nobody starts, and the path of this checkout.
    rm -rf "$bundled"/libs/{bin,Scripts,.lock,rolecall-*.dist-info/direct_url.json}
    cp client-vscode/launch.py "$bundled/"
}

"$uv" export --quiet --frozen --no-dev --no-emit-project --output-file "$work/requirements.txt"
mkdir -p dist
cp LICENSE client-vscode/
scripts/check_client.sh
(cd client-vscode && npm run --silent build)
version=$(node -p 'JSON.parse(require("fs").readFileSync("client-vscode/package.json", "utf8")).version')
for target in $targets; do
    vsix=dist/rolecall-$version-$target.vsix
    bundle "$(platform_of "$target")"
    (cd client-vscode && npm run --silent package -- --target "$target" --out "../$vsix")
    echo "$vsix"
done
