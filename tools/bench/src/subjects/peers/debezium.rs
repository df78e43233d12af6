//! Debezium's connector for PostgreSQL with its outbox event router, in a standalone worker of Kafka Connect.

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use envelope::Topics;
use harness::{Context, Endpoint, Error, Part, Request, Result, until};
use hyper::Method;
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use uuid::Uuid;

use crate::environment::{Environment, TestBed};
use crate::load::Connection;

/// The longest that a worker or a connector may take to start.
const LIMIT: Duration = Duration::from_mins(1);

/// The publication of the outbox. Rows of a partition are published as those of their table.
pub(super) const PUBLICATION: &str = "CREATE PUBLICATION bench FOR TABLE outbox_event \
       WITH (publish = 'insert', publish_via_partition_root = true)";

/// A running worker; killed when dropped. Its folder is removed then.
pub(super) struct Worker {
    process: Child,
    rest: Connection,
    folder: PathBuf,
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.start_kill();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Worker {
    /// Starts a worker without connectors, with the options of Connect's own start script.
    pub(super) async fn start(environment: &Environment, libraries: &Path) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("idem-bench-connect-{}", Uuid::new_v4().simple()));
        std::fs::create_dir(&folder).context("make a folder for Kafka Connect")?;
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = free.context("find a free port")?.to_string();
        let properties = [
            format!("bootstrap.servers={}", environment.brokers.bootstrap()),
            format!("listeners=http://{address}"),
            format!("offset.storage.file.filename={}", folder.join("offsets").display()),
            "key.converter=org.apache.kafka.connect.storage.StringConverter".to_owned(),
            "value.converter=io.debezium.converters.BinaryDataConverter".to_owned(),
            "header.converter=org.apache.kafka.connect.storage.StringConverter".to_owned(),
        ];
        let file = folder.join("worker.properties");
        std::fs::write(&file, properties.join("\n")).context("write the settings of Kafka Connect")?;
        let log = File::create(folder.join("log")).context("make the log of Kafka Connect")?;
        let process = Command::new(std::env::var_os("JAVA").unwrap_or_else(|| "java".into()))
            .args(["-server", "-Xms256M", "-Xmx2G", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"])
            .args(["-XX:InitiatingHeapOccupancyPercent=35", "-cp"])
            .arg(libraries.join("*"))
            .arg("org.apache.kafka.connect.cli.ConnectStandalone")
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(log.try_clone().context("share a file")?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .context("start Kafka Connect")?;
        let endpoint = Endpoint { instance: Part::Kafka.instance(1), address };
        let rest = until("Kafka Connect listens", LIMIT, "its log", async || {
            Ok(Ok(Connection::open(endpoint.clone(), "").await?))
        })
        .await?;
        Ok(Self { process, rest, folder })
    }

    /// The process id, while it runs.
    pub(super) fn pid(&self) -> Option<u32> {
        self.process.id()
    }

    /// Lets a connector publish the outbox from a replication slot to these topics.
    pub(super) async fn connect(&mut self, slot: &str, database: &TestBed, topics: &Topics) -> Result<()> {
        let settings = settings(slot, database, topics)?;
        let request = request(Method::PUT, format!("/connectors/{slot}/config"), Some(&settings));
        let response = self.rest.send(&request).await?;
        if response.status == 201 { Ok(()) } else { Err(Error::unexpected(&response, 201)) }
    }

    /// Ends the connector of a slot.
    pub(super) async fn disconnect(&mut self, slot: &str) -> Result<()> {
        let response = self.rest.send(&request(Method::DELETE, format!("/connectors/{slot}"), None)).await?;
        if response.status == 204 { Ok(()) } else { Err(Error::unexpected(&response, 204)) }
    }

    /// The error of a connector that does nothing, with the end of the log.
    pub(super) fn error(&self, what: &str) -> Error {
        let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines.get(lines.len().saturating_sub(15)..).unwrap_or_default().join("\n");
        Error::Refused(format!("Debezium {what}; the end of its log:\n{tail}"))
    }
}

fn request(method: Method, path: String, body: Option<&Value>) -> Request {
    let body = body.map(Value::to_string);
    Request { method, body, ..Request::get(Part::Kafka, path) }
}

/// Queue and batch are four times their defaults, and the producer waits for full batches as the manual of Debezium and of
/// Kafka advise for throughput; the poll interval is short for latency. The records are those of our relay: same key, same
/// headers, same bytes.
fn settings(slot: &str, database: &TestBed, topics: &Topics) -> Result<Value> {
    let url: tokio_postgres::Config = database.superuser_url.parse().context("read the URL of PostgreSQL")?;
    let (host, port) = (harness::host_of(&database.superuser_url), url.get_ports().first().copied());
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    Ok(json!({
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "database.hostname": host,
        "database.port": port.unwrap_or(5432).to_string(),
        "database.user": url.get_user().unwrap_or("postgres"),
        "database.password": url.get_password().map_or("none".into(), String::from_utf8_lossy),
        "database.dbname": url.get_dbname().unwrap_or_default(),
        "plugin.name": "pgoutput",
        "publication.name": "bench",
        "publication.autocreate.mode": "disabled",
        "slot.name": slot,
        "snapshot.mode": "no_data",
        "table.include.list": "public.outbox_event",
        "column.exclude.list": "public.outbox_event.xid",
        "tombstones.on.delete": "false",
        "topic.prefix": slot,
        "max.batch.size": "8192",
        "max.queue.size": "32768",
        "poll.interval.ms": "5",
        "producer.override.acks": "all",
        "producer.override.enable.idempotence": "true",
        "producer.override.max.in.flight.requests.per.connection": "5",
        "producer.override.compression.type": "lz4",
        "producer.override.linger.ms": "5",
        "producer.override.batch.size": "262144",
        "transforms": "outbox",
        "transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
        "transforms.outbox.table.field.event.id": "event_id",
        "transforms.outbox.table.field.event.key": "partition_key",
        "transforms.outbox.table.field.event.payload": "payload",
        "transforms.outbox.route.by.field": "topic",
        "transforms.outbox.route.topic.replacement": topics.prefixed("${routedByValue}"),
        "transforms.outbox.table.fields.additional.placement":
            "event_id:header:ce_id,type:header:ce_type,source:header:ce_source,aggregate_id:header:ce_subject,\
             sequence:header:ce_sequence,created_at:header:ce_time,tenant_id:header:ce_tenant,traceparent:header",
    }))
}
