#!/bin/sh
# Makes node_modules ready for the checks of the JavaScript. Only for development: no reader needs Node.js.
set -eu
cd "$(dirname "$0")/.."

fail() {
  printf 'set-up: %s\n' "$1" >&2
  exit 3
}

command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1 ||
  fail "the checks of the JavaScript need Node.js 18 or newer and npm; on Debian or Ubuntu: apt install nodejs npm"
major=$(node -p 'process.versions.node.split(".")[0]')
[ "$major" -ge 18 ] ||
  fail "the checks of the JavaScript need Node.js 18 or newer, and here is $(node --version); install a newer one"

stamp=node_modules/.ready-$(cksum <package-lock.json | tr ' ' '-')
[ -e "$stamp" ] && exit 0
echo "set-up: installing package-lock.json for the checks of the JavaScript"
npm ci --ignore-scripts --no-audit --no-fund ||
  fail "npm could not install package-lock.json; the reason stands above. Run the same command again"
: >"$stamp"
