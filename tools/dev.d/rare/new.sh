# shellcheck shell=bash
# shellcheck disable=SC2016 # perl expands its own variables
# A project of your own, made from this one: docs/template.md. There is no second copy of the code: the files of this checkout are
# copied and renamed. docs/how-to/a-service.diff is the skeleton of a new service.

# Names of a table, of a Rust module and of variables that the skeleton cannot have: keywords, and words that its code has already.
RESERVED_WORDS=(
  break const crate enum extern impl import let loop macro match mod move ref return static struct super trait type use yield
  array case cast check collation column constraint default end grant group join left limit offset order right select table union user window
  event id key operation processor sku step stock tag
)

command_new() { # folder --name name [--service name] [--no-build]
  local folder='' name='' service='' documents=yes
  while (($#)); do
    case $1 in
      --name) name=${2:-} && shift ;;
      --service)
        [[ -z $service ]] || usage_error "--service can be given once: docs/template.md says how to add another one"
        service=${2:-} && shift
        ;;
      --no-build) documents='' ;;
      -*) usage_error "new has no option $1: docs/template.md lists its options" ;;
      *) folder=$1 ;;
    esac
    shift || usage_error "an option of new lacks its value"
  done
  [[ -n $folder ]] || usage_error "new takes a folder, such as: ./dev new ../tickets --name tickets"
  [[ $name =~ ^[a-z][a-z0-9]*(-[a-z0-9]+)*$ && ${#name} -le 20 ]] ||
    usage_error "--name is '$name': at most 20 of a-z, 0-9 and '-', such as tickets or ticket-shop"
  [[ -z $service ]] || check_service_name "$service"
  [[ ! -e $folder || -z $(ls -A "$folder") ]] || die "$folder is not empty"
  mkdir -p "$folder" || die "$folder cannot be made"
  folder=$(cd "$folder" && pwd)
  # Otherwise the copy would be copied, too.
  [[ $folder != "$ROOT"/* ]] || git -C "$ROOT" check-ignore --quiet "$folder" || die "$folder is inside of this checkout: name a folder beside it"
  require git perl
  make_project "$folder" "$name" "$service" "$documents" || die "the project could not be made: see above"
}

# Refuses a name whose crate, files, types or words something else here has already.
check_service_name() { # service
  local service=$1 one path
  [[ $service =~ ^[a-z]{2,19}s$ ]] ||
    usage_error "--service is '$service': 3 to 20 letters, the plural in s of what the service keeps, such as seats"
  one=$(one_of "$service")
  [[ " ${RESERVED_WORDS[*]} " != *" $one "* ]] ||
    usage_error "--service is '$service': '$one' means something else in Rust, in PostgreSQL or in the code here; take another name"
  for path in "$service" "services/$service" "shared/$service" "tools/$service"; do
    [[ ! -e $ROOT/$path ]] || usage_error "--service is '$service': there is already $path"
  done
  ! grep -qFx "name = \"$service\"" "$ROOT/Cargo.lock" || usage_error "--service is '$service': there is already a crate of that name"
  ! port_offset "$service" >/dev/null || usage_error "--service is '$service': there is already a part of that name"
  ! grep -qw "$(title_of "$one")Id" "$ROOT/shared/contracts/src/ids.rs" ||
    usage_error "--service is '$service': another service has the type $(title_of "$one")Id"
  while IFS= read -r path; do
    [[ ! -e $ROOT/$path ]] || usage_error "--service is '$service': there is already $path"
  done < <(skeleton_of "$service" | sed -n '/^--- \/dev\/null/{n;s|^+++ b/||p;}')
}

# The singular of the name of a service, and a word with a capital letter.
one_of() { if [[ $1 == *ies ]]; then echo "${1%ies}y"; else echo "${1%s}"; fi; }
title_of() { perl -e 'print ucfirst shift' "$1"; }

make_project() { # folder name service documents; the last two may be empty
  local folder=$1 name=$2 service=$3 documents=$4
  copy_checkout "$folder"
  add_skeleton "$folder" "$service" && forget_the_template "$folder" && rename_project "$folder" "$name" && name_the_origin "$folder" || return
  (
    cd "$folder" && require "${TO_BUILD[@]}"
    cargo fmt --all && { cargo update --quiet --workspace --offline 2>/dev/null || cargo update --quiet --workspace; }
  ) || return
  # The programs write them.
  if [[ -n $documents && -n $service ]]; then
    say "its programs print its documents: the first build takes some minutes (--no-build leaves that to you)"
    (cd "$folder" && env -u IDEM_DEV_DIR ./dev openapi) || return
  fi
  nothing_is_released "$folder"
  rm -rf "$folder/.git"
  commit_all "$folder" "$name, made from Idem"
  say "made: $folder"
  say "next: cd $folder && ./dev demo"
}

add_skeleton() { # folder service, which may be empty
  [[ -n $2 ]] || return 0
  skeleton_of "$2" | git -C "$1" apply --whitespace=nowarn || return
  # A service contains its document, which its program can write only once it is compiled.
  echo '{}' >"$1/openapi/$2.json"
}

# The diff of a-service with another name.
skeleton_of() { # service
  MANY=$1 ONE=$(one_of "$1") perl -pe '
    s/\b([Aa])([ _]parcel)/$1n$2/g if $ENV{ONE} =~ /^[aeiou]/;
    s/(parcel)(s?)/$2 ? $ENV{MANY} : $ENV{ONE}/ge;
    s/(Parcel)(s?)/ucfirst($2 ? $ENV{MANY} : $ENV{ONE})/ge;
    s/(PARCEL)(S?)/uc($2 ? $ENV{MANY} : $ENV{ONE})/ge;
  ' "$HOW_TO/a-service.diff"
}

# Removes what only a template needs, and the history of this project.
forget_the_template() { # folder
  local folder=$1
  rm -rf "$folder"/docs/how-to "$folder"/docs/template.md "$folder"/docs/decisions/0041-* "$folder"/tools/dev.d/rare/{copy,how-to,new,template}.sh
  without "$folder/dev" 's/ rare\/(copy|how-to|new|template)(?=[ ;])//g; $_ = "" if /command_(how_to|new|template) /' &&
    without "$folder/dev" '$_ = "" if /^  \.\/dev (how-to|new|template) / .. /\)$| from this one$/' &&
    without "$folder/.ci/run" '$_ = "" if /dev (how-to|template)/' &&
    without "$folder/docs/architecture.md" '$_ = "" if /^## How to add …/ .. /^## How to add a field/ and !/^## How to add a field/' &&
    without "$folder/docs/architecture.md" 's/The steps of \[[a-z-]+\]\([^)]*\)/The steps/' &&
    without "$folder/docs/decisions/README.md" '$_ = "" if /\(0041-/' &&
    without "$folder/CONTRIBUTING.md" '$_ = "" if /^\.\/dev (how-to|template) /; s/; of `how-to` and `template` it runs the short forms//' &&
    without "$folder/README.md" '$_ = "" if /docs\/template\.md/; s/, a diff for each//; s/#how-to-add-\)/#how-to-add-a-field)/' &&
    without "$folder/README.md" 's/ is a reference application: / is an application: /' || return
  # The picture shows Idem.
  rm "$folder"/docs/figures/lab-*.png
  without "$folder/README.md" '$_ = "" if /^<picture>/ .. /^$/; s/(README\.md\)\)):$/$1./ if /^`\.\/dev lab`/'
}

# Edits a file line by line. Fails if nothing changes: the file is then not as this script expects it.
without() { # file perl
  cp "$1" "$1.before"
  perl -CSD -pi -e "use utf8; $2" "$1"
  ! cmp -s "$1" "$1.before" || { say "tools/dev.d/rare/new.sh finds nothing to change in $1" && return 1; }
  rm "$1.before"
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
  [[ ! -e $1/docs/performance.md ]] || without "$1/docs/performance.md" \
    's/$/\n\n**Measured in Idem, the project that this one was made from.** Measure again before you show a figure./ if $. == 1' || return
  without "$1/docs/decisions/README.md" \
    's/^(?=\| \| decision \|)/These are the reasons of Idem, the project that this one was made from. Some speak of services and pages that are not here.\n\n/'
}

# Until the first release, documents and migrations may change: no client and no database has them.
nothing_is_released() { # folder
  rm -r "$1/openapi/released" "$1/tests/upgrade/BASE"
  printf '# Changelog\n\nThe format follows [Keep a Changelog](https://keepachangelog.com/en/1.1.0/).\n\n## Unreleased\n' >"$1/CHANGELOG.md"
}
