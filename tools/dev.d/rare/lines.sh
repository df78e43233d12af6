# shellcheck shell=bash
# Counts lines by crate: code, tests and documents. Core is what an installation runs: the services and shared/
# without testkit; the commands of people (shared/operator) are shown apart. Tools are the programs in tools/. Words are those of all *.md.
# `./dev check sizes` keeps all of them from growing.
#
#   code       lines of *.rs that are neither blank nor a comment line
#   tests      the same of what only tests compile: folders `tests` and `e2e`, files tests.rs, modules and blocks behind
#              #[cfg(test)], and every crate in tests/ and shared/testkit
#   documents  lines of *.md that are not blank
#
# A line with code and a comment is code. Block comments count as code; this repository has none.

command_lines() {
  (($# == 0)) || usage_error "lines takes no arguments"
  cd "$ROOT" || exit
  {
    find_in_sources Cargo.toml | sed 's|^\./||; s|/*Cargo.toml$||; s|^|crate |'
    # shellcheck disable=SC2016 # expands in awk
    find_in_sources '*.rs' | sort | xargs awk '
      FNR == 1 { previous = "" }
      previous ~ /^#\[cfg\(test\)\]/ && /^(pub(\([a-z]+\))? )?mod [a-z_0-9]+;/ {
        folder = FILENAME
        sub(/(\/(mod|lib|main))?\.rs$/, "", folder)
        name = $0
        sub(/^.*mod /, "", name)
        sub(/;.*$/, "", name)
        sub(/^\.\//, "", folder)
        print "test " folder "/" name
      }
      { previous = $0 }'
    find_in_sources '*.rs' | sort | sed 's|^\./|rust |'
    find_in_sources '*.md' | sort | sed 's|^\./|text |'
  } | awk "$COUNT_LINES"
}

find_in_sources() { # name
  sources | tr '\0' '\n' | grep -v /node_modules/ | awk -v wanted="$1" '
    { name = $0; sub(/^.*\//, "", name) }
    wanted ~ /^\*/ ? substr(name, length(name) - length(wanted) + 2) == substr(wanted, 2) : name == wanted'
}

# Reads "crate FOLDER", "test PREFIX", "rust FILE" and "text FILE", and prints the table.
# shellcheck disable=SC2016 # expands in awk
COUNT_LINES='
function crate_of(file,    folder) {
  folder = file
  while (sub(/\/[^\/]*$/, "", folder)) if (folder in crates) return folder
  return "(root and docs)"
}
function is_test(file,    folder) {
  if (file ~ /^tests\// || file ~ /^shared\/testkit\// || file ~ /\/(tests|e2e)\// || file ~ /\/tests\.rs$/) return 1
  folder = file
  sub(/\.rs$/, "", folder)
  do if (folder in only_tests) return 1
  while (sub(/\/[^\/]*$/, "", folder))
  return 0
}
function is_tool(crate) { return crate ~ /^tools\// }
function is_core(crate) { return crate ~ /^(services|shared)\// && crate != "shared/testkit" }
function count_rust(file,    crate, all_tests, in_tests, lines, line, of_code) {
  crate = crate_of(file)
  all_tests = is_test(file)
  in_tests = lines = of_code = 0
  while ((getline line < file) > 0) {
    lines++
    if (line ~ /^#\[cfg\(test\)\]/) in_tests = 1
    if (line !~ /^[ \t]*$/ && line !~ /^[ \t]*\/\//) {
      if (all_tests || in_tests) tests[crate]++
      else { code[crate]++; of_code++ }
    }
    if (in_tests && (line ~ /^}/ || line ~ /^(pub.* )?mod .*;/)) in_tests = 0
  }
  close(file)
  if (all_tests) return
  files[crate]++
  if (lines < 25) short[crate]++
  if (is_core(crate) && lines > longest) { longest = lines; longest_file = file }
}
function print_row(name, code, tests, text, files, short) {
  printf "%-28s %8d %8d %10d %8d %10d\n", name, code, tests, text, files, short
}
BEGIN { printf "%-28s %8s %8s %10s %8s %10s\n", "crate", "code", "tests", "documents", "files", "under 25" }
$1 == "crate" && NF == 2 { crates[$2] = 1; seen[$2] = 1 }
$1 == "test" { only_tests[$2] = 1 }
$1 == "rust" { count_rust($2); seen[crate_of($2)] = 1 }
$1 == "text" {
  crate = crate_of($2)
  seen[crate] = 1
  while ((getline line < $2) > 0) {
    if (line !~ /^[ \t]*$/) text[crate]++
    words += split(line, ignored)
  }
  close($2)
}
END {
  for (crate in seen) names[++number] = crate
  for (i = 2; i <= number; i++)
    for (j = i; j > 1 && names[j - 1] > names[j]; j--) { swap = names[j]; names[j] = names[j - 1]; names[j - 1] = swap }
  for (i = 1; i <= number; i++) {
    crate = names[i]
    print_row(crate, code[crate], tests[crate], text[crate], files[crate], short[crate])
    for (sum = 1; sum <= 4; sum++) if (sum == 1 || sum == 4 && is_tool(crate) || is_core(crate) && (sum == 2 || sum == 3 && crate != "shared/operator")) {
      c[sum] += code[crate]; t[sum] += tests[crate]; d[sum] += text[crate]; f[sum] += files[crate]; s[sum] += short[crate]
    }
  }
  print_row("total", c[1], t[1], d[1], f[1], s[1])
  print_row("core", c[2], t[2], d[2], f[2], s[2])
  print_row("core-without-operator", c[3], t[3], d[3], f[3], s[3])
  print_row("tools", c[4], t[4], d[4], f[4], s[4])
  printf "%-24s %8d\n", "words", words
  printf "Files are *.rs files with code. The longest of the core has %d lines: %s\n", longest, longest_file
}'
