//! The stand-in of the processor, as a process with its own database.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use diesel::sql_query;
use diesel_async::RunQueryDsl;
use payments::processor::{BreakerSettings, ClientSettings, Processor};
use serde_json::Value;
use testkit::{TestDatabase, eventually, free_port, given, http};
use tokio::process::{Child, Command};

use crate::processor::client_settings;

/// The delay of a bank's decision.
const BANK: &str = "100";

/// Turns off synchronous commits for new connections, because no process is killed in this test.
pub(super) async fn hurry(database: &TestDatabase) {
    let off = "DO $$ BEGIN
                   EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database());
               END $$";
    sql_query(off).execute(&mut database.owner().await).await.unwrap();
}

/// A running stand-in. It is killed when dropped.
pub(super) struct StandIn {
    pub(super) books: TestDatabase,
    address: String,
    _process: Child,
}

impl StandIn {
    pub(super) async fn start(faults: &Value) -> Self {
        let (books, port) = (TestDatabase::empty().await, free_port());
        hurry(&books).await;
        let process = Command::new(PathBuf::from(given("IDEM_BIN_DIR")).join("stripe-sim"))
            .arg("serve")
            .env_clear()
            .env("IDEM_DATABASE__URL", books.service_url(None))
            .env("IDEM_DATABASE__MIGRATION_URL", books.owner_url())
            .env("IDEM_HTTP__PORT", port.to_string())
            .env("IDEM_BANK__DELAY_MS", BANK)
            .env("IDEM_LOG__LEVEL", "error")
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let stand_in = Self { books, address: format!("http://127.0.0.1:{port}"), _process: process };
        eventually("the processor is ready", async || {
            let ready = http::client().get(format!("{}/health/ready", stand_in.address)).send().await;
            ready.is_ok_and(|response| response.status() == 200).then_some(())
        })
        .await;
        let set =
            http::client().post(format!("{}/_faults", stand_in.address)).json(faults).send().await.unwrap();
        assert_eq!(set.status(), 200, "{}", set.text().await.unwrap());
        stand_in
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// A client with short deadlines: far longer than a normal call, and far shorter than a late one.
    pub(super) fn client(&self) -> Processor {
        let client_settings = ClientSettings {
            request: Duration::from_millis(600),
            total: Duration::from_secs(10),
            breaker: BreakerSettings { failures: 20, pause: Duration::from_millis(50) },
            ..client_settings()
        };
        Processor::new(self.address.parse().unwrap(), &"sk_test_thousand".into(), &client_settings).unwrap()
    }

    /// Returns how often each fault took effect, and removes all faults.
    pub(super) async fn heals(&self) -> Value {
        let faults = format!("{}/_faults", self.address);
        let shown: Value = http::client().get(&faults).send().await.unwrap().json().await.unwrap();
        http::client().delete(&faults).send().await.unwrap();
        shown["bites"].clone()
    }
}
