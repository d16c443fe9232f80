#!/bin/sh
# Connects an agent on this machine to a Restante server. It downloads the agent's program from the server, compares it with its sha256
# and starts it. Linux gets the executable for its processor; every other system, and a Linux on which that does not run, gets the agent
# in Python. It writes one file into the current folder, restante or restante.py, and needs no administrator's rights.
#
# Usage: sh restante-install.sh --url URL --enrol TOKEN [more flags of "restante connect"]
set -eu

say() { printf 'restante-install: %s\n' "$*" >&2; }
fail() { # CODE TEXT
  code=$1
  shift
  say "$*"
  exit "$code"
}
has() { command -v "$1" >/dev/null 2>&1; }

# What the server offers, one program a line: its sha256, two spaces, its name.
programs() {
  cat <<'END'
@PROGRAMS@
END
}

digest_of() { # FILE
  if has sha256sum; then
    sha256sum "$1"
  elif has shasum; then
    shasum -a 256 "$1"
  else
    openssl dgst -sha256 -r "$1"
  fi | cut -d ' ' -f 1
}

# Downloads the program NAME as the file FILE, unless that file is the program already.
fetch() { # NAME FILE
  wanted=$(programs | sed -n "s/^\([0-9a-f]*\)  $1\$/\1/p")
  [ ! -d "$2" ] || fail 73 "there is a folder named $2 here. Change to another folder and paste the line again"
  if [ -f "$2" ] && [ "$(digest_of "$2")" = "$wanted" ]; then
    say "$2 is here already"
    return
  fi
  say "downloading $url/download/$1 as $2"
  if has curl; then
    curl -fsSL "$url/download/$1" -o "$2.part" || fail 69 "the download failed. Is $url the server's address?"
  elif has wget; then
    wget -q "$url/download/$1" -O "$2.part" || fail 69 "the download failed. Is $url the server's address?"
  else
    fail 69 "neither curl nor wget is installed. Install one of them and paste the line again"
  fi
  if [ "$(digest_of "$2.part")" != "$wanted" ]; then
    rm -f "$2.part"
    fail 65 "$1 is not the file that the line was made for: it was cut or changed on the way, or the server was upgraded. Make a new line"
  fi
  chmod +x "$2.part"
  mv "$2.part" "$2"
}

url=''
previous=''
for argument in "$@"; do
  case $argument in --url=*) url=${argument#--url=} ;; esac
  if [ "$previous" = --url ]; then url=$argument; fi
  previous=$argument
done
url=${url%/}
[ -n "$url" ] || fail 64 'usage: sh restante-install.sh --url URL --enrol TOKEN'
has sha256sum || has shasum || has openssl || fail 69 'no program here computes a sha256: install coreutils, perl or openssl'

machine=$(uname -m)
case $machine in
  amd64) machine=x86_64 ;;
  arm64) machine=aarch64 ;;
esac
name=restante-$(uname -s | tr '[:upper:]' '[:lower:]')-$machine

if programs | grep -q "  $name\$"; then
  fetch "$name" restante
  if ./restante --version >/dev/null 2>&1; then
    say 'starting ./restante connect; the next time that command is enough'
    exec ./restante connect "$@"
  fi
  say "$name does not run here (it needs glibc 2.35); using the agent in Python instead"
  rm -f restante
else
  say "the server has no executable for $(uname -s) on $machine; using the agent in Python"
fi

programs | grep -q '  restante\.py$' || fail 69 'the server has no agent in Python either. docs/agents.md shows how to poll with curl'
python=''
for candidate in python3 python; do
  if has "$candidate" && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
    python=$candidate
    break
  fi
done
[ -n "$python" ] || fail 69 'it needs Python 3.9 or newer, which is not installed here. Install it and paste the line again'
fetch restante.py restante.py
say "starting $python restante.py connect; the next time that command is enough"
exec "$python" restante.py connect "$@"
