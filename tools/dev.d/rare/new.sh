# shellcheck shell=bash
# shellcheck disable=SC2016 # perl expands its own variables
# A project of your own, made from this one: docs/template.md. There is no second copy of the code: the files of this checkout are
# copied and renamed. add-service.sh adds a service, and update.sh brings what this project learns later.

command_new() { # folder --name name [--service name]... [--without name]... [--no-build]
  local folder='' name='' services=() without=() service singulars=' ' documents=yes
  while (($#)); do
    case $1 in
      --name) name=${2:-} && shift ;;
      --service) services+=("${2:-}") && shift ;;
      --without) without+=("${2:-}") && shift ;;
      --no-build) documents='' ;;
      -*) usage_error "new has no option $1: docs/template.md lists its options" ;;
      *) folder=$1 ;;
    esac
    shift || usage_error "an option of new lacks its value"
  done
  [[ -n $folder ]] || usage_error "new takes a folder, such as: ./dev new ../tickets --name tickets"
  [[ $name =~ ^[a-z][a-z0-9]*(-[a-z0-9]+)*$ && ${#name} -le 20 ]] ||
    usage_error "--name is '$name': at most 20 of a-z, 0-9 and '-', such as tickets or ticket-shop"
  require git perl
  for service in ${services[@]+"${services[@]}"}; do
    check_service_name "$service"
    [[ $singulars != *" $(one_of "$service") "* ]] || usage_error "the services are ${services[*]}: each needs a singular of its own"
    singulars+="$(one_of "$service") "
  done
  ((${#without[@]} < 2)) || usage_error "--without is given twice: one of the services decides about an order, so one must stay"
  for service in ${without[@]+"${without[@]}"}; do check_dropped "$service"; done
  [[ ! -e $folder || -z $(ls -A "$folder") ]] || die "$folder is not empty"
  mkdir -p "$folder" || die "$folder cannot be made"
  folder=$(cd "$folder" && pwd)
  # Otherwise the copy would be copied, too.
  [[ $folder != "$ROOT"/* ]] || git -C "$ROOT" check-ignore --quiet "$folder" || die "$folder is inside of this checkout: name a folder beside it"
  make_project "$folder" "$name" "$documents" "${without[*]-}" ${services[@]+"${services[@]}"} || die "the project could not be made: see above"
}

make_project() { # folder name documents dropped services...; documents and dropped may be empty
  local folder=$1 name=$2 documents=$3 dropped=$4 service
  shift 4
  copy_checkout "$folder"
  require "${TO_BUILD[@]}"
  [[ -z $dropped ]] || drop_service "$folder" "$dropped" || return
  for service in "$@"; do add_service "$folder" "$service" || return; done
  forget_the_template "$folder" && rename_project "$folder" "$name" && name_the_origin "$folder" && write_origin "$folder" "$name" "$dropped" "$@" &&
    (cd "$folder" && tidy_up) || return
  # The programs write them.
  if [[ -n $documents && -n $dropped$* ]]; then
    say "its programs print its documents: the first build takes some minutes (--no-build leaves that to you)"
    (cd "$folder" && env -u IDEM_DEV_DIR ./dev openapi) || return
  fi
  nothing_is_released "$folder"
  rm -rf "$folder/.git"
  commit_all "$folder" "$name, made from Idem"
  say "made: $folder"
  say "next: cd $folder && ./dev demo"
}

# Removes what only a template needs, and the history of this project.
forget_the_template() { # folder
  local folder=$1
  rm -rf "$folder"/docs/decisions/0041-* "$folder"/tools/dev.d/sizes.txt
  forget_commands "$folder" how-to new template &&
    edit_text "$folder/docs/architecture.md" 's/^`\.\/dev how-to NAME` [^\n]*\n//m' &&
    edit_lines "$folder/docs/template.md" '$_ = "" if /^`\.\/dev new` makes / .. /^## / and !/^## /' &&
    edit_lines "$folder/docs/decisions/README.md" '$_ = "" if /\(0041-/' &&
    edit_text "$folder/CONTRIBUTING.md" 's/; of (?:`how-to` and )?`template` it runs the short forms?//' &&
    edit_lines "$folder/README.md" 's/^\| start a project .*/| take over what its origin has learnt since | [`.\/dev update`](docs\/template.md#take-over-what-the-origin-has-learnt) |/' &&
    edit_lines "$folder/README.md" 's/ is a reference application: / is an application: /' || return
  # The picture shows Idem.
  rm -f "$folder"/docs/figures/lab-*.png
  edit_text "$folder/README.md" 's/^<picture>.*?\n\n//ms; s/^`\.\/dev lab`[^:]*\K:$/./m'
}

# Renames the project in every text file: Idem, IDEM_ (settings), idem_ (roles, metrics) and idem- (crates, images). Licenses keep the
# name. So do the scheme of fingerprints, because fixed hashes depend on it, and the cards of the processor's stand-in.
rename_project() { # folder name
  local title
  title=$(perl -e 'print join " ", map { ucfirst } split /-/, shift' "$2")
  git -C "$1" add --all
  git -C "$1" ls-files -z -- ':!LICENSE*' ':!*.png' ':!*.svg' ':!shared/database/migrations' | (
    cd "$1" && KEBAB=$2 SNAKE=${2//-/_} TITLE=$title xargs -0 perl -pi -e '
      s/(?<![A-Za-z])idem(?=_)(?!_(?:slow|charged|processing|refund))|(?<=_)idem(?![a-z_])/$ENV{SNAKE}/g;
      s/(?<![A-Za-z])idem(?!-fingerprint-v1)(?![a-z_])/$ENV{KEBAB}/g;
      s/(?<![A-Z])IDEM(?![A-Z])/\U$ENV{SNAKE}/g;
      s/\bIdem\b/$ENV{TITLE}/g;
    '
  )
}

# Says which documents are about Idem: after the renaming, which would rename it here as well.
name_the_origin() { # folder
  [[ ! -e $1/docs/performance.md ]] || edit_lines "$1/docs/performance.md" \
    's/$/\n\n**Measured in Idem, the project that this one was made from.** Measure again before you show a figure./ if $. == 1' || return
  edit_lines "$1/docs/decisions/README.md" \
    's/^(?=\| \| decision \|)/These are the reasons of Idem, the project that this one was made from. Some speak of services and pages that are not here.\n\n/'
}

# What ./dev update reads.
write_origin() { # folder name dropped services...
  local folder=$1 name=$2 dropped=$3 commit list=''
  shift 3
  commit=$(git -C "$ROOT" rev-parse --verify HEAD) || return
  [[ -z $(git -C "$ROOT" status --porcelain) ]] ||
    say "this checkout has changes without a commit: ./dev update will take them for the owner's"
  (($# == 0)) || list=$(printf ', "%s"' "$@")
  cat >"$folder/origin.toml" <<ORIGIN
# ./dev new made this project from this commit of Idem, with these answers. ./dev add-service adds to them, and ./dev update reads them.
commit = "$commit"
name = "$name"
services = [${list#, }]
without = [${dropped:+"\"$dropped\""}]
ORIGIN
}

# Until the first release, documents and migrations may change: no client and no database has them.
nothing_is_released() { # folder
  rm -r "$1/openapi/released" "$1/tests/upgrade/BASE"
  printf '# Changelog\n\nThe format follows [Keep a Changelog](https://keepachangelog.com/en/1.1.0/).\n\n## Unreleased\n' >"$1/CHANGELOG.md"
}
