# shellcheck shell=bash
# Programs beyond the Rust toolchain. As root with apt-get, missing ones are installed; otherwise all are listed at once.

# Sets JAVA to a Java of version 17 or newer.
find_java() {
  local candidate version
  for candidate in "${JAVA_HOME:+$JAVA_HOME/bin/java}" java; do
    version=$("${candidate:-false}" -version 2>&1) || continue
    if [[ $version =~ version\ \"([0-9]+) ]] && ((BASH_REMATCH[1] >= 17)); then
      export JAVA=$candidate
      return
    fi
  done
  return 1
}

# Small systems have a perl without its standard modules, which scripts use.
has_perl() { perl -Mopen=:utf8 -MJSON::PP -e 1 2>/dev/null; }

# The headers of OpenSSL: the build of librdkafka finds them by pkg-config, Homebrew's too.
has_openssl() {
  command -v pkg-config >/dev/null && { pkg-config --exists openssl || brew --prefix --installed openssl@3 >/dev/null 2>&1; }
}

# The package of a program, for apt-get, dnf or Homebrew.
package_of() { # what manager
  case $1-$2 in
    java-apt) newest_apt_jre ;;
    java-dnf) echo java-21-openjdk-headless ;;
    java-brew) echo openjdk ;;
    cc-apt) echo gcc libc6-dev ;;
    cc-dnf) echo gcc ;;
    c++-apt) echo g++ ;;
    c++-dnf) echo gcc-c++ ;;
    javac-apt) newest_apt_jre | sed s/jre/jdk/ ;;
    javac-dnf) echo java-21-openjdk-devel ;;
    javac-brew) echo openjdk ;;
    mvn-*) echo maven ;;
    xz-apt) echo xz-utils ;;
    openssl-apt) echo libssl-dev pkg-config ;;
    openssl-dnf) echo openssl-devel pkgconf-pkg-config ;;
    openssl-brew) echo openssl@3 pkgconf ;;
    psql-apt) echo postgresql-client ;;
    psql-dnf) echo postgresql ;;
    psql-brew) echo libpq ;;
    perl-dnf) echo perl-core ;;
    setpriv-*) echo util-linux ;;
    nginx-apt) echo nginx-light ;;
    node-apt | node-dnf) echo nodejs ;;
    go-apt) echo golang-go ;;
    go-dnf) echo golang ;;
    *) echo "$1" ;;
  esac
}

newest_apt_jre() {
  local package
  for package in openjdk-17-jre-headless openjdk-21-jre-headless; do
    apt-cache show "$package" >/dev/null 2>&1 && echo "$package" && return
  done
  echo default-jre-headless
}

# Installs the missing programs, or lists all of them. `java` means a JRE of version 17 or newer, `openssl` its headers.
require() { # programs...
  local program missing=()
  for program in "$@"; do
    if [[ $program == java ]]; then
      find_java || missing+=(java)
    elif [[ $program == perl ]]; then
      has_perl || missing+=(perl)
    elif [[ $program == openssl ]]; then
      has_openssl || missing+=(openssl)
    else
      command -v "$program" >/dev/null || missing+=("$program")
    fi
  done
  ((${#missing[@]})) || return 0
  if ((EUID == 0)) && command -v apt-get >/dev/null && [[ " ${missing[*]} " != *" cargo "* ]]; then
    install_with_apt "${missing[@]}"
  else
    name_missing "${missing[@]}"
  fi
}

# librdkafka is C with OpenSSL. Its build looks for a C++ compiler too.
TO_BUILD=(cargo make cc c++ openssl)
TO_FETCH_SERVERS=(java mvn tar xz)

# For tests that move the clock of a server. They say that they did not run if it is missing, so a failure to install it ends nothing.
offer_libfaketime() {
  local found
  found=$(libfaketime)
  [[ -z $found ]] || return 0
  if ((EUID == 0)) && command -v apt-get >/dev/null; then
    step "reading the package lists" apt-get update -q &&
      step "installing faketime" apt-get install -y -q --no-install-recommends faketime && return
  fi
  say "libfaketime is not installed: the tests that move a clock will not run"
}

# Where Debian and Fedora install it; empty if it is not there.
libfaketime() {
  local file
  for file in /usr/lib/*/faketime/libfaketimeMT.so.1 /usr/lib64/faketime/libfaketimeMT.so.1; do
    [[ ! -e $file ]] || { echo "$file" && return; }
  done
}

# The programs for building, and for starting these parts.
require_for() { # names...
  local name needed=("${TO_BUILD[@]}")
  for name in "$@"; do
    if is_server "$name" && ! is_given "$name"; then
      needed+=("${TO_FETCH_SERVERS[@]}")
      ((EUID != 0)) || needed+=(setpriv)
      break
    fi
  done
  require "${needed[@]}"
}

install_with_apt() { # programs...
  local packages=() program
  export DEBIAN_FRONTEND=noninteractive
  step "reading the package lists" apt-get update -q ||
    die "apt-get update failed: see above"
  for program in "$@"; do
    # shellcheck disable=SC2207 # one program may need two packages
    packages+=($(package_of "$program" apt))
  done
  step "installing ${packages[*]}" apt-get install -y -q --no-install-recommends "${packages[@]}" ||
    die "apt-get install failed: see above"
  hash -r
  [[ " $* " != *" java "* ]] || find_java || die "the Java just installed is older than 17: install a newer one"
}

name_missing() { # programs...
  local manager='' command='' program packages=()
  if command -v apt-get >/dev/null; then
    manager=apt command="sudo apt-get install --no-install-recommends"
  elif command -v dnf >/dev/null; then
    manager=dnf command="sudo dnf install"
  elif command -v brew >/dev/null; then
    manager=brew command="brew install"
  fi
  say "These programs are missing:"
  for program in "$@"; do
    case $program in
      java) say "  java, 17 or newer" ;;
      perl) say "  perl, with the modules of its distribution" ;;
      openssl) say "  the headers of OpenSSL 3, and pkg-config" ;;
      cargo) say "  cargo: see https://rustup.rs; rust-toolchain.toml selects the version" ;;
      *) say "  $program" ;;
    esac
    # shellcheck disable=SC2207 # one program may need two packages
    [[ $program == cargo ]] || packages+=($(package_of "$program" "$manager"))
  done
  if [[ -n $manager ]] && ((${#packages[@]})); then
    say "To install them:"
    say "  $command ${packages[*]}"
  fi
  say "Then repeat this command."
  exit 2
}

# Debian packs the module venv separately.
require_venv() {
  python3 -c 'import ensurepip, venv' 2>/dev/null || require python3-venv
}

install_python() { # folder requirements
  rm -rf "$1"
  python3 -m venv "$1" &&
    "$1/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$2" &&
    touch "$1/ready"
}
