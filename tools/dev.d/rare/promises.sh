# shellcheck shell=bash
# Prints the promises of crates with their tests. Each file of tests begins with its promise, and the name of each test is a sentence.

command_promises() { # [crates...]
  local name folder found
  cd "$ROOT" || exit
  if (($#)); then printf '%s\n' "$@"; else crates_with_tests; fi | while IFS= read -r name; do
    found=''
    for folder in shared services tests tools examples .; do
      [[ -e $folder/$name/Cargo.toml ]] || continue
      found=yes
      echo "$name"
      find "$folder/$name" -name '*.rs' | sort | xargs awk "$LIST_PROMISES"
    done
    [[ -n $found ]] || usage_error "there is no crate '$name': the crates are $(crates_with_tests | tr '\n' ' ')"
  done
}

crates_with_tests() {
  local manifest
  for manifest in {shared,services,tests,tools,examples}/*/Cargo.toml audits/Cargo.toml; do
    manifest=${manifest%/Cargo.toml}
    ! grep -rqE '#\[([a-z_]+::)?test' --include='*.rs' "$manifest" || basename "$manifest"
  done
}

# shellcheck disable=SC2016 # expands in awk
LIST_PROMISES='
FNR == 1 { promise = ""; in_header = 1; is_test = is_printed = 0 }
in_header && /^\/\/! / { promise = promise (promise == "" ? "" : " ") substr($0, 5); next }
/^\/\/!/ { in_header = 0; next }
{ in_header = 0 }
/#\[([a-z_]+::)?test[(\]]/ { is_test = 1; next }
is_test && match($0, /fn [a-z0-9_]+/) {
  if (!is_printed) { print "  " promise " (" FILENAME ")"; is_printed = 1 }
  print "    " substr($0, RSTART + 3, RLENGTH - 3)
  is_test = 0
}'
