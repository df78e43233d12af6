//! `SmallDisk`: a file system of a few hundred megabytes under the data of a PostgreSQL server, which a test fills.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use tokio::process::Command;

use crate::not_run;

/// Room for a new cluster, its WAL, and the rows of a test.
const SIZE: &str = "size=192m";

/// A tmpfs on the folder of the data; unmounted when it is dropped, after its server.
pub struct SmallDisk {
    folder: PathBuf,
}

impl SmallDisk {
    /// Mounts it. `None`, with a note on stderr, without the right to mount.
    pub(crate) async fn mount(folder: &Path) -> Option<Self> {
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", SIZE, "tmpfs"]).arg(folder).output().await;
        if !mount.is_ok_and(|output| output.status.success()) {
            not_run("a file system cannot be mounted without root's rights");
            return None;
        }
        Some(Self { folder: folder.to_owned() })
    }

    /// Writes a file until nothing is left.
    pub fn fill(&self) {
        let mut file = File::create(self.ballast()).unwrap();
        // The last kilobytes in small pieces.
        for size in [1 << 20, 1 << 12] {
            let piece = vec![0; size];
            let error = loop {
                if let Err(error) = file.write_all(&piece) {
                    break error;
                }
            };
            assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
        }
    }

    /// Removes the file.
    pub fn free(&self) {
        fs::remove_file(self.ballast()).unwrap();
    }

    fn ballast(&self) -> PathBuf {
        self.folder.join("ballast")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily, because the server that was killed a moment ago may still have files open.
        let _ = std::process::Command::new("umount").arg("--lazy").arg(&self.folder).status();
    }
}
