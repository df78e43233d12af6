# shellcheck shell=bash
# shellcheck disable=SC2016 # perl expands its own variables
# A project of your own, made from this one: docs/template.md. There is no second copy of the code: the files of this checkout are
# copied and renamed, and docs/how-to/a-service.diff is the skeleton of a new service.

command_new() { # folder --name name [--service name]
  local folder='' name='' service=''
  while (($#)); do
    case $1 in
      --name) name=${2:-} && shift ;;
      --service) service=${2:-} && shift ;;
      -*) usage_error "new has no option $1" ;;
      *) folder=$1 ;;
    esac
    shift || usage_error "an option of new lacks its value"
  done
  [[ -n $folder ]] || usage_error "new takes a folder, such as: ./dev new ../tickets --name tickets"
  [[ $name =~ ^[a-z][a-z0-9]*(-[a-z0-9]+)*$ && ${#name} -le 20 ]] ||
    usage_error "--name is '$name': at most 20 of a-z, 0-9 and '-', such as tickets or ticket-shop"
  [[ -z $service || $service =~ ^[a-z]{3,20}$ ]] ||
    usage_error "--service is '$service': 3 to 20 letters, the plural of what the service keeps, such as seats"
  [[ -z $service || -z $(find "$ROOT/services/$service" "$ROOT/shared/$service" "$ROOT/tools/$service" -prune 2>/dev/null) ]] ||
    usage_error "there is already a crate '$service'"
  [[ ! -e $folder || -z $(ls -A "$folder") ]] || die "$folder is not empty"
  mkdir -p "$folder" || die "$folder cannot be made"
  folder=$(cd "$folder" && pwd)
  # Otherwise the copy would be copied, too.
  [[ $folder != "$ROOT"/* ]] || git -C "$ROOT" check-ignore --quiet "$folder" || die "$folder is inside of this checkout: name a folder beside it"
  require git perl
  make_project "$folder" "$name" "$service" || die "the project could not be made: see above"
}

make_project() { # folder name [service]
  local folder=$1 name=$2 service=$3
  copy_checkout "$folder"
  if [[ -n $service ]]; then
    skeleton_of "$service" | git -C "$folder" apply --whitespace=nowarn || return
  fi
  forget_the_template "$folder" && rename_project "$folder" "$name" || return
  (
    cd "$folder" && require "${TO_BUILD[@]}"
    cargo fmt --all && { cargo update --quiet --workspace --offline 2>/dev/null || cargo update --quiet --workspace; }
  ) || return
  if [[ -n $service ]]; then
    # Its document is written by its program.
    echo '{}' >"$folder/openapi/$service.json"
    (cd "$folder" && env -u IDEM_DEV_DIR ./dev openapi "$service") || return
  fi
  release_documents "$folder"
  rm -rf "$folder/.git"
  commit_all "$folder" "$name, made from Idem"
  # Upgrades are tried from the first commit on.
  git -C "$folder" rev-parse HEAD >"$folder/tests/upgrade/BASE"
  commit_all "$folder" "The base of upgrades"
  say "made: $folder"
  say "next: cd $folder && ./dev demo"
}

# The diff of a-service with another name.
skeleton_of() { # service
  MANY=$1 ONE=${1%s} perl -pe '
    s/(parcel)(s?)/$2 ? $ENV{MANY} : $ENV{ONE}/ge;
    s/(Parcel)(s?)/ucfirst($2 ? $ENV{MANY} : $ENV{ONE})/ge;
    s/(PARCEL)(S?)/uc($2 ? $ENV{MANY} : $ENV{ONE})/ge;
  ' "$HOW_TO/a-service.diff"
}

# Removes what only a template needs, and the history of this project.
forget_the_template() { # folder
  local folder=$1
  rm -rf "$folder"/docs/how-to "$folder"/docs/template.md "$folder"/docs/decisions/0041-* "$folder"/tools/dev.d/{copy,how-to,new,template}.sh
  without "$folder/dev" 's/ (copy|how-to|new|template)(?=[ ;])//g if /^for subject in/; $_ = "" if /command_(how_to|new|template) /' &&
    without "$folder/dev" '$_ = "" if /^  \.\/dev (how-to|new|template) / .. /\)$/' &&
    without "$folder/.ci/run" '$_ = "" if /dev (how-to|template)/' &&
    without "$folder/docs/architecture.md" '$_ = "" if /^## How to add …/ .. /^## How to add a field/ and !/^## How to add a field/' &&
    without "$folder/docs/architecture.md" 's/The steps of \[[a-z-]+\]\([^)]*\)/The steps/' &&
    without "$folder/docs/decisions/README.md" '$_ = "" if /\(0041-/' &&
    without "$folder/CONTRIBUTING.md" '$_ = "" if /^\.\/dev (how-to|template) /; s/; of `how-to` and `template` it runs the short forms//' &&
    without "$folder/README.md" '$_ = "" if /docs\/template\.md/; s/, a diff for each//; s/#how-to-add-\)/#how-to-add-a-field)/'
}

# Edits a file line by line. Fails if nothing changes: the file is then not as this script expects it.
without() { # file perl
  cp "$1" "$1.before"
  perl -CSD -pi -e "use utf8; $2" "$1"
  ! cmp -s "$1" "$1.before" || { say "tools/dev.d/new.sh finds nothing to remove in $1" && return 1; }
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

# The documents of the first release. Its changelog names their checksums, as `./dev check` asks for each change of them.
release_documents() { # folder
  local file
  cp "$1"/openapi/*.json "$1/openapi/released/"
  {
    printf '# Changelog\n\nThe format follows [Keep a Changelog](https://keepachangelog.com/en/1.1.0/).\n\n## Unreleased\n\n### Added\n\n'
    for file in "$1"/openapi/released/*.json; do
      printf -- '- `openapi/released/%s`, checksum %s.\n' "${file##*/}" "$(cksum <"$file" | cut -d ' ' -f 1)"
    done
  } >"$1/CHANGELOG.md"
}
