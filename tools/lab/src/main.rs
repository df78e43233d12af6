#![doc = include_str!("../README.md")]

mod action;
mod audit;
mod customer;
mod fault;
mod lab;
mod panels;
mod server;
mod state;

use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Parser;
use harness::{Context, Result};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use lab::Lab;

/// Serves one page that shows the flow of orders live, and breaks its parts by a button.
///
/// Run it with `./dev lab`, which starts what is needed.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Listen here; only an address of this machine's loopback is accepted
    #[arg(long, value_parser = server::loopback)]
    listen: SocketAddr,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse().listen).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lab: {error}");
            ExitCode::from(2)
        }
    }
}

/// Serves until SIGINT or SIGTERM. Every future runs on this task, so nothing outlives the server.
async fn run(listen: SocketAddr) -> Result<()> {
    let (actions, pressed) = mpsc::unbounded_channel();
    let lab = Lab::from_environment().await?;
    let server = server::start(listen, lab.state.clone(), actions)?;
    println!("lab: http://{listen}/ of tenant {}; Ctrl-C ends it", lab.tenant);
    let mut terminate = signal(SignalKind::terminate()).context("wait for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("wait for SIGINT")?;
    tokio::select! {
        served = server => served.context("serve the page"),
        () = lab.watch() => Ok(()),
        () = action::perform_all(&lab, pressed) => Ok(()),
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
    }
}
