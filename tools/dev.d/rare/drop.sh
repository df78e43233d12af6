# shellcheck shell=bash
# shellcheck disable=SC2016 # perl expands its own variables
# Drops a service: its folder, its lines in the files that list services, and what the rules and patches in its folder drop/ change.
# docs/template.md says what is left of the saga then.

command_drop() { # name [--no-build]
  local name='' documents=yes status=0
  while (($#)); do
    case $1 in
      --no-build) documents='' ;;
      -*) usage_error "drop has no option $1: its only option is --no-build" ;;
      *) name=$1 ;;
    esac
    shift
  done
  require git perl "${TO_BUILD[@]}"
  check_dropped "$name"
  [[ -z $(git -C "$ROOT" status --porcelain) ]] || die "commit your changes first: git status shows them"
  drop_service "$ROOT" "$name" || status=1
  (cd "$ROOT" && tidy_up) || status=1
  # Otherwise new files would survive git reset --hard.
  git -C "$ROOT" add --all
  ((status == 0)) || die "$name is dropped but for what is named above: mend that, and run ./dev openapi; git reset --hard takes everything back"
  if [[ -n $documents ]]; then
    say "the programs print their documents: the build takes some minutes (--no-build leaves that to ./dev openapi)"
    # Another process, because this one still knows the dropped service.
    (cd "$ROOT" && ./dev openapi) || return
  fi
  say "dropped: $name; git status shows what has changed, and git reset --hard takes it back"
  [[ ! -e $ROOT/openapi/released ]] || say "openapi/released has the API with $name: ./dev check refuses the new one until you release it"
}

check_dropped() { # service
  local other
  is_service "$1" || usage_error "there is no service '$1': drop takes one of ${SERVICES[*]}"
  [[ $1 != orders ]] || usage_error "orders cannot be dropped: the other services follow its events"
  [[ ! -e $ROOT/services/$1/drop ]] || return 0
  for other in "${SERVICES[@]}"; do
    ! grep -q "^reads = .*\"$1\"" "$ROOT/services/$other/service.toml" || usage_error "$1 cannot be dropped: $other consumes its events"
  done
}

# Fails if something does not fit, after everything else is done.
drop_service() ( # checkout service
  cd "$1" || exit
  local service=$2 program parts=("$2") operations tests how_tos=() file left=0
  while IFS= read -r program; do parts+=("$program"); done < <(sed -n 's/^\([a-z]*\) = { program = .*/\1/p' "services/$service/service.toml")
  operations=$(sed -n 's/.*"operationId": "\(.*\)".*/\1/p' "openapi/$service.json")
  tests=$(test_names)
  for file in docs/how-to/*.diff; do
    if [[ -e $file ]] && git apply --check "$file" 2>/dev/null; then how_tos+=("$file"); fi
  done
  if [[ -e services/$service/drop ]]; then
    # shellcheck source=/dev/null
    source "services/$service/drop/rules.sh"
    "drop_$service"
    apply_patches "services/$service" || left=1
    forget_drops || exit
  fi
  rm -rf "services/${service:?}" "migrations/$service" openapi/{,released/}"$service.json" &&
    forget_parts "$service" && forget_how_tos ${how_tos[@]+"${how_tos[@]}"} &&
    forget_in_documents "$operations" "$(comm -23 <(echo "$tests") <(test_names))" "${parts[@]}" || exit
  exit "$left"
)

# The functions whose names are sentences.
test_names() { git ls-files -z -- '*.rs' | xargs -0 cat 2>/dev/null | sed -nE 's/^ *(pub |async )*fn ([a-z0-9]+(_[a-z0-9]+){4,}).*/\2/p' | sort -u; }

# What an owner has changed since may fit no more: such a piece is left in a file beside the one that it is for.
apply_patches() { # folder
  local patch status=0
  for patch in "$1"/drop/*.patch; do
    [[ ! -e $patch ]] || git apply --reject "$patch" 2>/dev/null || status=1
  done
  ((status == 0)) || say "some pieces of $1/drop do not fit these files. They are in: $(git ls-files --others -- '*.rej' | tr '\n' ' ')"
  return "$status"
}

# Because the rules and patches of each service expect all others, no other of the first services can go afterwards.
forget_drops() {
  rm -r services/*/drop
  edit_text docs/template.md 's/^\| `--without [^\n]*\n//m; s/^`\.\/dev drop .*?\n\n.*? orders cannot go\./`.\/dev drop NAME` drops a service that `.\/dev add-service` made. orders cannot go./ms'
}

# The lines that tell_the_others has written, or that stand there for the first services.
forget_parts() { # service
  local service=$1 file
  for file in docker-compose.yml docker-compose.observability.yml deploy/prometheus/prometheus.yml deploy/kubernetes/{base,autoscaling}/kustomization.yaml; do
    edit_text "$file" "s|^[^\n]*\bservices/$service/[^\n]*\n||mg"
  done
  edit_text deploy/kubernetes/overlays/example/routes.yaml "s/^---\n(?:(?!---\n)[^\n]*\n)*?  name: $service\n(?:(?!---\n)[^\n]*\n)*//mg"
  for file in deploy/grafana/boards/*.json; do
    edit_text "$file" 's/^    \{\n.*?^    \},?\n/$& =~ m{\b'"$service"'_} ? "" : $&/gmse; s/\},(?=\n  \])/}/'
  done
  edit_text deploy/prometheus/alerts.yml "s/^ +# \\| \`$service\\/[^\n]*\n//mg"
  # A service that the owner has added is no answer any more, and one of the origin is one from now on.
  [[ ! -e origin.toml ]] || edit_text origin.toml 's/^services = .*?\K(?:, )?"'"$service"'"//m or s/^without = .*?\K\]/, "'"$service"'"]/m; s/\[, /[/g'
}

# What tests compare with the documents: problems, metrics, operations, names of tests and of audits, and links.
forget_in_documents() { # operations tests, names of parts
  local operations tests service=$3 parts
  # shellcheck disable=SC2086 # words
  operations=$(alternatives $1) && tests=$(alternatives $2)
  shift 2
  parts=$(alternatives "$@")
  edit_text docs/problems.md 's/^## [^\n]*\n\n[^\n]*\n\n\*\*[^\n]*\*\* `'"$service"'`.*?(?=^## |\z)//gms; s/\n+\z/\n/'
  edit_text docs/strategies.md 's/^\| '"$service"' \|[^\n]*\n//mg'
  edit_text docs/metrics.md 's/^\| `'"$service"'_[^\n]*\n//mg'
  [[ -z $operations ]] || edit_text docs/operations.md 's/^\| `(?:'"$operations"')`[^\n]*\n//mg'
  git ls-files -z -- '*.md' ':!docs/decisions' ':!CHANGELOG.md' ':!skeleton/*/problems.md' | while IFS= read -r -d '' file; do
    [[ ! -e $file ]] || FOLDER=$(dirname "$file") edit_text "$file" '
      s/`(?:'"${tests:-no test}"'|(?:'"$parts"')\/\w+)`(?:, )?//g; s/, (?= \||$)//mg if $ENV{FOLDER} eq "docs";
      s{\[([^\[\]]*)\]\((?!http|#|\w+::)([^()\s#]+)(#[^()\s]*)?\)}{-e "$ENV{FOLDER}/$2" ? $& : $1}ge'
  done
}

# The how-tos that fitted before and fit no more.
forget_how_tos() { # files...
  local file
  for file in "$@"; do
    if [[ -e $file ]] && git apply --check "$file" 2>/dev/null; then continue; fi
    rm -f "$file" && edit_text docs/architecture.md 's/^\|[^\n]*\(how-to\/'"$(basename "$file")"'\)[^\n]*\n//mg'
  done
  # Without the last one, the sections of the page are all.
  if [[ -e docs/how-to && -z $(ls docs/how-to) ]]; then
    rmdir docs/how-to && forget_commands . how-to && edit_text docs/template.md 's/^\| the diffs of `docs\/how-to`[^\n]*\n//m' &&
      edit_text docs/architecture.md 's/^Four of the sections .*?(?=^## )/The sections below have the steps.\n\n/ms' &&
      edit_text CONTRIBUTING.md 's/`how-to` and `template` it runs the short forms/`template` it runs the short form/'
  fi
}

# Words for a regular expression.
alternatives() { (IFS='|' && echo "$*"); }

# Deletes each line that begins so, with the lines below it that stand further in, and with the comment above it.
delete_blocks() { # file regex
  edit_text "$1" 's/(?:^ *#[^\n]*\n)*^(?='"$2"')( *)[^\n]*\n(?:(?:\1 [^\n]*)?\n)*//mg'
}

# Deletes sections with their subsections.
forget_sections() { # file headings, as a regex
  edit_text "$1" 's/^## (?:'"$2"')\n(?:(?!## )[^\n]*\n)*//mg; s/^### (?:'"$2"')\n(?:(?!###? )[^\n]*\n)*//mg'
}

# As edit_text, of a rule that has something to change unless it is out of date or the owner has changed the file.
change_text() { # file perl
  local before
  before=$(cksum <"$1")
  edit_text "$@"
  [[ $(cksum <"$1") != "$before" ]] || { say "a rule finds nothing to change in $1" && left=1; }
}

# Edits a file as one text. It may have nothing to change.
edit_text() { perl -CSD -0777 -pi -e "use utf8; $2" "$1"; } # file perl

# Removes commands of ./dev, with their files.
forget_commands() { # folder names...
  local folder=$1 name names
  shift
  names=$(alternatives "$@")
  for name in "$@"; do rm -f "$folder"/tools/dev.d/{,rare/}"$name.sh"; done
  edit_text "$folder/dev" '
    s/ (?:rare\/)?(?:'"$names"')(?=[ ;])(?=[^\n]*(?:\\|; do)\n)//g;
    s/^  \.\/dev (?:'"$names"') [^\n]*\n(?: {29}[^\n]*\n)*//mg;
    s/^  (?:'"$names"')\) command_[^\n]*\n//mg' &&
    edit_text "$folder/.ci/run" 's/^stage(?:_in_turn \d)? \.\/dev (?:'"$names"')\b[^\n]*\n//mg' &&
    edit_text "$folder/CONTRIBUTING.md" 's/^\.\/dev (?:'"$names"') [^\n]*\n//mg'
}

# After files have gone: the lock file, the page of the alerts, imports and names that are in another order now.
tidy_up() { cargo fmt --all && e2e_sources | xargs -0 rustfmt && lock_versions && tools/dev.d/alerts-page.pl --write; }
