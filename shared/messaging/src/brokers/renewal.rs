//! Notices that a file of a certificate or of a secret was renewed.
//!
//! The client library reads files only when a client is made. The owner of a client makes another one.

use std::fs;
use std::future::pending;
use std::path::PathBuf;
use std::time::Duration;

use super::Brokers;
use crate::admin::blocking;

/// The pause between two looks at the files.
const LOOK: Duration = Duration::from_secs(1);

/// The contents of the files of the properties, when a client was made. It cannot be printed, because one may be a secret.
pub struct FileWatch {
    brokers: Brokers,
    seen: Contents,
}

/// The bytes of each file; `None` if it cannot be read.
type Contents = Vec<Option<Vec<u8>>>;

impl Brokers {
    /// Reads the files. Call it before the client is made that reads them, too.
    pub fn watch_files(&self) -> FileWatch {
        FileWatch { brokers: self.clone(), seen: contents(&self.files()) }
    }

    fn files(&self) -> Vec<PathBuf> {
        self.properties.files().map(|(_, path)| path.to_owned()).collect()
    }
}

impl FileWatch {
    /// Waits until a file has other contents than before, and all of them can be used. Without files it never ends.
    pub async fn renewed(&mut self) {
        let files = self.brokers.files();
        if files.is_empty() {
            return pending().await;
        }
        loop {
            tokio::time::sleep(LOOK).await;
            let files = files.clone();
            let present = blocking(move || Ok(contents(&files))).await.unwrap_or_default();
            if present == self.seen {
                continue;
            }
            self.seen = present;
            let brokers = self.brokers.clone();
            match blocking(move || Ok(brokers.check_files()?)).await {
                Ok(()) => {
                    return tracing::info!(target: "kafka", "a file of the Kafka client's properties was renewed");
                }
                // Files are often replaced one after the other: a key a moment after its certificate.
                Err(error) => {
                    tracing::warn!(target: "kafka", %error, "a file was replaced and cannot be used yet");
                }
            }
        }
    }
}

fn contents(files: &[PathBuf]) -> Contents {
    files.iter().map(|path| fs::read(path).ok()).collect()
}
