//! `OperatorCommand`: what a program knows about a command before it runs.

use std::error::Error;

use clap::Subcommand;

use crate::CommandOutput;

/// A command, or a group of commands. Each runs in a process of its own, beside the instances that serve.
pub trait OperatorCommand<C> {
    /// The settings that the command needs beside `database.url`, such as `kafka.brokers`.
    fn needs(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether the command changes nothing: neither rows nor topics nor money. Other commands are refused until the database is
    /// adopted.
    fn only_reads(&self) -> bool {
        false
    }

    /// Runs the command. The exit code is 0 if the output is `done`, else 1. An error is printed; its exit code is 1.
    fn run(self, context: &C) -> impl Future<Output = Result<CommandOutput, Box<dyn Error>>>;
}

/// For a service without commands of its own.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum NoCommand {}

impl<C> OperatorCommand<C> for NoCommand {
    async fn run(self, _: &C) -> Result<CommandOutput, Box<dyn Error>> {
        match self {}
    }
}
