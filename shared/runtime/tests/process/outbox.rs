//! The `outbox` commands as processes.

use serde_json::Value;
use testkit::TestDatabase;
use tokio::process::Command;

use crate::greeter::{greeter, stderr};

const REPUBLISH: &[&str] =
    &["republish", "--since", "2026-11-20T08:00:00Z", "--by", "ada", "--reason", "a topic was lost"];

fn outbox(words: &[&str]) -> Command {
    let mut command = greeter("outbox");
    command.args(words);
    command
}

#[tokio::test]
async fn outbox_commands_need_only_their_own_settings() {
    let database = TestDatabase::plain().await;
    let url = database.service_url(None);
    let status = outbox(&["status", "--json"]).env("IDEM_DATABASE__URL", &url).output().await.unwrap();
    assert_eq!(status.status.code(), Some(0), "{}", stderr(&status));
    let report: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!((&report["relay"]["owner"], &report["backlog"]["rows"]), (&"nobody".into(), &0.into()));

    let dry_run = [REPUBLISH, &["--dry-run"]].concat();
    let planned = outbox(&dry_run).env("IDEM_DATABASE__URL", &url).output().await.unwrap();
    assert_eq!(planned.status.code(), Some(0), "{}", stderr(&planned));

    let whole = outbox(REPUBLISH).env("IDEM_DATABASE__URL", &url).output().await.unwrap();
    assert_eq!(whole.status.code(), Some(0), "{}", stderr(&whole));
    let text = String::from_utf8(whole.stdout).unwrap();
    assert!(text.starts_with("messages ") && text.contains("rows_since "), "{text}");
}

#[tokio::test]
async fn an_outbox_command_that_fails_ends_with_1_and_one_that_is_not_understood_with_2() {
    let away = "postgres://greeter:secret@127.0.0.1:1/greeter";
    let output = outbox(&["status"]).env("IDEM_DATABASE__URL", away).output().await.unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    let text = stderr(&output);
    assert!(text.contains("is the database of IDEM_DATABASE__URL running and migrated"), "{text}");
    assert!(!text.contains("secret"), "{text}");

    let output = outbox(&["republish", "--by", "ada", "--reason", "x"]).output().await.unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--since <TIME>|--aggregate <UUID>"), "{}", stderr(&output));
}
