# shellcheck shell=bash
# shellcheck disable=SC2016 # perl expands its own variables
# A new service, made from skeleton/parcels: its files are copied and renamed. skeleton/README.md says what to change afterwards.

SKELETON=skeleton/parcels

# Names of a table, of a Rust module and of variables that the skeleton cannot have: keywords, and words that its code has already.
RESERVED_WORDS=(
  break const crate enum extern impl import let loop macro match mod move ref return static struct super trait type use yield
  array case cast check collation column constraint default end grant group join left limit offset order right select table union user window
  event id key operation processor sku step stock tag
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
  say "added: services/$name; git status shows the lines outside of it"
  say "next: skeleton/README.md says what to change; ./dev test -p $name"
}

# Refuses a name whose crate, files, types or words something else here has already.
check_service_name() { # service
  local service=$1 one path
  [[ $service =~ ^[a-z]{3,20}$ ]] || usage_error "the service is '$service': its name has 3 to 20 small letters, such as seats or shipping"
  one=$(one_of "$service")
  [[ " ${RESERVED_WORDS[*]} " != *" $one "* && " ${RESERVED_WORDS[*]} " != *" $service "* ]] ||
    usage_error "the service is '$service': '$one' means something else in Rust, in PostgreSQL or in the code here; take another name"
  for path in "$service" "services/$service" "skeleton/$service" "shared/$service" "tools/$service" "migrations/$service"; do
    [[ ! -e $ROOT/$path ]] || usage_error "the service is '$service': there is already $path"
  done
  ! grep -qFx "name = \"$service\"" "$ROOT/Cargo.lock" || usage_error "the service is '$service': there is already a crate of that name"
  ! port_offset "$service" >/dev/null || usage_error "the service is '$service': there is already a part of that name"
  ! grep -rqw "$(title_of "$one")Id" "$ROOT/shared/contracts/src" ||
    usage_error "the service is '$service': another service has the type $(title_of "$one")Id"
  free_port "$ROOT" >/dev/null || die "there is no free port from 5 to 9"
}

# The singular of the name of a service, or the name itself, such as of shipping. A word with a capital letter.
one_of() {
  case $1 in
    *ies) echo "${1%ies}y" ;;
    *ss | *us | *is) echo "$1" ;;
    *s) echo "${1%s}" ;;
    *) echo "$1" ;;
  esac
}
title_of() { perl -e 'print ucfirst shift' "$1"; }

# The first port that no service has; 4 is that of the provider.
free_port() { # checkout
  local port
  for port in 5 6 7 8 9; do
    grep -qx "port = $port" "$1"/services/*/service.toml || { echo "$port" && return; }
  done
  return 1
}

add_service() { # checkout service
  local checkout=$1 service=$2 folder=$1/services/$2 port
  port=$(free_port "$checkout") || return
  cp -R "$checkout/$SKELETON" "$folder"
  mkdir "$checkout/migrations/$service"
  mv "$folder"/migrations/* "$checkout/migrations/$service/$(date -u +%Y-%m-%d-%H%M%S)_$service" && rmdir "$folder/migrations"
  rename_parcels "$folder" "$service" "$port" && rename_parcels "$checkout/migrations/$service" "$service" "$port" || return
  perl -pi -e 's|"migrations"|"../../migrations/'"$service"'"|; s|"\.\./openapi\.json"|"../../../openapi/'"$service"'.json"|' "$folder/src/lib.rs"
  # Until ./dev openapi writes it: the words in it are renamed, but not in their order.
  mv "$folder/openapi.json" "$checkout/openapi/$service.json"
  tell_the_others "$checkout" "$service" && (cd "$checkout" && cargo fmt --package "$service" && rustfmt "services/$service"/e2e/*.rs)
}

# Renames files and words, and moves the port.
rename_parcels() { # folder service port
  local path
  find "$1" -depth -name '*parcel*' | while IFS= read -r path; do
    mv "$path" "$(dirname "$path")/$(basename "$path" | rename_words "$2")"
  done
  find "$1" -type f -print0 | while IFS= read -r -d '' path; do
    rename_words "$2" <"$path" | perl -pe 's/\b([89]0)85\b/${1}8'"$3"'/g; s/^port = \K5$/'"$3"'/' >"$path.new" && mv "$path.new" "$path"
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

# The lines outside of its folder, where a format has no way to find it.
tell_the_others() { # checkout service
  local checkout=$1 service=$2 folder=$1/services/$2
  COMPOSE=$(<"$folder/compose.yml") edit_lines "$checkout/docker-compose.yml" 's/^/$ENV{COMPOSE}\n\n/ if /^volumes:/' &&
    edit_lines "$checkout/docker-compose.observability.yml" 's/^/  '"$service"': { <<: *observed }\n/ if /^  \w+: \{ <<: \*observed \}/ and !$told++' &&
    edit_lines "$checkout/deploy/kubernetes/base/kustomization.yaml" \
      's|^|  - ../../../services/'"$service"'/kubernetes\n| if m|/services/| and !$told++' &&
    edit_lines "$checkout/deploy/kubernetes/autoscaling/kustomization.yaml" \
      's|^|  - ../../../services/'"$service"'/kubernetes/autoscaling\n| if m|/services/| and !$told++' || return
  cat "$folder/problems.md" >>"$checkout/docs/problems.md"
  rm "$folder/compose.yml" "$folder/problems.md"
}

# Without the network, if the registry's index is here already.
lock_versions() { cargo update --quiet --workspace --offline 2>/dev/null || cargo update --quiet --workspace; }
