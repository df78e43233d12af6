//! `./dev add-service` and `./dev drop`, tried on a copy of this checkout: a service is its folder, and few lines outside of it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder that is removed at the end.
struct Copy(PathBuf);

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The output of a shell command in a folder. Panics if the command fails.
fn run(folder: &Path, command: &str) -> String {
    // Settings of this run name its servers and folders.
    let mut shell = Command::new("sh");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("IDEM_")) {
        shell.env_remove(name);
    }
    let output = shell.args(["-ec", command]).current_dir(folder).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_new_service_touches_at_most_ten_files_outside_its_folder_and_leaves_nothing_when_it_is_dropped() {
    // The owner of another project may have deleted the skeleton, or use every port.
    if services::SKELETON.is_empty() || services::ALL.len() >= 8 {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let copy = Copy(std::env::temp_dir().join(format!("idem-new-service-{}", std::process::id())));
    std::fs::create_dir(&copy.0).unwrap();
    let folder = copy.0.display();
    run(
        &root,
        &format!(
            "git ls-files -co --exclude-standard | while IFS= read -r file; do [ ! -e \"$file\" ] || echo \"$file\"; done | tar -T - -cf - | tar -xf - -C '{folder}'"
        ),
    );
    run(
        &copy.0,
        "git init -q && git add -A && git -c user.name=test -c user.email=test@localhost commit -qm copy",
    );
    run(&copy.0, "./dev add-service lanterns --no-build");
    let changed = run(&copy.0, "git add -A && git diff --cached --name-only");
    let (own, foreign): (Vec<&str>, Vec<&str>) =
        changed.lines().partition(|file| file.starts_with("services/lanterns/"));
    // A project that was made from another one remembers its services there.
    let foreign: Vec<&str> = foreign.into_iter().filter(|file| *file != "origin.toml").collect();
    assert!(own.len() > 20, "{own:?}");
    assert!(foreign.len() <= 10, "{} files outside: {foreign:#?}", foreign.len());
    // `note` is a column of the skeleton: the table of the service would have the name of its column.
    run(&copy.0, "git -c user.name=test -c user.email=test@localhost commit -qm lanterns");
    run(&copy.0, "if ./dev add-service notes --no-build; then exit 1; fi");
    assert_eq!(run(&copy.0, "git status --porcelain"), "", "a refused name changes nothing");
    let left =
        run(&copy.0, "grep -rli parcel services/lanterns migrations/lanterns openapi/lanterns.json || true");
    assert_eq!(left, "", "these files still have the words of the skeleton");

    run(&copy.0, "./dev drop lanterns --no-build && git add -A");
    let differs = run(&copy.0, "git diff --cached --stat HEAD~");
    assert_eq!(differs, "", "an added service that is dropped leaves nothing behind");
}
