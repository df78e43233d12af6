#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! Clients that cannot forget: each makes orders and charges through faulty proxies, and is killed and started again, or its page
//! is reloaded, until every command has an outcome. Then effects and outcomes must agree. `./dev clients` sets the variable that
//! names the programs.

mod faulty;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use e2e::{Customer, Part, Stack};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use testkit::{eventually, free_port, given};
use tokio::process::Command;

use faulty::FaultyProxies;

/// The number of commands, unless `IDEM_COMMANDS` names one.
const COMMANDS: usize = 120;
const SEED: u64 = 41;

/// Responses expire after a second, so that some fences find an expired record.
const REPLY_SECONDS: &str = "1";

/// A kill comes after so many requests, and so many milliseconds.
const REQUESTS: std::ops::Range<usize> = 20..60;
const MOMENT: std::ops::Range<u64> = 0..200;

/// Runs the client of this language, and kills it or lets it reload its page, until it has ended by itself. Fails unless each
/// command has one outcome, and the databases agree.
async fn forgets_nothing(language: &str, page: Option<Page>) {
    let program = Path::new(&given("IDEM_CLIENTS")).join(language).join("killed");
    let number = std::env::var("IDEM_COMMANDS").map_or(COMMANDS, |number| number.parse().unwrap());
    let mut stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 1_000_000).await;
    customer.buys(1).await; // orders knows the item
    let origin = page.as_ref().map(Page::origin);
    let mut settings = vec![("IDEM_IDEMPOTENCY__REPLY_SECONDS", REPLY_SECONDS)];
    settings.extend(origin.as_ref().map(|origin| ("IDEM_HTTP__CORS_ORIGINS", origin.as_str())));
    for service in ["orders", "payments"] {
        stack.stop(service).await;
        stack.launch_ready(service, &settings).await;
    }
    let proxies = FaultyProxies::new(SEED);
    let (orders, payments) =
        (proxies.to(stack.address("orders")).await, proxies.to(stack.address("payments")).await);
    let folder = Folder::of(language);
    let start = || {
        let output = File::options().create(true).append(true).open(folder.0.join("output")).unwrap();
        Command::new(&program)
            .env("IDEM_ORDERS", format!("http://{orders}"))
            .env("IDEM_PAYMENTS", format!("http://{payments}"))
            .env("IDEM_TOKEN", customer.token())
            .env("IDEM_STORE", &folder.0)
            .env("IDEM_COMMANDS", number.to_string())
            .env("IDEM_PAGE_PORT", page.as_ref().map_or(0, |page| page.port).to_string())
            .stdout(Stdio::from(output))
            .kill_on_drop(true)
            .spawn()
            .unwrap()
    };
    let (mut random, mut kills, began) = (StdRng::seed_from_u64(SEED), 0, Instant::now());
    loop {
        let mut client = start();
        let (requests, moment) = (random.random_range(REQUESTS), random.random_range(MOMENT));
        let killed = async {
            proxies.requests(requests).await;
            tokio::time::sleep(Duration::from_millis(moment)).await;
        };
        tokio::select! {
            ended = client.wait() => {
                assert!(ended.unwrap().success(), "{}", folder.output());
                break;
            }
            () = killed, if page.is_none() => {
                client.kill().await.unwrap();
                kills += 1;
                assert!(kills < number, "the client does not end: {}", folder.output());
            }
        }
    }
    eventually("no request is on the way", async || proxies.are_quiet(2).then_some(())).await;
    let told = Told::by(&folder.output());
    kills += told.reloads;
    let counts = proxies.counts();
    println!("{number} commands, {kills} kills, {:.0?}: {told}, {counts:?}", began.elapsed());
    stack.at_rest().await;

    // Effects and outcomes agree: each command that happened has one effect, and nothing else has any.
    let named = |kind: &str, prefix: &str| -> Vec<String> {
        let names =
            told.outcomes.iter().filter(|(name, kinds)| name.starts_with(prefix) && kinds.contains(kind));
        names.map(|(name, _)| format!("'{name}'")).collect()
    };
    for (part, prefix, effects) in [
        (Part::ORDERS, "order-", "orders WHERE reference IS NOT NULL"),
        (Part::PAYMENTS, "charge-", "payment WHERE order_id IS NULL AND state = 'captured'"),
    ] {
        let happened = named("happened", prefix);
        let expected = i64::try_from(happened.len()).unwrap();
        assert_eq!(stack.count(part, &format!("SELECT count(*) FROM {effects}")).await, expected, "{prefix}");
        let references = happened.join(",");
        let of_them =
            format!("SELECT count(DISTINCT reference) FROM {effects} AND reference IN ({references})");
        assert_eq!(stack.count(part, &of_them).await, expected, "{prefix}");
    }
    assert_eq!(told.outcomes.len(), number, "commands with an outcome");
    assert!(told.outcomes.values().all(|kinds| kinds.len() == 1), "{:?}", told.outcomes);
    assert!(told.keys.values().all(|keys| keys.len() == 1), "{:?}", told.keys);
    // The run met what it is about.
    for kind in ["happened", "never", "refused"] {
        assert!(!named(kind, "").is_empty(), "no command with the outcome {kind}");
    }
    assert!(kills > 0 && told.resumed > 0, "{kills} kills, {} resumed", told.resumed);
    assert!(told.late > 0, "a command of 30 days ago is sent");
    assert!(told.taken > 0, "a name is given to a second command");
    let faults =
        [&counts.lost_requests, &counts.lost_responses, &counts.gateways, &counts.twice, &counts.delayed];
    let gave_up = [&counts.kept_back, &counts.fences, &counts.expired, &counts.too_late, &counts.operations];
    assert!(faults.into_iter().chain(gave_up).all(|count| count.load(Ordering::Relaxed) > 0), "{counts:?}");
}

/// What the program said in all its lives.
#[derive(Default)]
struct Told {
    outcomes: BTreeMap<String, BTreeSet<String>>,
    keys: BTreeMap<String, BTreeSet<String>>,
    resumed: usize,
    reloads: usize,
    undecided: usize,
    /// How often the program refused to send a command of 30 days ago.
    late: usize,
    /// How often the program refused to give the name of a command to another one.
    taken: usize,
}

impl Told {
    fn by(output: &str) -> Self {
        let mut told = Self::default();
        for line in output.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let add = |to: &mut BTreeMap<String, BTreeSet<String>>, name: &str, value: &str| {
                to.entry(name.to_owned()).or_default().insert(value.to_owned());
            };
            match words[..] {
                ["remembers", name, key] => add(&mut told.keys, name, key),
                ["resumes", number] => told.resumed += number.parse::<usize>().unwrap(),
                ["reloads"] => told.reloads += 1,
                ["late", _] => told.late += 1,
                ["taken", _] => told.taken += 1,
                ["undecided", ..] => told.undecided += 1,
                [kind @ ("happened" | "never" | "refused"), name] => add(&mut told.outcomes, name, kind),
                _ => panic!("{line}"),
            }
        }
        told
    }
}

impl std::fmt::Display for Told {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let of = |kind: &str| self.outcomes.values().filter(|kinds| kinds.contains(kind)).count();
        let (happened, never, refused) = (of("happened"), of("never"), of("refused"));
        write!(to, "{happened} happened, {never} never, {refused} refused, ")?;
        write!(to, "{} resumed, {} times undecided", self.resumed, self.undecided)
    }
}

/// A page of another origin than the services'.
struct Page {
    port: u16,
}

impl Page {
    fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

/// The folder of a program's store and output, removed when dropped.
struct Folder(std::path::PathBuf);

impl Folder {
    fn of(language: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("idem-killed-{language}-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    fn output(&self) -> String {
        fs::read_to_string(self.0.join("output")).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the client: ./dev clients python makes it"]
async fn the_python_client_forgets_no_command_and_no_outcome() {
    forgets_nothing("python", None).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the client: ./dev clients typescript makes it"]
async fn the_typescript_client_forgets_no_command_and_no_outcome() {
    forgets_nothing("typescript", None).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the client: ./dev clients rust makes it"]
async fn the_rust_client_forgets_no_command_and_no_outcome() {
    forgets_nothing("rust", None).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: ./dev clients page"]
async fn the_page_forgets_no_command_and_no_outcome_when_it_is_reloaded() {
    forgets_nothing("page", Some(Page { port: free_port() })).await;
}
