#!/bin/sh
# Makes requirements/course.txt and dev.txt: every version and hash, for Linux and macOS and each
# supported Python, and no address of any index. Settings of this machine are left out of it.
set -eu
cd "$(dirname "$0")/../requirements"
uv=../.venv/bin/uv
[ -x "$uv" ] || { echo "lock: uv is not in .venv; run \`make setup-dev\` first" >&2; exit 3; }
for name in course dev; do
  env -u UV_INDEX -u UV_DEFAULT_INDEX -u UV_INDEX_URL -u UV_EXTRA_INDEX_URL -u UV_FIND_LINKS \
    -u UV_CONSTRAINT -u UV_OVERRIDE \
    "$uv" pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes \
    --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" "$@" \
    --output-file "$name.txt" "$name.in"
  echo "requirements/$name.txt: $(grep -c == "$name.txt") packages"
done
