# shellcheck shell=bash
# shellcheck disable=SC2016 # perl expands its own variables
# A new service, made from skeleton/parcels: its files are copied and renamed. skeleton/README.md says what to change afterwards.

SKELETON=skeleton/parcels

# Words that neither the name of a service nor its singular can be: those of Rust, those that PostgreSQL reserves, and names in the code
# of the skeleton.
RESERVED_WORDS=(
  abstract as async await become box break const continue crate 'do' dyn else enum extern final fn for gen if impl in let loop macro match mod
  move mut override priv pub ref return self static struct super trait try type typeof unsafe unsized use virtual where while yield
  all analyse analyze any array asc asymmetric authorization binary both case cast check collate collation column concurrently constraint
  create cross default deferrable desc distinct end except fetch foreign freeze from full grant group having ilike initially inner intersect
  into is isnull join lateral leading left like limit localtime natural not notnull null offset on only or order outer overlaps placing
  primary references right select session similar some symmetric system table tablesample 'then' to trailing union unique user using
  variadic verbose when window with
  action alloc api app body consumer context core demo edge env erasure event header id key kind limit new news note now operation page
  processor reference replay row sequence service sku stack stage state std step stock stream tag tenant test tests time topic tx
)

command_add_service() { # name [--no-build]
  local name='' documents=yes
  while (($#)); do
    case $1 in
      --no-build) documents='' ;;
      -*) usage_error "add-service has no option $1: its only option is --no-build" ;;
      *) name=$1 ;;
    esac
    shift
  done
  require git perl "${TO_BUILD[@]}"
  check_service_name "$name"
  add_service "$ROOT" "$name" || die "the service could not be added: see above, and git status"
  (cd "$ROOT" && lock_versions) || die "cargo could not lock the versions: see above"
  if [[ -n $documents ]]; then
    say "its program prints its document: the build takes some minutes (--no-build leaves that to ./dev openapi $name)"
    (cd "$ROOT" && ./dev openapi "$name") || return
  fi
  say "added: services/$name, which keeps a $(one_of "$name") for each order; git status shows the lines outside of it"
  say "next: skeleton/README.md says what to change; ./dev test -p $name"
}

# Refuses a name whose crate, files, types or words something else here has already.
check_service_name() { # service
  local service=$1 one word path
  [[ $service =~ ^[a-z]{3,20}$ ]] || usage_error "the service is '$service': its name has 3 to 20 small letters, such as seats or shipping"
  one=$(one_of "$service")
  for word in "$service" "$one"; do
    [[ " ${RESERVED_WORDS[*]} " != *" $word "* ]] ||
      usage_error "the service is '$service': '$word' means something else in Rust, in PostgreSQL or in the code here; take another name"
    for path in "$word" "services/$word" "skeleton/$word" "shared/$word" "tools/$word" "tests/$word" "migrations/$word"; do
      [[ ! -e $ROOT/$path ]] || usage_error "the service is '$service': there is already $path"
    done
    ! grep -qEx "name = \"(idem-)?$word\"" "$ROOT/Cargo.lock" || usage_error "the service is '$service': there is already a crate $word"
    ! grep -qE "^  $word:" "$ROOT"/docker-compose*.yml || usage_error "the service is '$service': there is already a container $word"
  done
  ! port_offset "$service" >/dev/null || usage_error "the service is '$service': there is already a part of that name"
  ! grep -rqw "$(title_of "$one")Id" "$ROOT/shared/contracts/src" ||
    usage_error "the service is '$service': another service has the type $(title_of "$one")Id"
  [[ -e $ROOT/$SKELETON ]] || die "there is no $SKELETON to copy"
  free_port "$ROOT" >/dev/null || die "there is no free port: services have 1 to 9, and those beside them have theirs"
}

# The singular of the name of a service, or the name itself, such as of shipping.
one_of() {
  case $1 in
    *ies) echo "${1%ies}y" ;;
    *sses | *xes | *ches | *shes) echo "${1%es}" ;;
    *ss | *us | *is) echo "$1" ;;
    *s) echo "${1%s}" ;;
    *) echo "$1" ;;
  esac
}

# The word with a capital letter.
title_of() { perl -e 'print ucfirst shift' "$1"; }

# The first port that no service has.
free_port() { # checkout
  local port
  for port in 5 6 7 8 9 1 2 3; do
    grep -qx "port = $port" "$1"/services/*/service.toml || { echo "$port" && return; }
  done
  return 1
}

# Writes the files of the service first, so that nothing else has changed if that fails.
add_service() { # checkout service
  if copy_skeleton "$@" && tell_the_others "$@"; then return; fi
  rm -rf "${1:?}/services/${2:?}" "$1/migrations/$2" "$1/openapi/$2.json"
  return 1
}

copy_skeleton() { # checkout service
  local checkout=$1 service=$2 folder=$1/services/$2 migrations=$1/migrations/$2 port
  port=$(free_port "$checkout") &&
    cp -R "$checkout/$SKELETON" "$folder" &&
    mv "$folder/migrations" "$migrations" &&
    rename_parcels "$folder" "$service" "$port" && rename_parcels "$migrations" "$service" "$port" &&
    perl -pi -e 's|"migrations"|"../../migrations/'"$service"'"|; s|"\.\./openapi\.json"|"../../../openapi/'"$service"'.json"|' "$folder/src/lib.rs" &&
    # Until ./dev openapi writes it: the words in it are renamed, but not in their order.
    mv "$folder/openapi.json" "$checkout/openapi/$service.json" &&
    find "$folder" -name '*.rs' -exec rustfmt --edition 2024 --config-path "$checkout" {} +
}

# Renames files and words, and moves the port.
rename_parcels() { # folder service port
  local path
  find "$1" -depth -name '*parcel*' | while IFS= read -r path; do
    mv "$path" "$(dirname "$path")/$(basename "$path" | rename_words "$2")" || exit
  done || return
  find "$1" -type f -print0 | while IFS= read -r -d '' path; do
    rename_words "$2" <"$path" | perl -pe 's/\b([89]0)85\b/${1}8'"$3"'/g; s/^port = \K5$/'"$3"'/' >"$path.new" && mv "$path.new" "$path" || exit
  done
}

rename_words() { # service; reads and writes
  MANY=$1 ONE=$(one_of "$1") perl -pe '
    s/\b([Aa])([ _]parcel)/$1n$2/g if $ENV{ONE} =~ /^[aeiou]/;
    s/(parcel)(s?)/$2 ? $ENV{MANY} : $ENV{ONE}/ge;
    s/(Parcel)(s?)/ucfirst($2 ? $ENV{MANY} : $ENV{ONE})/ge;
    s/(PARCEL)(S?)/uc($2 ? $ENV{MANY} : $ENV{ONE})/ge;
  '
}

# The lines outside of its folder, where a format has no way to find it. A project that was made from this one remembers its services.
tell_the_others() { # checkout service
  local checkout=$1 service=$2 folder=$1/services/$2
  edit_lines "$checkout/docker-compose.yml" 's|^|  - services/'"$service"'/compose.yml\n| if m|^  - services/| and !$told++' &&
    edit_lines "$checkout/deploy/prometheus/prometheus.yml" 's|$|\n  - ../../services/'"$service"'/prometheus.yml| if /^scrape_config_files:/' &&
    edit_lines "$checkout/deploy/kubernetes/base/kustomization.yaml" \
      's|^|  - ../../../services/'"$service"'/kubernetes\n| if m|/services/| and !$told++' &&
    edit_lines "$checkout/deploy/kubernetes/autoscaling/kustomization.yaml" \
      's|^|  - ../../../services/'"$service"'/kubernetes/autoscaling\n| if m|/services/| and !$told++' &&
    cat "$folder/problems.md" >>"$checkout/docs/problems.md" && cat "$folder/strategies.md" >>"$checkout/docs/strategies.md" &&
    rm "$folder"/{problems,strategies}.md || return
  [[ ! -e $checkout/origin.toml ]] || edit_lines "$checkout/origin.toml" 's/^services = \[.*\K\]/, "'"$service"'"]/; s/\[, /[/'
}

# Without the network, if the registry's index is here already.
lock_versions() { cargo update --quiet --workspace --offline 2>/dev/null || cargo update --quiet --workspace; }
