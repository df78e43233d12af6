# shellcheck shell=bash
# Copies of this checkout.

# Copies this checkout into a new repository with one commit.
copy_checkout() { # folder
  git -C "$ROOT" rev-parse --git-dir >/dev/null 2>&1 || die "this is not a git checkout: git names the files to copy"
  rm -rf "$1" && mkdir -p "$1"
  copy_files "$1" || die "the checkout could not be copied"
  commit_all "$1" "A copy"
}

# Copies this checkout with its history: what has no commit yet is the newest commit of the clone.
clone_checkout() { # folder
  git clone --quiet "$ROOT" "$1" && git -C "$1" rm --quiet -r . && copy_files "$1" && commit_all "$1" "The checkout"
}

# Copies the files as they are, with changes that have no commit.
copy_files() ( # folder
  cd "$ROOT" || exit
  git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
    [[ ! -e $file ]] || printf '%s\0' "$file"
  done | tar --null -T - -cf - | tar -xf - -C "$1"
)

# Commits everything, in a repository that it makes if there is none.
commit_all() { # folder message
  git -C "$1" init --quiet && git -C "$1" add --all &&
    git -C "$1" -c user.name=dev -c user.email=dev@localhost -c commit.gpgsign=false commit --quiet --allow-empty --message "$2"
}

# Cargo takes crates of one name and one version for the same, if they are built in one target folder. A version of its own keeps the
# crates of a copy apart from those of this checkout.
set_own_version() { # folder
  (cd "$1" && perl -pi -e 's/^version = "\d+\.\d+\.\K\d+(?="$)/999/' Cargo.toml && cargo update --quiet --workspace --offline)
}

# Edits a file line by line. Fails if nothing changes: the file is then not as this script expects it.
edit_lines() { # file perl
  cp "$1" "$1.before"
  perl -CSD -pi -e "use utf8; $2" "$1"
  ! cmp -s "$1" "$1.before" || { say "tools/dev.d finds nothing to change in $1" && return 1; }
  rm "$1.before"
}
