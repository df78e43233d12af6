//! `Manifest`: the contents of an archive. Its file is written last, so an archive with a manifest is complete.

use serde::{Deserialize, Serialize};

use super::super::days::{Day, Extent};

/// The columns of a line, in order. `xid` is left out: a transaction number means nothing on another server.
const COLUMNS: [&str; 13] = [
    "id",
    "event_id",
    "topic",
    "partition_key",
    "aggregate_type",
    "aggregate_id",
    "sequence",
    "type",
    "source",
    "tenant_id",
    "traceparent",
    "created_at",
    "payload",
];

/// The JSON beside the rows of an archive. It has no time of writing, so that two instances write the same bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::retention) struct Manifest {
    /// The name of the database.
    pub(super) database: String,
    /// The server that the rows are from: after a restore, another history can have the same ids.
    pub(super) server: String,
    /// The day in UTC.
    pub(super) day: String,
    pub(super) rows: i64,
    pub(super) first_id: Option<i64>,
    pub(super) last_id: Option<i64>,
    /// The name of the file with the rows.
    pub(super) file: String,
    /// SHA-256 of that file.
    pub(super) sha256: String,
    pub(super) columns: Vec<String>,
}

impl Manifest {
    pub(super) fn new(database: &str, server: &str, day: &Day, extent: Extent, sha256: String) -> Self {
        let stem = stem(database, day);
        Self {
            database: database.to_owned(),
            server: server.to_owned(),
            day: day.date.to_string(),
            rows: extent.rows,
            first_id: extent.first_id,
            last_id: extent.last_id,
            file: format!("{stem}-{}.jsonl.gz", sha256.get(..16).unwrap_or(&sha256)),
            sha256,
            columns: COLUMNS.map(str::to_owned).to_vec(),
        }
    }

    /// The rows that the archive has.
    pub(in crate::retention) fn extent(&self) -> Extent {
        Extent { rows: self.rows, first_id: self.first_id, last_id: self.last_id }
    }

    /// The name of the manifest's own file.
    pub(super) fn name(&self) -> String {
        self.file.replace(".jsonl.gz", ".json")
    }
}

/// The beginning of the names of a day's files. The name goes on with the beginning of the checksum, so that files with
/// different rows never replace each other.
pub(super) fn stem(database: &str, day: &Day) -> String {
    format!("{database}-outbox-{}", day.date)
}
