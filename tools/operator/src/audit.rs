//! `operator audit`: every question of `audits/`, asked once, with its violations.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use audits::Database;
use clap::Args;
use harness::{Asked, Books, Kafka};
use serde::Serialize;

use crate::table::{printable, table};
use crate::{Output, Sources, as_json};

/// How often the questions that join databases or topics are asked at most, and the time between two looks.
const LOOKS: usize = 10;
const PAUSE: Duration = Duration::from_secs(1);

/// The arguments.
#[derive(Debug, Args)]
pub struct Audit {
    /// Compare the events of this tenant with the topics, too; reads all topics
    #[arg(long, value_name = "TENANT")]
    topics: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    sources: Sources,
}

impl Audit {
    /// Asks. All is well if every question could be asked and none found a violation.
    pub async fn run(self) -> Output {
        let books = self.sources.books();
        let mut asked = books.ask_each().await;
        asked.extend(confirmed(PAUSE, async || books.ask_joined().await).await);
        if let Some(tenant) = &self.topics {
            let kafka = self.sources.kafka();
            let ask = async || ask_topics(&books, kafka.as_ref(), tenant).await;
            asked.extend(confirmed(PAUSE, ask).await);
        }
        let report = Report::of(&asked);
        let is_well = report.violations == 0 && report.unread == 0;
        (if self.json { as_json(&report) } else { report.to_string() }, is_well)
    }
}

/// Asks several times, and keeps the violations that every look has found. A change in progress is gone at a later look, or is another
/// change.
async fn confirmed(pause: Duration, ask: impl AsyncFn() -> Vec<Asked>) -> Vec<Asked> {
    let mut seen = ask().await;
    for _ in 1..LOOKS {
        if seen.iter().all(|it| it.violations.as_ref().map_or(true, Vec::is_empty)) {
            break;
        }
        tokio::time::sleep(pause).await;
        for (before, now) in seen.iter_mut().zip(ask().await) {
            match (&mut before.violations, now.violations) {
                (Ok(before), Ok(now)) => before.retain(|violation| now.contains(violation)),
                (before, now) => *before = now,
            }
        }
    }
    seen
}

async fn ask_topics(books: &Books, kafka: Option<&Kafka>, tenant: &str) -> Vec<Asked> {
    let read = match kafka {
        Some(kafka) => books.delivery(kafka, tenant).await.map_err(|error| error.to_string()),
        None => Err("the topics cannot be read: no brokers are given".to_owned()),
    };
    let question = |question, find: fn(&audits::Delivery) -> Vec<String>| Asked {
        question,
        databases: Database::services().collect(),
        command: "./dev topics".to_owned(),
        violations: read.as_ref().map(find).map_err(Clone::clone),
    };
    vec![
        question("committed events are on their topics, and no others", audits::Delivery::unpublished),
        question("first occurrences are in order on their topics", audits::Delivery::disordered),
        question("each consumer has entered each message", audits::Delivery::unconsumed),
    ]
}

/// The output.
#[derive(Debug, Serialize)]
struct Report {
    questions: usize,
    violations: usize,
    /// How often a database could not be asked.
    unread: usize,
    asked: Vec<Row>,
}

/// A question at one database, or at several that are joined.
#[derive(Debug, Serialize)]
struct Row {
    question: &'static str,
    /// The promise that a question of `audits/` is about, with its number. A question that joins databases has none.
    promise: Option<&'static str>,
    databases: Vec<&'static str>,
    violations: Vec<String>,
    /// Why it could not be asked.
    error: Option<String>,
    command: String,
}

impl Report {
    fn of(asked: &[Asked]) -> Self {
        let row = |it: &Asked| Row {
            question: it.question,
            promise: audits::all().find(|one| one.file == it.question).map(audits::Question::promise),
            databases: it.databases.iter().map(|database| database.name()).collect(),
            violations: it.violations.iter().flatten().map(|text| printable(text)).collect(),
            error: it.violations.as_ref().err().map(|text| printable(text)),
            command: it.command.clone(),
        };
        let asked: Vec<Row> = asked.iter().map(row).collect();
        Self {
            questions: asked.iter().map(|row| row.question).collect::<BTreeSet<_>>().len(),
            violations: asked.iter().map(|row| row.violations.len()).sum(),
            unread: asked.iter().filter(|row| row.error.is_some()).count(),
            asked,
        }
    }

    /// The rows of each question, in the order of its first row.
    fn by_question(&self) -> impl Iterator<Item = (&'static str, Vec<&Row>)> {
        let mut names = BTreeSet::new();
        let first = self.asked.iter().map(|row| row.question).filter(move |name| names.insert(*name));
        first.map(|name| (name, self.asked.iter().filter(|row| row.question == name).collect()))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = vec![["question", "databases", "violations"].map(str::to_owned).to_vec()];
        for (question, asked) in self.by_question() {
            let databases: Vec<&str> = asked.iter().flat_map(|row| row.databases.iter().copied()).collect();
            let count: usize = asked.iter().map(|row| row.violations.len()).sum();
            let unread =
                if asked.iter().any(|row| row.error.is_some()) { ", not asked everywhere" } else { "" };
            rows.push(vec![question.to_owned(), databases.join(" "), format!("{count}{unread}")]);
        }
        f.write_str(&table(&rows))?;
        for row in &self.asked {
            for violation in &row.violations {
                writeln!(
                    f,
                    "\n{} ({}): {violation}\n  {}",
                    row.question,
                    row.databases.join(" "),
                    row.command
                )?;
            }
        }
        // One sentence for each reason: a database that is away answers none of its questions.
        for reason in self.asked.iter().filter_map(|row| row.error.as_deref()).collect::<BTreeSet<_>>() {
            writeln!(f, "\nnot asked: {reason}")?;
        }
        let Self { questions, violations, unread, asked } = self;
        writeln!(
            f,
            "\n{questions} questions, asked {} times; violations: {violations}; not asked: {unread}",
            asked.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn asked(violations: &[&str]) -> Vec<Asked> {
        let violations = Ok(violations.iter().map(|text| (*text).to_owned()).collect());
        vec![Asked { question: "q", databases: Vec::new(), command: String::new(), violations }]
    }

    #[tokio::test]
    async fn a_difference_that_is_gone_at_a_later_look_is_no_violation_and_one_that_stays_is_one() {
        let looks = AtomicUsize::new(0);
        let ask = async || match looks.fetch_add(1, Ordering::Relaxed) {
            0 => asked(&["in progress", "broken"]),
            1 => asked(&["broken", "another in progress"]),
            _ => asked(&["broken"]),
        };
        assert_eq!(confirmed(Duration::ZERO, ask).await, asked(&["broken"]));
        let looks = AtomicUsize::new(0);
        let ask = async || {
            if looks.fetch_add(1, Ordering::Relaxed) == 0 { asked(&["in progress"]) } else { asked(&[]) }
        };
        assert_eq!(confirmed(Duration::ZERO, ask).await, asked(&[]));
        assert_eq!(looks.into_inner(), 2, "nothing is left, so nothing is asked again");
    }
}
