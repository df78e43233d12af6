# shellcheck shell=bash
# Lints the OpenAPI documents with Redocly and Spectral, and the AsyncAPI document with AsyncAPI's parser. Their versions are
# pinned in openapi/lint, and they are installed under .dev/cache. A warning counts as an error.
#
# oasdiff compares each document with the released one: a change that breaks clients fails.

OPENAPI_LINT=$ROOT/openapi/lint
OASDIFF_VERSION=v1.11.8

check_openapi() {
  local status=0
  lint_documents || status=1
  compare_with_released || status=1
  return "$status"
}

# Whether the programs are installed. In CI they have to be.
can_use() { # programs
  [[ ${CI:-} != true ]] || require "$@"
  local program
  for program in "$@"; do
    command -v "$program" >/dev/null && continue
    say "$program is not installed: skipped"
    return 1
  done
}

lint_documents() {
  local home bin document output status=0
  can_use node npm || return 0
  home=$CACHE_DIR/openapi-lint-$(cksum <"$OPENAPI_LINT/package-lock.json" | cut -d ' ' -f 1)
  if [[ ! -e $home/ready ]]; then
    locked install_openapi_lint "$home" || die "npm could not install the linters: see above"
  fi
  bin=$home/node_modules/.bin
  export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true
  for document in openapi/*.json; do
    output=$("$bin/redocly" lint --extends=recommended-strict --format=stylish "$document" 2>&1) &&
      output=$("$bin/spectral" lint --ruleset "$OPENAPI_LINT/spectral.yaml" --fail-severity=warn "$document" 2>&1) &&
      continue
    say "$output"
    status=1
  done
  # The script is beside its modules, where Node looks for them.
  cp "$OPENAPI_LINT/asyncapi.mjs" "$home" && node "$home/asyncapi.mjs" openapi/events.asyncapi.yaml || status=1
  return "$status"
}

compare_with_released() {
  local home=$CACHE_DIR/oasdiff-$OASDIFF_VERSION released checksum output status=0
  can_use go || return 0
  if [[ ! -e $home/oasdiff ]]; then
    say "building oasdiff $OASDIFF_VERSION"
    GOBIN=$home locked go install "github.com/oasdiff/oasdiff@$OASDIFF_VERSION" || die "go could not build oasdiff: see above"
  fi
  for released in openapi/released/*.json; do
    [[ -e $released ]] || continue # before the first release
    checksum=$(cksum <"$released" | cut -d ' ' -f 1)
    if ! grep -q "\b$checksum\b" CHANGELOG.md; then
      say "$released was changed: name it in CHANGELOG.md, with its checksum $checksum"
      status=1
    fi
    output=$("$home/oasdiff" breaking "$released" "openapi/${released##*/}" --fail-on ERR 2>&1) && continue
    say "$output"
    say "openapi/${released##*/} breaks clients of $released: undo the change, or release a new version"
    status=1
  done
  return "$status"
}

install_openapi_lint() { # folder
  say "installing the linters of the API documents"
  rm -rf "$1"
  mkdir -p "$1" && cp "$OPENAPI_LINT/package.json" "$OPENAPI_LINT/package-lock.json" "$1" &&
    (cd "$1" && npm ci --ignore-scripts --silent --no-audit --no-fund) && touch "$1/ready"
}

# Writes the documents: the programs describe their routes, devtool completes them, and the services serve the files. The skeleton
# has its document in its folder.
command_openapi() { # [services...]
  local name folder document bins=(--bin devtool) skeletons=()
  for folder in "$ROOT"/skeleton/*/; do
    [[ ! -e $folder ]] || skeletons+=("$(basename "$folder")")
  done
  (($#)) || set -- "${SERVICES[@]}" "${skeletons[@]}"
  for name in "$@"; do
    [[ " ${SERVICES[*]} ${skeletons[*]} " == *" $name "* ]] || usage_error "there is no service '$name': the services are ${SERVICES[*]}"
    bins+=(--bin "$name")
  done
  require "${TO_BUILD[@]}"
  build "the programs that write the documents" "${bins[@]}"
  for name in "$@"; do
    folder=$ROOT/services/$name document=$ROOT/openapi/$name.json
    [[ -e $folder ]] || folder=$ROOT/skeleton/$name document=$ROOT/skeleton/$name/openapi.json
    devtool openapi "$BIN_DIR/$name" "$folder/examples.json" >"$document.new" ||
      die "the document of $name could not be written: see above"
    mv "$document.new" "$document"
  done
}
