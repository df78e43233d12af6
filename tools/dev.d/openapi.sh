# shellcheck shell=bash
# Lints the OpenAPI documents with Redocly and Spectral, and the AsyncAPI document with AsyncAPI's parser. Their versions are
# pinned in openapi/lint, and they are installed under .dev/cache. A warning counts as an error.

OPENAPI_LINT=$ROOT/openapi/lint

check_openapi() {
  local home bin document output status=0
  if [[ ${CI:-} == true ]]; then
    require node npm
  elif ! command -v npm >/dev/null; then
    say "npm is not installed: skipped"
    return
  fi
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

install_openapi_lint() { # folder
  say "installing the linters of the API documents"
  rm -rf "$1"
  mkdir -p "$1" && cp "$OPENAPI_LINT/package.json" "$OPENAPI_LINT/package-lock.json" "$1" &&
    (cd "$1" && npm ci --ignore-scripts --silent --no-audit --no-fund) && touch "$1/ready"
}
