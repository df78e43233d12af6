#![doc = include_str!("../README.md")]

use std::io::{self, IsTerminal, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use database::is_without_parameters;
use stripe_sim::{LogFormat, Server, Settings};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::prelude::*;

/// A stand-in for the card processor. Its settings are environment variables: see tools/stripe-sim/README.md.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve Stripe's API until SIGTERM or SIGINT.
    Serve,
    /// Ask the instance that runs with this configuration whether it is ready; exit code 0 if it is.
    Health,
}

/// The exit code if a setting is missing or wrong.
const WRONG_SETTINGS: u8 = 2;
/// How long `health` waits for the connection, and for each read.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(5);
/// actix logs every dropped connection as an error. Faults drop connections on purpose.
const QUIET: &str = "actix_server=warn,actix_http=off";

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // An empty variable counts as absent. Shells and compose files set variables to nothing.
    let settings = Settings::read(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    let settings = match settings {
        Ok(settings) => settings,
        Err(error) => {
            // Printed, not logged: the log format is one of the settings.
            eprintln!("stripe-sim: {error}");
            return ExitCode::from(WRONG_SETTINGS);
        }
    };
    match arguments.command {
        Command::Health => health(SocketAddr::new(settings.host, settings.port)),
        Command::Serve => match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
            Ok(runtime) => runtime.block_on(serve(settings)),
            Err(error) => failed(&error),
        },
    }
}

async fn serve(settings: Settings) -> ExitCode {
    log(&settings.log_level, settings.log_format);
    let server = match Server::start(settings) {
        Ok(server) => server,
        Err(error) => return failed(&error),
    };
    let (terminate, interrupt) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    let (mut terminate, mut interrupt) = match (terminate, interrupt) {
        (Ok(terminate), Ok(interrupt)) => (terminate, interrupt),
        (Err(error), _) | (_, Err(error)) => return failed(&error),
    };
    let handle = server.handle();
    let stopped = async {
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        tracing::info!("stopping: requests and transactions in flight are completed");
        handle.stop(true).await;
    };
    match tokio::join!(server.run(), stopped).0 {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn health(address: SocketAddr) -> ExitCode {
    match is_ready(address) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("stripe-sim: the instance at {address} is not ready");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("stripe-sim: nothing answers at {address}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Asks `GET /health/ready`, so that a container needs no HTTP client beside this program.
fn is_ready(address: SocketAddr) -> io::Result<bool> {
    let mut stream = TcpStream::connect_timeout(&reachable(address), HEALTH_TIMEOUT)?;
    stream.set_read_timeout(Some(HEALTH_TIMEOUT))?;
    stream.set_write_timeout(Some(HEALTH_TIMEOUT))?;
    stream.write_all(b"GET /health/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    Ok(response.starts_with("HTTP/1.1 200 "))
}

/// An instance that listens on all interfaces is asked on the loopback interface.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

fn log(level: &str, format: LogFormat) {
    let logger = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(format!("{QUIET},{level}")))
        .with_ansi(io::stderr().is_terminal())
        .with_writer(io::stderr);
    match format {
        LogFormat::Pretty => logger.finish().with(filter_fn(is_without_parameters)).init(),
        LogFormat::Json => {
            logger.json().flatten_event(true).finish().with(filter_fn(is_without_parameters)).init();
        }
    }
}

fn failed(error: &dyn std::error::Error) -> ExitCode {
    eprintln!("stripe-sim: {error}");
    ExitCode::FAILURE
}
