//! Prints aligned text of at most 100 columns. Colours and the line of the running step appear on a terminal only.

use std::cell::RefCell;
use std::env;
use std::io::{IsTerminal, Write, stdout};
use std::time::Duration;

/// Columns.
const WIDTH: usize = 100;
/// The column of everything that belongs to a step.
const INDENT: usize = 22;

const GREEN: &str = "32";
const RED: &str = "31";

/// Standard output, or a sink in tests.
pub(crate) struct Screen {
    out: RefCell<Box<dyn Write>>,
    terminal: bool,
    colour: bool,
}

impl Screen {
    pub(crate) fn of_stdout() -> Self {
        let terminal = stdout().is_terminal();
        let colour = terminal && env::var_os("NO_COLOR").is_none();
        Self { out: RefCell::new(Box::new(stdout())), terminal, colour }
    }

    #[cfg(test)]
    pub(crate) fn nowhere() -> Self {
        Self { out: RefCell::new(Box::new(std::io::sink())), terminal: false, colour: false }
    }

    pub(crate) fn line(&self, text: &str) {
        self.print(&format!("{text}\n"));
    }

    /// The running step; its verdict replaces the line.
    pub(crate) fn progress(&self, heading: &str, what: &str) {
        if self.terminal {
            let (number, title) = parts(heading);
            let text =
                format!("{number}  ....            {title}{}{what}", if what.is_empty() { "" } else { ": " });
            self.print(&text.chars().take(WIDTH).collect::<String>());
        }
    }

    /// `NN  PASS   1.23 s   Title: figures`, continued under the title.
    pub(crate) fn verdict(&self, heading: &str, passed: bool, took: Duration, figures: &str) {
        let (number, title) = parts(heading);
        let word = if passed { self.painted(GREEN, "PASS") } else { self.painted(RED, "FAIL") };
        let colon = if figures.is_empty() { "" } else { ": " };
        let mut lines = wrapped(&format!("{title}{colon}{figures}")).into_iter();
        let first = lines.next().unwrap_or_default();
        self.line(&format!("{number}  {word}  {:>6.2} s   {first}", took.as_secs_f64()));
        for rest in lines {
            self.detail(&rest);
        }
    }

    /// A line that belongs to the step above.
    pub(crate) fn detail(&self, line: &str) {
        self.line(format!("{:INDENT$}{line}", "").trim_end());
    }

    pub(crate) fn failure(&self, text: &str) {
        for (index, line) in text.lines().flat_map(wrapped).enumerate() {
            let mark = if index == 0 { "- " } else { "  " };
            self.line(&format!(
                "{:1$}{2}",
                "",
                INDENT - mark.len(),
                self.painted(RED, &format!("{mark}{line}"))
            ));
        }
    }

    pub(crate) fn result(&self, passed: bool, text: &str) {
        self.line("");
        self.line(&self.painted(if passed { GREEN } else { RED }, text));
    }

    fn painted(&self, colour: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{colour}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Ignores errors: the checks continue without a reader.
    fn print(&self, text: &str) {
        let mut out = self.out.borrow_mut();
        let clear = if self.terminal { "\r\x1b[2K" } else { "" };
        let _ = write!(out, "{clear}{text}");
        let _ = out.flush();
    }
}

/// Number and title of a heading.
fn parts(heading: &str) -> (&str, &str) {
    heading.split_at_checked(2).map_or(("", heading), |(number, title)| (number, title.trim_start()))
}

/// Lines that fit beside the indent, broken between words.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let Some(line) = lines.last_mut() else { break };
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH - INDENT {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_broken_between_words_and_loses_none() {
        let text = "word ".repeat(60).trim_end().to_owned();
        let lines = wrapped(&text);
        assert!(lines.len() > 1 && lines.iter().all(|line| line.len() <= WIDTH - INDENT), "{lines:?}");
        assert_eq!(lines.join(" "), text);
    }

    #[test]
    fn a_heading_is_a_number_and_a_title() {
        assert_eq!(parts(" 3  The same key"), (" 3", "The same key"));
    }
}
