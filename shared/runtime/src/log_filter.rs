//! Replaces the filter of the log while the process runs.

use std::path::PathBuf;
use std::time::Duration;
use std::{fs, io, thread};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::reload::Error;

/// The pause between two looks at the file.
const LOOK: Duration = Duration::from_secs(1);

/// A file that contains the filter of the log, in the form of `log.level`. While there is none, or an empty one, `level` counts.
#[derive(Debug)]
pub(crate) struct FilterFile {
    pub(crate) path: PathBuf,
    pub(crate) level: String,
}

impl FilterFile {
    /// Follows the file on a thread of its own, for the rest of the process.
    pub(crate) fn follow(
        self,
        set: impl Fn(EnvFilter) -> Result<(), Error> + Send + 'static,
    ) -> io::Result<()> {
        let work = move || {
            let mut present = self.level.clone();
            loop {
                let wanted = self.read();
                if wanted != present {
                    replace(&wanted, &set);
                    present = wanted;
                }
                thread::sleep(LOOK);
            }
        };
        thread::Builder::new().name("log-filter".to_owned()).spawn(work).map(drop)
    }

    fn read(&self) -> String {
        let text = fs::read_to_string(&self.path).unwrap_or_default();
        if text.trim().is_empty() { self.level.clone() } else { text.trim().to_owned() }
    }
}

fn replace(wanted: &str, set: &impl Fn(EnvFilter) -> Result<(), Error>) {
    match wanted.parse::<EnvFilter>() {
        Ok(filter) => match set(filter) {
            Ok(()) => tracing::info!(filter = wanted, "the filter of the log was replaced"),
            Err(error) => tracing::warn!(%error, "the filter of the log was not replaced"),
        },
        Err(error) => tracing::warn!(%error, filter = wanted, "this is no filter of the log"),
    }
}
