#!/bin/sh
# Says where the browser of the browser tests is, or how to get one.
set -eu
for candidate in "${ALLRANKS_CHROMIUM:-}" chromium chromium-browser google-chrome \
  "/Applications/Chromium.app/Contents/MacOS/Chromium" \
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; do
  if [ -n "$candidate" ] && found=$(command -v "$candidate" 2>/dev/null); then
    echo "browser tests: $found"
    exit 0
  fi
done
echo "set-up: the browser tests need Chromium; on Debian: apt install chromium; on macOS: brew install --cask chromium; or name one: ALLRANKS_CHROMIUM=/path/to/chromium" >&2
exit 3
