//! `Archive`: a folder with the rows of dropped days, one compressed file of JSON lines and one manifest for each day.
//!
//! A day may be dropped only with an archive that was read back. A day has a second archive if a row was committed after the
//! first one was written; the second one has all rows that were there then.

mod file;
mod line;
mod manifest;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use database::Database;
use diesel::define_sql_function;
use diesel_async::RunQueryDsl;
use tokio_util::sync::CancellationToken;

use super::RetentionError;
use super::days::{self, Day};
use file::{RowWriter, TEMPORARY, TemporaryFile, read_back};
pub(super) use manifest::Manifest;
use manifest::stem;

define_sql_function! {
    /// The name of the database.
    fn current_database() -> Text;
}

define_sql_function! {
    /// The server, its timeline and the database.
    fn outbox_server() -> Text;
}

/// The number of rows that are loaded at a time: at most 25 MiB of payload.
const ROWS_PER_READ: i64 = 100;

/// The archive of one database. Several databases may share a folder.
pub(super) struct Archive {
    folder: PathBuf,
    database: String,
    server: String,
}

impl Archive {
    /// Opens the folder, which must exist. Removes the unfinished files of processes that died.
    pub(super) async fn open(database: &Database, folder: &Path) -> Result<Self, RetentionError> {
        let names = diesel::select((current_database(), outbox_server()));
        let mut connection = database.connection().await?;
        let (name, server): (String, String) =
            names.get_result(&mut connection).await.map_err(database::Error::from)?;
        let archive = Self { folder: folder.to_owned(), database: name, server };
        let left = format!(".{}-outbox-", archive.database);
        let swept = archive.clone_folder();
        archive.blocking(move || sweep(&swept, &left)).await?;
        Ok(archive)
    }

    /// The complete archives of a day: those that agree with their manifest.
    pub(super) async fn complete(&self, day: &Day) -> Result<Vec<Manifest>, RetentionError> {
        let (folder, stem) = (self.clone_folder(), stem(&self.database, day));
        let found = self.blocking(move || manifests(&folder, &stem)).await?;
        let mut complete = Vec::new();
        for manifest in found.into_iter().filter(|manifest| manifest.server == self.server) {
            match self.ids(&manifest).await {
                Ok(_) => complete.push(manifest),
                Err(error) => tracing::error!(%error, "ArchiveDamaged: another one is written"),
            }
        }
        Ok(complete)
    }

    /// Writes the rows of a day, reads them back, and writes the manifest. `None` if it was stopped.
    pub(super) async fn write(
        &self,
        database: &Database,
        day: &Day,
        stop: &CancellationToken,
    ) -> Result<Option<Manifest>, RetentionError> {
        let (folder, stem) = (self.clone_folder(), stem(&self.database, day));
        let mut writer = self.blocking(move || RowWriter::create(&folder, &stem)).await?;
        loop {
            let rows = days::load(database, day, writer.position(), ROWS_PER_READ).await?;
            if rows.is_empty() {
                break;
            }
            if stop.is_cancelled() {
                return Ok(None);
            }
            writer = self.blocking(move || writer.append(&rows).map(|()| writer)).await?;
        }
        let (temporary, extent, sha256) = self.blocking(move || writer.finish()).await?;
        let manifest = Manifest::new(&self.database, &self.server, day, extent, sha256);
        let name = manifest.file.clone();
        self.blocking(move || temporary.rename(&name)).await?;
        self.ids(&manifest).await?;
        self.write_manifest(&manifest, day).await?;
        tracing::info!(day = %day.date, rows = extent.rows, file = manifest.file, "OutboxDayArchived");
        Ok(Some(manifest))
    }

    /// Reads an archive back, and returns its ids. Fails if it differs from its manifest.
    pub(super) async fn ids(&self, manifest: &Manifest) -> Result<Vec<i64>, RetentionError> {
        let file = self.folder.join(&manifest.file);
        let read = file.clone();
        let found = self.blocking(move || read_back(&read)).await?;
        let damaged = |reason: String| RetentionError::Damaged { file: file.clone(), reason };
        if found.sha256 != manifest.sha256 {
            return Err(damaged(format!("its SHA-256 is {}", found.sha256)));
        }
        if found.extent() != manifest.extent() {
            return Err(damaged(format!("it has {:?}", found.extent())));
        }
        Ok(found.ids)
    }

    async fn write_manifest(&self, manifest: &Manifest, day: &Day) -> Result<(), RetentionError> {
        let (folder, stem, name) = (self.clone_folder(), stem(&self.database, day), manifest.name());
        let text = format!("{:#}\n", serde_json::json!(manifest));
        self.blocking(move || TemporaryFile::write(&folder, &stem, text.as_bytes())?.rename(&name)).await
    }

    /// Runs work with files on a thread that may block.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Result<T, RetentionError> {
        let done =
            tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)));
        done.map_err(|error| RetentionError::Archive { folder: self.folder.clone(), error })
    }

    fn clone_folder(&self) -> PathBuf {
        self.folder.clone()
    }
}

/// Removes unfinished files whose names begin so.
fn sweep(folder: &Path, start: &str) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.starts_with(start) && name.ends_with(TEMPORARY) {
            fs::remove_file(folder.join(name))?;
        }
    }
    Ok(())
}

/// Reads the manifests of a day. One that cannot be read does not count.
fn manifests(folder: &Path, stem: &str) -> io::Result<Vec<Manifest>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.starts_with(stem)
            && Path::new(&name).extension().is_some_and(|end| end == "json")
            && let Ok(manifest) = serde_json::from_slice(&fs::read(folder.join(&name))?)
        {
            found.push(manifest);
        }
    }
    Ok(found)
}
