//! The filter of the log is replaced while the process runs.

use std::fs;

use testkit::eventually;

use crate::greeter::{Running, Surroundings};

#[tokio::test]
async fn the_filter_of_the_log_is_replaced_without_a_restart() {
    let surroundings = Surroundings::new().await;
    let path = std::env::temp_dir().join(format!("{}.filter", surroundings.deployment()));
    let mut running = Running::start(surroundings.serve().env("IDEM_LOG__FILTER_FILE", &path));
    running.ready().await;
    assert!(running.entries_of_level("TRACE").is_empty());

    fs::write(&path, "info,actix_http=trace\n").unwrap();
    eventually("the details of a request", async || {
        running.get("/v1/greeting").await;
        running.entries_of_level("TRACE").first().map(drop)
    })
    .await;
    fs::write(&path, "no=such=level").unwrap();
    running.logged("is no filter of the log").await;
    fs::remove_file(&path).unwrap();
    eventually("the level of the settings", async || {
        let replaced = running.entries("the filter of the log was replaced");
        replaced.iter().any(|entry| entry["filter"] == "actix_server=warn,info").then_some(())
    })
    .await;
    running.terminate();
    assert_eq!(running.exit_code().await, Some(0));
    surroundings.clear().await;
}
