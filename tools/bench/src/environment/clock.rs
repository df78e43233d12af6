//! `Clock`: the clock of PostgreSQL, which `./dev bench --only days` runs under libfaketime.

use std::path::PathBuf;
use std::time::Duration;

use super::Session;
use harness::{Context, Result, until};

/// libfaketime reads the clock's file again within a second.
const LIMIT: Duration = Duration::from_secs(10);

/// It moves forward, by whole days.
pub(crate) struct Clock {
    file: PathBuf,
    server: String,
    days: u32,
}

impl Clock {
    pub(super) fn new(file: PathBuf, server: String) -> Self {
        Self { file, server, days: 0 }
    }

    /// Moves the clock by a day. Returns once a new session sees it.
    pub(crate) async fn advance_a_day(&mut self) -> Result<()> {
        let before = Session::open(&self.server).await?.now().await?;
        self.days += 1;
        let new = self.file.with_extension("new");
        std::fs::write(&new, format!("+{}d\n", self.days)).context("write the clock's file")?;
        std::fs::rename(&new, &self.file).context("replace the clock's file")?;
        until("the clock of PostgreSQL has moved", LIMIT, "the clock's file", async || {
            let now = Session::open(&self.server).await?.now().await?;
            Ok(if now - before > 80_000.0 { Ok(()) } else { Err(format!("{now}")) })
        })
        .await
    }
}
