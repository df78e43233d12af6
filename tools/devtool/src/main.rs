#![doc = include_str!("../README.md")]

mod certificates;
mod databases;
mod files;
mod keys;
mod openapi;
mod token;
mod topics;
mod wait;

use clap::{Parser, Subcommand};
use messaging::Brokers;
use std::{path::PathBuf, process::ExitCode, time::Duration};

/// An error is a sentence for the person at the terminal.
type Result<T> = std::result::Result<T, String>;

/// The parts of ./dev that are not shell scripts.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make the development signing key, unless it exists, and its JWKS
    Keys {
        /// Folder of `signing-key.pem` and `jwks.json`
        dir: PathBuf,
        /// Then wait for SIGTERM, as the program of a container in which tokens are made
        #[arg(long)]
        stay: bool,
    },
    /// Make an authority, the certificates of `PostgreSQL` and Kafka on this machine, and a password, unless they exist
    Certificates {
        /// Folder of `ca.pem`, `postgres.pem`, `postgres.key`, `broker.pem` and `password`
        dir: PathBuf,
    },
    /// Print one bearer token, and nothing else
    Token {
        /// Folder that `devtool keys` made
        #[arg(long, env = "IDEM_KEYS")]
        keys: PathBuf,
        #[command(flatten)]
        request: token::TokenRequest,
    },
    /// Make databases with their owner and service roles, unless they exist
    Databases {
        /// URL of a superuser
        admin_url: String,
        /// Names of the databases
        #[arg(required = true)]
        names: Vec<String>,
    },
    /// Wait until `PostgreSQL` accepts a connection
    WaitPostgres {
        /// URL to connect with
        url: String,
        /// The longest wait, in seconds
        #[arg(long, default_value = "60", value_parser = seconds)]
        timeout: Duration,
    },
    /// Wait until Kafka answers a Metadata request
    WaitKafka {
        /// The brokers, as in `IDEM_KAFKA__BROKERS`; properties are `IDEM_KAFKA__PROPERTIES__…`
        #[arg(value_parser = Brokers::from_environment)]
        brokers: Brokers,
        /// The longest wait, in seconds
        #[arg(long, default_value = "60", value_parser = seconds)]
        timeout: Duration,
    },
    /// Print the OpenAPI document of a service, completed
    Openapi {
        /// The program of the service
        program: PathBuf,
        /// The file of its examples
        examples: PathBuf,
    },
    /// Print topics: partitions, end offsets, and each group's committed offset and lag
    Topics {
        /// The brokers, as in `IDEM_KAFKA__BROKERS`; properties are `IDEM_KAFKA__PROPERTIES__…`
        #[arg(value_parser = Brokers::from_environment)]
        brokers: Brokers,
        /// Only topics with this prefix
        #[arg(long, default_value = "")]
        prefix: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

fn seconds(text: &str) -> Result<Duration> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Keys { dir, stay } => match keys::make(&dir) {
            Ok(_) if stay => std::future::pending().await, // SIGTERM ends it
            made => made.map(drop),
        },
        Command::Certificates { dir } => certificates::make(&dir),
        Command::Token { keys, request } => {
            keys::read(&keys).and_then(|key| key.sign(&request)).map(|token| println!("{token}"))
        }
        Command::Databases { admin_url, names } => databases::make(&admin_url, &names).await,
        Command::WaitPostgres { url, timeout } => wait::postgres(&url, timeout).await,
        Command::WaitKafka { brokers, timeout } => wait::kafka(&brokers, timeout).await,
        Command::Openapi { program, examples } => openapi::print(&program, &examples),
        Command::Topics { brokers, prefix, json } => topics::print(&brokers, &prefix, json).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("devtool: {message}");
            ExitCode::FAILURE
        }
    }
}
