//! `Clock`: the clock of a PostgreSQL server of a test, moved by libfaketime.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::not_run;

/// The clock of one server. It can only be moved forward. Timeouts of sessions do not work under libfaketime.
pub struct Clock {
    /// libfaketime reads the offset here, at every look at the clock.
    file: PathBuf,
    offset: Duration,
}

impl Clock {
    /// A clock that tells the present time, for a server whose files are in this folder. `None` if libfaketime is not installed; the
    /// test then says so, because it proves nothing.
    pub(crate) fn find(folder: &Path) -> Option<(Self, Vec<String>)> {
        let Some(library) = library() else {
            not_run("libfaketime is not installed (apt-get install faketime)");
            return None;
        };
        let clock = Self { file: folder.join("clock"), offset: Duration::ZERO };
        clock.write();
        let variables = [
            ("LD_PRELOAD", library.display().to_string()),
            ("FAKETIME_TIMESTAMP_FILE", clock.file.display().to_string()),
            ("FAKETIME_NO_CACHE", "1".to_owned()),
            ("FAKETIME_DISABLE_SHM", "1".to_owned()),
            // Otherwise waits inside the server would end early.
            ("DONT_FAKE_MONOTONIC", "1".to_owned()),
        ];
        let variables = variables.into_iter().map(|(name, value)| format!("{name}={value}"));
        Some((clock, variables.collect()))
    }

    /// Moves the clock forward, at once and for all sessions.
    pub fn advance(&mut self, by: Duration) {
        self.offset += by;
        self.write();
    }

    /// Replaces the file, because the server may read it meanwhile.
    fn write(&self) {
        let new = self.file.with_extension("new");
        fs::write(&new, format!("+{}\n", self.offset.as_secs())).unwrap();
        fs::rename(new, &self.file).unwrap();
    }
}

/// The variables by which a program of a test has a clock that is behind by so many seconds. `None` without libfaketime, as for a [`Clock`].
pub fn behind(seconds: u32) -> Option<[(&'static str, String); 3]> {
    let library = library().or_else(|| {
        not_run("libfaketime is not installed (apt-get install faketime)");
        None
    })?;
    Some([
        ("LD_PRELOAD", library.display().to_string()),
        ("FAKETIME", format!("-{seconds}")),
        ("DONT_FAKE_MONOTONIC", "1".to_owned()),
    ])
}

/// Where Debian and Fedora install it.
fn library() -> Option<PathBuf> {
    let debian = fs::read_dir("/usr/lib").into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let folders = debian.chain([PathBuf::from("/usr/lib64")]);
    folders.map(|folder| folder.join("faketime/libfaketimeMT.so.1")).find(|file| file.exists())
}
