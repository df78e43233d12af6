//! Writes and reads the files of an archive. Everything here blocks.
//!
//! A file gets its name once it is on the disk. A process that dies before leaves a file that begins with a dot, which the
//! next archive removes.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::super::days::Extent;
use super::line::write_line;
use crate::outbox_event::StoredEvent;

/// The end of the names of files that are being written.
pub(super) const TEMPORARY: &str = ".tmp";

/// A file without its final name. It is removed if it is dropped before it gets one.
pub(super) struct TemporaryFile {
    path: PathBuf,
}

impl TemporaryFile {
    fn create(folder: &Path, stem: &str) -> io::Result<(Self, File)> {
        let path = folder.join(format!(".{stem}-{}{TEMPORARY}", Uuid::new_v4().simple()));
        let file = File::create_new(&path)?;
        Ok((Self { path }, file))
    }

    /// Gives the file its name, and returns once the name is on the disk. The file must be on the disk already.
    pub(super) fn rename(self, name: &str) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::rename(&self.path, folder.join(name))?;
        File::open(folder)?.sync_all()
    }

    /// Writes a whole file.
    pub(super) fn write(folder: &Path, stem: &str, bytes: &[u8]) -> io::Result<Self> {
        let (temporary, mut file) = Self::create(folder, stem)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        Ok(temporary)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // After `rename`, there is nothing to remove.
        let _ = fs::remove_file(&self.path);
    }
}

/// Writes rows as compressed lines.
pub(super) struct RowWriter {
    temporary: TemporaryFile,
    lines: GzEncoder<Hashing<BufWriter<File>>>,
    extent: Extent,
}

impl RowWriter {
    pub(super) fn create(folder: &Path, stem: &str) -> io::Result<Self> {
        let (temporary, file) = TemporaryFile::create(folder, stem)?;
        let file = Hashing { inner: BufWriter::new(file), hash: Sha256::new() };
        let extent = Extent { rows: 0, first_id: None, last_id: None };
        // Without a time in the header: the same rows give the same bytes.
        Ok(Self { temporary, lines: GzEncoder::new(file, Compression::default()), extent })
    }

    /// Appends rows, which must be in the order of their ids.
    pub(super) fn append(&mut self, rows: &[StoredEvent]) -> io::Result<()> {
        for row in rows {
            write_line(&mut self.lines, row)?;
            self.extent.rows += 1;
            self.extent.first_id = self.extent.first_id.or(Some(row.id));
            self.extent.last_id = Some(row.id);
        }
        Ok(())
    }

    /// The last id, or 0.
    pub(super) fn position(&self) -> i64 {
        self.extent.last_id.unwrap_or(0)
    }

    /// Ends the file, and returns once it is on the disk, with its rows and its checksum.
    pub(super) fn finish(self) -> io::Result<(TemporaryFile, Extent, String)> {
        let Hashing { inner, hash } = self.lines.finish()?;
        inner.into_inner()?.sync_all()?;
        Ok((self.temporary, self.extent, hex(hash)))
    }
}

/// The contents of a file of rows.
pub(super) struct ReadBack {
    pub(super) sha256: String,
    pub(super) ids: Vec<i64>,
}

impl ReadBack {
    pub(super) fn extent(&self) -> Extent {
        let rows = i64::try_from(self.ids.len()).unwrap_or(i64::MAX);
        Extent { rows, first_id: self.ids.first().copied(), last_id: self.ids.last().copied() }
    }
}

/// Reads a file of rows from its first to its last byte.
pub(super) fn read_back(path: &Path) -> io::Result<ReadBack> {
    #[derive(Deserialize)]
    struct Id {
        id: i64,
    }
    let file = Hashing { inner: File::open(path)?, hash: Sha256::new() };
    let mut lines = BufReader::new(GzDecoder::new(BufReader::new(file)));
    let (mut ids, mut line) = (Vec::new(), Vec::new());
    while lines.read_until(b'\n', &mut line)? > 0 {
        let Id { id } = serde_json::from_slice(&line)?;
        ids.push(id);
        line.clear();
    }
    let mut file = lines.into_inner().into_inner();
    // Bytes behind the compressed stream are hashed, too.
    io::copy(&mut file, &mut io::sink())?;
    Ok(ReadBack { sha256: hex(file.into_inner().hash), ids })
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// Hashes the bytes that pass.
struct Hashing<F> {
    inner: F,
    hash: Sha256,
}

impl<F: Write> Write for Hashing<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(bytes.get(..written).unwrap_or(bytes));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<F: Read> Read for Hashing<F> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(bytes)?;
        self.hash.update(bytes.get(..read).unwrap_or(bytes));
        Ok(read)
    }
}
