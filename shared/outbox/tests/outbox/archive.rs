//! The archive has every row of a dropped day, and a day without a complete archive stays.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use contracts::OrderId;
use diesel::QueryableByName;
use diesel::sql_types::{Binary, Jsonb};
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use outbox::{RetentionCounts, RetentionError, RetentionSettings};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use testkit::{TestDatabase, TestTopics};
use uuid::Uuid;

use crate::common::days::{
    FIRST, NOON, exists, make_old_days, pass_with, publish_all, reader, until_nobody_reads,
};
use crate::common::{append_one, confirmed, fill, reserved, rows};

/// A folder that is removed at the end of its test.
struct Folder(PathBuf);

impl Folder {
    fn create() -> Self {
        let path = std::env::temp_dir().join(format!("outbox-archive-{}", Uuid::new_v4().simple()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn settings(&self) -> RetentionSettings {
        RetentionSettings { archive: Some(self.0.clone()), ..RetentionSettings::default() }
    }

    /// The names of its files with this end, sorted.
    fn names(&self, end: &str) -> Vec<String> {
        let names =
            fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(end)).collect();
        names.sort();
        names
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn manifest(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn lines(path: &Path) -> Vec<String> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// A row without its payload, as JSON of the database, and the payload.
#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Jsonb)]
    columns: Value,
    #[diesel(sql_type = Binary)]
    payload: Vec<u8>,
}

async fn stored(database: &TestDatabase) -> Vec<Row> {
    let columns = "SELECT to_jsonb(event) - 'payload' - 'xid' || jsonb_build_object('created_at', \
                          to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')) AS columns, payload \
                     FROM outbox_event AS event ORDER BY id";
    diesel::sql_query(columns).load(&mut database.connection().await.unwrap()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_has_every_row_of_the_day_as_it_was() {
    let (database, topics, folder) =
        (TestDatabase::plain().await, TestTopics::create().await, Folder::create());
    make_old_days(&database, 1).await;
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    append_one(&database, 1, &reserved(OrderId::generate())).await;
    fill(&database, 250, NOON).await; // more than are read at a time, with an empty payload
    let age =
        format!("UPDATE outbox_event SET created_at = {NOON} + id * interval '1 microsecond' WHERE id < 3");
    database.owner().await.batch_execute(&age).await.unwrap();
    publish_all(&database, &topics).await.stop().await;
    let expected = stored(&database).await;

    let counts = pass_with(&database, &folder.settings()).await.unwrap();
    let one = RetentionCounts { days_dropped: 1, archives_written: 1, ..RetentionCounts::default() };
    assert_eq!(counts, one);
    assert!(!exists(&database, FIRST).await);
    let (files, manifests) = (folder.names(".jsonl.gz"), folder.names(".json"));
    assert_eq!((files.len(), manifests.len(), folder.names(".tmp").len()), (1, 1, 0));
    assert!(files[0].contains("-outbox-2026-01-01-"), "{files:?}");
    let manifest = manifest(&folder.path(&manifests[0]));
    let hash = Sha256::digest(fs::read(folder.path(&files[0])).unwrap());
    let hash: String = hash.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    assert_eq!((&manifest["sha256"], &manifest["file"]), (&json!(hash), &json!(files[0])));
    assert_eq!(
        (&manifest["rows"], &manifest["first_id"], &manifest["last_id"]),
        (&json!(252), &json!(1), &json!(252))
    );

    let lines = lines(&folder.path(&files[0]));
    assert_eq!(lines.len(), expected.len());
    for (line, row) in lines.iter().zip(expected) {
        let mut found: Value = serde_json::from_str(line).unwrap();
        let members = found.as_object_mut().unwrap();
        if let Some(base64) = members.remove("payload_base64") {
            assert_eq!(STANDARD.decode(base64.as_str().unwrap()).unwrap(), row.payload);
        } else {
            assert!(members.remove("payload").is_some());
            let text = format!("\"payload\":{}}}", String::from_utf8(row.payload).unwrap());
            assert!(line.ends_with(&text), "{line} has not the bytes {text}");
        }
        assert_eq!(found, row.columns);
    }
}

/// Writes the archive while an operator's read prevents the drop.
async fn archived(database: &TestDatabase, topics: &TestTopics, folder: &Folder) {
    fill(database, 3, NOON).await;
    publish_all(database, topics).await.stop().await;
    let reading = reader(database).await;
    let counts = pass_with(database, &folder.settings()).await.unwrap();
    assert_eq!((counts.archives_written, rows(database).await), (1, 3));
    // The archive exists, so the next pass writes none.
    let counts = pass_with(database, &folder.settings()).await.unwrap();
    assert_eq!((counts.archives_written, rows(database).await), (0, 3));
    drop(reading);
    until_nobody_reads(database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_or_unfinished_archive_does_not_count() {
    for is_damaged in [true, false] {
        let (database, topics, folder) =
            (TestDatabase::plain().await, TestTopics::create().await, Folder::create());
        make_old_days(&database, 1).await;
        archived(&database, &topics, &folder).await;
        let (file, manifest) = (folder.path(&folder.names(".gz")[0]), folder.path(&folder.names(".json")[0]));
        let whole = fs::read(&file).unwrap();
        let stem = folder.names(".json")[0].split("-outbox-").next().unwrap().to_owned();
        if is_damaged {
            let mut damaged = whole.clone();
            let middle = damaged.len() / 2;
            damaged[middle] ^= 1;
            fs::write(&file, damaged).unwrap();
        } else {
            // The process died before the manifest, and while it wrote another file.
            fs::remove_file(&manifest).unwrap();
            fs::write(folder.path(&format!(".{stem}-outbox-2026-01-01-1.tmp")), "half").unwrap();
        }
        let counts = pass_with(&database, &folder.settings()).await.unwrap();
        assert_eq!((counts.archives_written, counts.days_dropped), (1, 1), "damaged: {is_damaged}");
        assert_eq!(fs::read(&file).unwrap(), whole);
        assert!(manifest.exists() && folder.names(".tmp").is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_was_committed_after_the_archive_is_in_a_second_one() {
    let (database, topics, folder) =
        (TestDatabase::plain().await, TestTopics::create().await, Folder::create());
    make_old_days(&database, 1).await;
    archived(&database, &topics, &folder).await;
    fill(&database, 1, NOON).await;
    publish_all(&database, &topics).await.stop().await;
    let counts = pass_with(&database, &folder.settings()).await.unwrap();
    assert_eq!((counts.archives_written, counts.days_dropped), (1, 1));
    let mut lengths: Vec<usize> =
        folder.names(".gz").iter().map(|name| lines(&folder.path(name)).len()).collect();
    lengths.sort_unstable();
    assert_eq!(lengths, [3, 4]);
}

/// The day has no partition.
#[tokio::test(flavor = "multi_thread")]
async fn rows_of_the_default_partition_are_archived_before_they_are_deleted() {
    let (database, topics, folder) =
        (TestDatabase::plain().await, TestTopics::create().await, Folder::create());
    archived(&database, &topics, &folder).await;
    fill(&database, 2, NOON).await;
    publish_all(&database, &topics).await.stop().await;
    let counts = pass_with(&database, &folder.settings()).await.unwrap();
    assert_eq!((counts.archives_written, counts.rows_deleted), (1, 5));
    let lengths: usize = folder.names(".gz").iter().map(|name| lines(&folder.path(name)).len()).sum();
    assert_eq!((lengths, rows(&database).await), (5, 0), "no row is in both archives");
}

/// The archive has all rows of the day.
#[tokio::test(flavor = "multi_thread")]
async fn an_archived_row_of_the_default_partition_stays_while_it_is_blocked_or_unpublished() {
    let (database, topics, folder) =
        (TestDatabase::plain().await, TestTopics::create().await, Folder::create());
    fill(&database, 3, NOON).await;
    publish_all(&database, &topics).await.stop().await;
    let blocked = "INSERT INTO outbox_blocked (id, aggregate_id, error) SELECT id, aggregate_id, 'x' FROM outbox_event WHERE id = 2";
    database.owner().await.batch_execute(blocked).await.unwrap();
    fill(&database, 1, NOON).await;
    let counts = pass_with(&database, &folder.settings()).await.unwrap();
    assert_eq!((counts.archives_written, counts.rows_deleted, rows(&database).await), (1, 2, 2));
    assert_eq!(lines(&folder.path(&folder.names(".gz")[0])).len(), 4);
    let counts = pass_with(&database, &folder.settings()).await.unwrap();
    assert_eq!((counts.archives_written, rows(&database).await), (0, 2), "they are archived, and still wait");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_cannot_be_written_keeps_the_day() {
    let (database, topics, folder) =
        (TestDatabase::plain().await, TestTopics::create().await, Folder::create());
    make_old_days(&database, 1).await;
    fill(&database, 1, NOON).await;
    publish_all(&database, &topics).await.stop().await;
    let archive = Some(folder.path("missing"));
    let settings = RetentionSettings { archive, ..RetentionSettings::default() };
    let failed = pass_with(&database, &settings).await.unwrap_err();
    assert!(matches!(failed, RetentionError::Archive { .. }), "{failed}");
    assert!(failed.to_string().contains("missing"), "{failed}");
    assert!(exists(&database, FIRST).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_that_archive_at_once_write_one_archive() {
    let (database, topics, folder) =
        (TestDatabase::plain().await, TestTopics::create().await, Folder::create());
    make_old_days(&database, 3).await;
    fill(&database, 300, NOON).await;
    publish_all(&database, &topics).await.stop().await;
    let settings = folder.settings();
    let passes = futures_util::future::join_all((0..4).map(|_| pass_with(&database, &settings))).await;
    let written: u64 = passes.into_iter().map(|counts| counts.unwrap().archives_written).sum();
    // The empty days have an archive, too: it says that they were empty.
    assert_eq!((written, folder.names(".json").len(), folder.names(".gz").len()), (3, 3, 3));
}
