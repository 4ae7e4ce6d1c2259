#!/bin/sh
# Makes .venv ready: `scripts/setup.sh course` for the course, `scripts/setup.sh dev` for its tests too.
# A second run finds its stamp and does nothing. Says in one sentence what is wrong and what to do.
set -eu
cd "$(dirname "$0")/.."

kind=${1:?usage: scripts/setup.sh course|dev}
venv=.venv
needed_mb=2000
in_range='import sys; raise SystemExit(not (3, 11) <= sys.version_info[:2] <= (3, 13))'

fail() {
  printf 'set-up: %s\n' "$1" >&2
  exit 3
}

find_python() {
  if [ -n "${PYTHON:-}" ]; then
    "$PYTHON" -c "$in_range" 2>/dev/null ||
      fail "PYTHON=$PYTHON is not a Python 3.11, 3.12 or 3.13; name one that is, or leave PYTHON unset"
    printf '%s\n' "$PYTHON"
    return
  fi
  for candidate in python3 python3.13 python3.12 python3.11; do
    if "$candidate" -c "$in_range" 2>/dev/null; then
      printf '%s\n' "$candidate"
      return
    fi
  done
  found=$(python3 -c 'import platform; print("python3 is " + platform.python_version())' 2>/dev/null) ||
    found="there is no python3"
  fail "the course needs Python 3.11, 3.12 or 3.13, and here $found; install one of them (on Debian or Ubuntu: apt install python3 python3-venv) or run: make course PYTHON=/path/to/python3.12"
}

check_disk() {
  free_mb=$(df -Pk . | awk 'NR == 2 { print int($4 / 1024) }')
  [ "$free_mb" -ge "$needed_mb" ] ||
    fail "$free_mb MB are free in $(pwd), and the installation needs $needed_mb MB; make room or move the course to another disk"
}

make_venv() {
  # The commands in an environment name the folder it was made in: a moved one is made anew.
  place=$(cat "$venv/.place" 2>/dev/null || pwd)
  if [ "$place" = "$(pwd)" ] && "$venv/bin/python" -c "import pip; $in_range" 2>/dev/null; then
    return
  fi
  python=$(find_python)
  if [ -e "$venv" ] || [ -L "$venv" ]; then
    echo "set-up: $venv does not run here (another folder, or another Python); making it anew"
    rm -rf "$venv"
  fi
  "$python" -c 'import ensurepip, venv' 2>/dev/null ||
    fail "this Python cannot make environments; on Debian or Ubuntu: apt install python3-venv"
  echo "set-up: making $venv with $("$python" --version)"
  "$python" -m venv "$venv" || {
    rm -rf "$venv"
    fail "the environment $venv could not be made; the reason stands above"
  }
  pwd >"$venv/.place"
}

# What an installation depends on: the lock, the package's own declaration and the Python.
key_of() {
  "$venv/bin/python" - "$1" <<'PY'
import hashlib
import sys
from pathlib import Path

parts = [Path(f"requirements/{sys.argv[1]}.txt").read_bytes(), Path("pyproject.toml").read_bytes()]
parts.append(sys.version.encode())
print(hashlib.sha256(b"\0".join(parts)).hexdigest()[:16])
PY
}

is_ready() {
  [ -e "$venv/.ready-$1-$(key_of "$1")" ]
}

install() {
  check_disk
  rm -f "$venv"/.ready-*
  echo "set-up: installing requirements/$kind.txt ($(grep -c '==' "requirements/$kind.txt") pinned packages); a few minutes the first time"
  "$venv/bin/python" -m pip install --disable-pip-version-check --require-hashes \
    --requirement "requirements/$kind.txt" ||
    fail "the packages could not be installed; the reason stands above (no network, a proxy, a full disk?). Run the same command again: what is already here is kept"
  echo "set-up: installing allranks itself"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps \
    --no-build-isolation --editable . ||
    fail "allranks itself could not be installed; the reason stands above"
  : >"$venv/.ready-$kind-$(key_of "$kind")"
}

make_venv
# What the tests need holds everything that the course needs.
if is_ready "$kind" || is_ready dev; then
  exit 0
fi
install
echo "set-up: ready"
