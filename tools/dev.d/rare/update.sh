# shellcheck shell=bash
# Takes over what the origin, the project that this one was made from, has learnt since then: docs/template.md. Its ./dev new makes the
# project twice, from the older and from the newer commit, with the answers in origin.toml. git merges the difference into this checkout.
#
#   .dev/update/origin/         a clone of the origin: git log in it says why something changed
#   .dev/update/older, newer/   the project as ./dev new makes it from each commit

UPDATE=$IDEM_DEV_DIR/update

command_update() { # origin [--to commit]
  local origin='' to=HEAD from conflicts
  while (($#)); do
    case $1 in
      --to) to=${2:-} && shift ;;
      -*) usage_error "update has no option $1: its only option is --to COMMIT" ;;
      *) origin=$1 ;;
    esac
    shift || usage_error "--to lacks its commit"
  done
  [[ -n $origin ]] || usage_error "update takes a clone of the origin, or its address, such as: ./dev update ../origin"
  require git "${TO_BUILD[@]}"
  [[ -e $ROOT/origin.toml ]] || die "there is no origin.toml: only a project that ./dev new made has an origin"
  [[ $(git -C "$ROOT" rev-parse --show-toplevel 2>/dev/null) == "$(cd "$ROOT" && pwd -P)" ]] || die "$ROOT is not the top folder of a git repository"
  [[ -z $(git -C "$ROOT" status --porcelain) ]] || die "commit your changes first: git status shows them"
  rm -rf "${UPDATE:?}" && mkdir -p "$UPDATE"
  git clone --quiet "$origin" "$UPDATE/origin" || die "$origin could not be cloned: see above"
  from=$(commit_of_origin "$(answer_of commit)") && to=$(commit_of_origin "$to") || exit
  git -C "$UPDATE/origin" merge-base --is-ancestor "$from" "$to" || die "$to does not follow $from, the commit in origin.toml"
  [[ $from != "$to" ]] || { say "nothing is newer than $from, the commit in origin.toml" && return; }
  { make_base older "$from" && make_base newer "$to" && combine_bases "$to"; } || die "the project could not be made again: see above"
  conflicts=$(merge_bases) || die "git could not merge: see above; git reset --hard takes back what it has merged"
  print_update "$from" "$to" "$conflicts"
  [[ -z $conflicts ]]
}

# The words of one answer.
answer_of() { sed -n "s/^$1 = //p" "$ROOT/origin.toml" | tr -d '[],"'; }

commit_of_origin() { # commit
  git -C "$UPDATE/origin" rev-parse --verify --quiet "$1^{commit}" || die "the origin has no commit '$1'"
}

make_base() { # older|newer commit
  local service arguments=(--name "$(answer_of name)" --no-build)
  for service in $(answer_of services); do arguments+=(--service "$service"); done
  for service in $(answer_of without); do arguments+=(--without "$service"); done
  git -C "$UPDATE/origin" worktree add --quiet --detach "$UPDATE/made-by-$1" "$2" &&
    step "making the project from $2" "$UPDATE/made-by-$1/dev" new "$UPDATE/$1" "${arguments[@]}"
}

# One repository with both: the newer one as a change of the older one.
combine_bases() { # to
  git -C "$UPDATE/newer" fetch --quiet "$UPDATE/older" HEAD &&
    git -C "$UPDATE/newer" reset --quiet --soft FETCH_HEAD &&
    commit_all "$UPDATE/newer" "the origin at $1"
}

# Prints the files with conflicts. Of files that programs write, the project keeps its own, and deleted ones stay deleted.
merge_bases() {
  local file
  git -C "$ROOT" fetch --quiet "$UPDATE/newer" HEAD || return
  git -C "$ROOT" cherry-pick --no-commit FETCH_HEAD >&2 || [[ -n $(unmerged) ]] || return
  unmerged Cargo.lock ':(glob)openapi/*.json' ':(glob)services/*/examples.json' | while IFS= read -r file; do
    if git -C "$ROOT" cat-file -e "HEAD:$file" 2>/dev/null; then
      git -C "$ROOT" checkout --quiet HEAD -- "$file" || exit
    else
      git -C "$ROOT" rm --quiet --force -- "$file" || exit
    fi
  done || return
  unmerged
}

unmerged() { git -C "$ROOT" diff --name-only --diff-filter=U -- "$@"; } # paths...

# A person must look at these: git cannot know whether they fit.
print_update() { # from to conflicts
  local added edited
  added=$(migrations_of_update A)
  edited=$(migrations_of_update MD)
  print_part "$(git -C "$UPDATE/origin" diff --unified=0 "$1" "$2" -- CHANGELOG.md | sed -n '/^+++/!s/^+//p')" "The origin's changelog says:"
  print_part "$added" "New migrations, which your databases get by \`migrate\`:"
  print_part "$edited" "Migrations that the origin edited or removed. A database that has them already refuses another form: keep yours by git checkout HEAD -- FILE:"
  print_part "$3" "Conflicts, to mend and to git add:"
  say "The update to $2 is in this checkout, without a commit. Then:
  ./dev openapi, which writes the documents and Cargo.lock; ./dev check; ./dev test; git commit
git reset --hard takes the update back."
}

migrations_of_update() { # filter
  git -C "$UPDATE/newer" diff --name-only --no-renames --diff-filter="$1" HEAD~ HEAD -- '*migrations/*/up.sql' ':!skeleton'
}

print_part() { # text title
  [[ -z $1 ]] || say "$2"$'\n'"$(sed '/./s/^/  /' <<<"$1")"$'\n'
}
