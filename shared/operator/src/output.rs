//! `CommandOutput`: what a command prints, and whether it is done.

use clap::Args;
use serde::Serialize;

use crate::report::Report;
use crate::table::printable;

/// The result of an operators' command: a text, and whether the command did everything that it was asked to do.
#[derive(Debug)]
pub struct CommandOutput {
    /// The text for stdout; it ends with a newline.
    pub text: String,
    /// True if everything that was asked for is done now, or was done before. Otherwise the text gives the reason.
    pub done: bool,
}

impl CommandOutput {
    /// Formats a report: as JSON, or as the sentence with the lists of the report below it. Without a sentence, the text has every
    /// member of the report.
    pub fn new(json: bool, done: bool, sentence: &str, report: &impl Serialize) -> Self {
        let report = Report::of(report);
        let text = match sentence {
            _ if json => report.json(),
            "" => report.text(),
            sentence => format!("{}\n{}", printable(sentence), report.lists()),
        };
        Self { text, done }
    }

    /// The output of a command whose subject does not exist, also with `--json`.
    pub fn not_found(sentence: impl Into<String>) -> Self {
        Self { text: sentence.into() + "\n", done: false }
    }
}

/// The argument of every command that only reads.
#[derive(Debug, Clone, Copy, Args)]
pub struct Read {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Read {
    /// Formats what was read: see [`CommandOutput::new`].
    pub fn output(self, done: bool, sentence: &str, report: &impl Serialize) -> CommandOutput {
        CommandOutput::new(self.json, done, sentence, report)
    }

    /// Formats what was read by `text`, or as JSON.
    pub fn output_with<R: Serialize>(
        self,
        done: bool,
        report: &R,
        text: impl FnOnce(&R) -> String,
    ) -> CommandOutput {
        let text = if self.json { Report::of(report).json() } else { text(report) };
        CommandOutput { text, done }
    }
}
