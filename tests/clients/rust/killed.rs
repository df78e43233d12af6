//! Orders and charges that must not be forgotten. tests/killed kills this program at random, starts it again, and reads its output.

use std::path::PathBuf;
use std::time::Duration;
use std::{env, fs};

use client::remember::{Command, Commands, Error, Outcome};
use client::retries::Retries;
use client::store::Store;
use futures_util::stream::{self, StreamExt};
use serde_json::{Value, json};

const WORKERS: usize = 8;
const ATTEMPTS: u32 = 3;

type Failure = Box<dyn std::error::Error>;

enum Job {
    /// A command that an earlier process left without an outcome.
    Resume(Command),
    Place {
        name: String,
        path: &'static str,
        body: Value,
    },
}

fn given(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

fn commands(service: &str) -> Result<Commands, Failure> {
    let folder = PathBuf::from(given("IDEM_STORE")).join(service);
    fs::create_dir_all(&folder)?;
    let (url, token) = (given(&format!("IDEM_{}", service.to_uppercase())), given("IDEM_TOKEN"));
    Ok(Commands::new(Store::at(folder), url, move || token.clone(), Retries(ATTEMPTS)))
}

async fn perform(commands: &Commands, job: Job) -> Result<(), Error> {
    let command = match job {
        Job::Resume(command) => command,
        Job::Place { name, path, body } => {
            let command = commands.remember(path, &body.to_string(), Some(&name)).await?;
            println!("remembers {name} {}", command.key);
            if name == "order-0" {
                if let Err(Error::OtherCommand(_)) = commands.remember(path, "{}", Some(&name)).await {
                    println!("taken {name}");
                }
                // As if it were 30 days old. The service may have forgotten the key by then.
                let old = Command { at: command.at - Duration::from_hours(30 * 24), ..command.clone() };
                if let Err(Error::Undecided(_)) = commands.outcome(&old).await {
                    println!("late {name}");
                }
            }
            command
        }
    };
    loop {
        let kind = match commands.outcome(&command).await {
            Ok(Outcome::Happened { .. }) => "happened",
            Ok(Outcome::Never) => "never",
            Ok(Outcome::Refused { .. }) => "refused",
            Err(Error::Undecided(reason)) => {
                println!("undecided {} {reason}", command.name);
                continue;
            }
            Err(error) => return Err(error),
        };
        println!("{kind} {}", command.name);
        return Ok(());
    }
}

/// Mostly orders; one in ten is refused, and one in ten is a charge that takes three seconds.
fn job(number: usize) -> Job {
    let euros = |amount: i64| json!({ "amount": amount, "currency": "EUR" });
    let (name, path, mut body) = match number % 10 {
        7 => {
            let charge = json!({ "amount": euros(450), "payment_method": "pm_card_idem_slow" });
            (format!("charge-{number}"), "/v1/payments", charge)
        }
        _ => {
            let lines = [json!({ "sku": "TEA", "quantity": 1 })];
            let order = json!({ "lines": lines, "payment_method": "pm_card_visa" });
            (format!("order-{number}"), "/v1/orders", order)
        }
    };
    if number % 10 == 3 {
        body["expected_total"] = euros(1);
    }
    body["reference"] = json!(name);
    Job::Place { name, path, body }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let [orders, payments] = [&commands("orders")?, &commands("payments")?];
    let mut jobs = Vec::new();
    for of in [orders, payments] {
        jobs.extend(of.open().await?.into_iter().map(|command| (of, Job::Resume(command))));
    }
    println!("resumes {}", jobs.len());
    let number: usize = given("IDEM_COMMANDS").parse()?;
    jobs.extend((0..number).map(|number| (if number % 10 == 7 { payments } else { orders }, job(number))));
    let jobs = stream::iter(jobs).map(|(of, job)| perform(of, job)).buffer_unordered(WORKERS);
    jobs.for_each(async |done| done.unwrap_or_else(|error| panic!("{error}"))).await;
    Ok(())
}
