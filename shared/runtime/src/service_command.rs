//! Operators' commands of one service, beside the commands that every service has.

use std::error::Error;

use clap::{ArgMatches, Command, FromArgMatches, Subcommand};

use crate::{CommandOutput, Context, Service};

/// The service's own commands. Each runs in a process of its own, beside the instances that serve.
pub trait ServiceCommand<S: Service>: Subcommand {
    /// The settings that the command needs beside `database.url`, such as `processor.secret_key`.
    fn needs(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether the command changes nothing: neither rows nor topics nor money. Other commands are refused until the database is
    /// adopted.
    fn only_reads(&self) -> bool {
        false
    }

    /// Runs the command. The exit code is 0 if the output is `done`, else 1. An error is printed; its exit code is 1.
    fn run(self, context: &Context<S>) -> impl Future<Output = Result<CommandOutput, Box<dyn Error>>>;
}

/// For a service without commands of its own.
#[derive(Debug, Clone, Copy)]
pub enum NoCommand {}

impl<S: Service> ServiceCommand<S> for NoCommand {
    async fn run(self, _: &Context<S>) -> Result<CommandOutput, Box<dyn Error>> {
        match self {}
    }
}

impl FromArgMatches for NoCommand {
    fn from_arg_matches(_: &ArgMatches) -> Result<Self, clap::Error> {
        Err(clap::Error::new(clap::error::ErrorKind::InvalidSubcommand))
    }

    fn update_from_arg_matches(&mut self, _: &ArgMatches) -> Result<(), clap::Error> {
        match *self {}
    }
}

impl Subcommand for NoCommand {
    fn augment_subcommands(command: Command) -> Command {
        command
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        command
    }

    fn has_subcommand(_: &str) -> bool {
        false
    }
}
