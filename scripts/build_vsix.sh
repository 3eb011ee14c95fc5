#!/usr/bin/env bash
# Packages the VS Code extension with the language server inside, for this platform: dist/rolecall-VERSION-TARGET.vsix.
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

"$uv" export --quiet --frozen --no-dev --no-emit-project --output-file "$work/requirements.txt"
rm -rf "$bundled"
mkdir -p "$bundled/libs" dist
for version in $python_versions; do
    "$uv" pip install --quiet --python .venv/bin/python --python-version "$version" --only-binary :all: \
        --require-hashes --requirement "$work/requirements.txt" --target "$work/$version"
    cp -Rn "$work/$version/." "$bundled/libs/"
done
"$uv" pip install --quiet --python .venv/bin/python --no-deps --target "$bundled/libs" .
# Programs nobody starts, and the path of this checkout.
rm -rf "$bundled"/libs/{bin,.lock,rolecall-*.dist-info/direct_url.json}
cp client-vscode/launch.py "$bundled/"
cp LICENSE client-vscode/
scripts/check_client.sh

cd client-vscode
npm run --silent build
version=$(node -p 'JSON.parse(require("fs").readFileSync("package.json", "utf8")).version')
target=$(node -p '`${process.platform}-${process.arch}`')
vsix=dist/rolecall-$version-$target.vsix
npm run --silent package -- --target "$target" --out "../$vsix"
echo "$vsix"
