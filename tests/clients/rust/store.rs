//! The store of a program: a folder with a file for each command, and one for each outcome.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::fs::{self, File};
use uuid::Uuid;

/// The commands of one service. The programs of a machine may share the folder.
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The folder exists, and is on one file system.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Stores the value, unless there is one. Returns the stored one, which survives a crash from then on.
    pub(crate) async fn put<T>(&self, kind: &str, name: &str, value: &T) -> io::Result<T>
    where
        T: Serialize + DeserializeOwned,
    {
        let whole = self.folder.join(format!("new-{}", Uuid::new_v4()));
        // Not by `File::write_all`: `File::sync_all` succeeds after a write that failed, such as on a full disk.
        fs::write(&whole, serde_json::to_vec(value)?).await?;
        synced(&whole).await?;
        // A link is made completely or not at all, and never replaces a file.
        let stored = self.file(kind, name);
        fs::hard_link(&whole, &stored).await.or_else(unless(ErrorKind::AlreadyExists))?;
        fs::remove_file(&whole).await?;
        synced(&self.folder).await?;
        read(&stored).await
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, kind: &str, name: &str) -> io::Result<Option<T>> {
        find(&self.file(kind, name)).await
    }

    pub(crate) async fn all<T: DeserializeOwned>(&self, kind: &str) -> io::Result<Vec<T>> {
        let (mut all, mut files) = (Vec::new(), fs::read_dir(&self.folder).await?);
        while let Some(file) = files.next_entry().await? {
            if file.file_name().to_string_lossy().starts_with(kind) {
                all.extend(find::<T>(&file.path()).await?); // another program may have deleted it
            }
        }
        Ok(all)
    }

    pub(crate) async fn delete(&self, kind: &str, name: &str) -> io::Result<()> {
        fs::remove_file(self.file(kind, name)).await.or_else(unless(ErrorKind::NotFound))?;
        synced(&self.folder).await
    }

    /// A name may have characters that a file's name may not have.
    fn file(&self, kind: &str, name: &str) -> PathBuf {
        self.folder.join(format!("{kind}-{}", Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes())))
    }
}

/// Returns when the file, or the names in the folder, are on the disk.
async fn synced(path: &Path) -> io::Result<()> {
    File::open(path).await?.sync_all().await
}

async fn read<T: DeserializeOwned>(file: &Path) -> io::Result<T> {
    Ok(serde_json::from_slice(&fs::read(file).await?)?)
}

async fn find<T: DeserializeOwned>(file: &Path) -> io::Result<Option<T>> {
    read(file).await.map(Some).or_else(unless(ErrorKind::NotFound))
}

/// Takes an error of this kind for success.
fn unless<T: Default>(kind: ErrorKind) -> impl FnOnce(io::Error) -> io::Result<T> {
    move |error| if error.kind() == kind { Ok(T::default()) } else { Err(error) }
}
