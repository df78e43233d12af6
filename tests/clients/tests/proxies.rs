#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! Proxies that send requests again, in front of two instances that are killed in turn: no second effect, no wrong response.
//! `./dev clients proxies` installs them.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use e2e::{Customer, Load, Options, Stack};
use harness::{Client, Endpoint, Part, Request, fence};
use testkit::{eventually, given};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::time::interval;
use uuid::Uuid;

/// The pause between two kills.
const PERIOD: Duration = Duration::from_secs(1);
const KILLS: usize = 8;

/// A running proxy, with its files in a folder that is removed at the end.
struct Proxy {
    address: String,
    folder: PathBuf,
    _process: Child,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// An address that no server has at this moment.
async fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().to_string()
}

fn port(address: &str) -> &str {
    address.rsplit(':').next().unwrap()
}

impl Proxy {
    /// Starts a program with its file of tests/clients/proxies, in which `${NAME}` is replaced by the value of the name.
    async fn start(
        file: &str,
        address: String,
        values: &[(&str, &str)],
        command: fn(&Path) -> Command,
    ) -> Self {
        let folder = std::env::temp_dir().join(format!("idem-proxy-{}", Uuid::new_v4()));
        std::fs::create_dir(&folder).unwrap();
        let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("proxies").join(file);
        let text = values.iter().fold(std::fs::read_to_string(text).unwrap(), |text, (name, value)| {
            text.replace(&format!("${{{name}}}"), value)
        });
        std::fs::write(folder.join(file), text).unwrap();
        let process =
            command(&folder).kill_on_drop(true).stdout(Stdio::null()).stderr(Stdio::inherit()).spawn();
        let proxy = Self { address, folder, _process: process.unwrap() };
        eventually("the proxy listens", async || TcpStream::connect(&proxy.address).await.ok()).await;
        proxy
    }
}

/// Kills both instances in turn behind the proxy, while customers order.
async fn survives_kills(
    start: impl AsyncFnOnce([String; 2]) -> Proxy,
    repeated: impl AsyncFnOnce(&Proxy, &Client) -> usize,
) {
    let mut stack = Stack::with(Options { two_of_each: true, ..Options::default() }).await;
    let customer = Customer::stocked(&stack, 1_000_000).await;
    let instances = ["orders", "orders-2"];
    let proxy = start(instances.map(|name| stack.address(name))).await;
    let through = Endpoint { address: proxy.address.clone(), ..stack.endpoints(&["orders"]).remove(0) };
    let client = customer.api.client();
    let without_key = client.send(&through, &customer.tea(1).without_key()).await.unwrap();
    assert_eq!((without_key.status, without_key.code().as_str()), (400, "idempotency-key-missing"));
    let read = client.send(&through, &Request::get(Part::ORDERS, "/v1/orders")).await.unwrap();
    assert_eq!(read.status, 200);
    let fenced = client.send(&through, &fence(Part::ORDERS, &Uuid::new_v4().to_string())).await.unwrap();
    assert_eq!(fenced.status, 200);

    let load = Load::start(&customer, &[through], 4);
    let mut period = interval(PERIOD);
    for name in instances.iter().cycle().take(KILLS) {
        period.tick().await;
        stack.ready(instances[0]).await;
        stack.ready(instances[1]).await;
        stack.kill(name).await;
        stack.launch(name, &[]);
    }
    for name in instances {
        stack.ready(name).await;
    }
    let responses = load.stop().await;
    let repeated = repeated(&proxy, client).await;
    assert!(repeated > 0, "the proxy has sent no request again");
    println!("{repeated} requests were sent again");
    stack.audited(&responses).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs nginx: ./dev clients proxies"]
async fn nginx_may_repeat_commands() {
    let start = async |[first, second]: [String; 2]| {
        let address = free_address().await;
        let values = [("LISTEN", address.as_str()), ("FIRST", &first), ("SECOND", &second)];
        Proxy::start("nginx.conf", address.clone(), &values, |folder| {
            let mut nginx = Command::new("nginx");
            nginx.arg("-p").arg(folder).arg("-c").arg(folder.join("nginx.conf"));
            nginx
        })
        .await
    };
    // A second attempt has a second status.
    let repeated = async |proxy: &Proxy, _: &Client| {
        let attempts = std::fs::read_to_string(proxy.folder.join("attempts.log")).unwrap();
        attempts.lines().filter(|line| line.starts_with("POST ") && line.contains(", ")).count()
    };
    survives_kills(start, repeated).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Envoy: ./dev clients proxies"]
async fn envoy_may_repeat_commands() {
    let admin = free_address().await;
    let start = async |[first, second]: [String; 2]| {
        let address = free_address().await;
        let values = [
            ("ADMIN", port(&admin)),
            ("LISTEN", port(&address)),
            ("FIRST", port(&first)),
            ("SECOND", port(&second)),
        ];
        Proxy::start("envoy.yaml", address.clone(), &values, |folder| {
            let mut envoy = Command::new(given("IDEM_CLIENTS_ENVOY"));
            envoy.arg("-c").arg(folder.join("envoy.yaml")).args([
                "--log-level",
                "error",
                "--use-dynamic-base-id",
            ]);
            envoy
        })
        .await
    };
    let repeated = async |_: &Proxy, client: &Client| {
        let at = Endpoint { instance: Part::ORDERS.instance(1), address: admin.clone() };
        let stats = Request::get(Part::ORDERS, "/stats?filter=orders.upstream_rq_retry$");
        let stats = String::from_utf8(client.send(&at, &stats).await.unwrap().body).unwrap();
        stats.trim().rsplit(' ').next().unwrap().parse().unwrap()
    };
    survives_kills(start, repeated).await;
}
