# shellcheck shell=bash
# Copies of this checkout.

# Copies the files of this checkout as they are, with changes that are not committed, into a new repository with one commit.
copy_checkout() { # folder
  local folder=$1
  git -C "$ROOT" rev-parse --git-dir >/dev/null 2>&1 || die "this is not a git checkout: git names the files to copy"
  rm -rf "$folder" && mkdir -p "$folder"
  (
    cd "$ROOT"
    git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
      [[ ! -e $file ]] || printf '%s\0' "$file"
    done | tar --null -T - -cf - | tar -xf - -C "$folder"
  ) || die "the checkout could not be copied"
  commit_all "$folder" "A copy"
}

# Commits everything in a new repository.
commit_all() { # folder message
  git -C "$1" init --quiet
  git -C "$1" add --all
  commits_as_dev "$1" commit --quiet --message "$2"
}

# Runs a command of git that commits, whoever the person is.
commits_as_dev() { # folder command...
  git -C "$1" -c user.name=dev -c user.email=dev@localhost -c commit.gpgsign=false "${@:2}"
}

# Applies a diff of docs/how-to. It names above its first hunk what it removes whole, because the contents would say nothing.
apply_how_to() { # folder name options of git apply...
  local folder=$1 name=$2 path
  shift 2
  while IFS= read -r path; do
    rm -r "${folder:?}/$path" || return
  done < <(sed -n 's/^removed: //p' "$HOW_TO/$name.diff")
  git -C "$folder" apply "$@" "$HOW_TO/$name.diff"
}

# Runs a command on the copy as it was at the tag `copied`, and picks its changes. Where both sides changed a line, their words are merged.
pick_by_words() { # folder title command...
  local folder=$1 title=$2
  shift 2
  git -C "$folder" switch --quiet --detach copied && "$@" && commit_all "$folder" "$title" && git -C "$folder" tag --force picked >/dev/null &&
    git -C "$folder" switch --quiet - || return
  printf '* merge=words\n' >"$folder/.git/info/attributes"
  git -C "$folder" config merge.words.driver "'$ROOT/tools/dev.d/merge-words.pl' %A %O %B"
  commits_as_dev "$folder" cherry-pick picked >/dev/null
}

# Cargo takes crates of one name and one version for the same, if they are built in one target folder. A version of its own keeps the
# crates of a copy apart from those of this checkout.
set_own_version() { # folder
  (cd "$1" && perl -pi -e 's/^version = "\d+\.\d+\.\K\d+(?="$)/999/' Cargo.toml && cargo update --quiet --workspace --offline)
}
