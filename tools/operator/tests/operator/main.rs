#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! The program `operator` beside a running installation.

mod audit;
mod cures;
mod explain;
mod gaps;
mod obstacles;
mod of_services;

use diesel_async::SimpleAsyncConnection;
use e2e::{Part, Stack};
use harness::CommandOutput;
use serde_json::Value;
use testkit::eventually;
use tokio::process::Command;
use uuid::Uuid;

/// The variables by which the program finds an installation, with the URLs of the service roles, which `./dev` gives it, too.
fn sources(stack: &Stack) -> Vec<(String, String)> {
    let url = |part: Part| (variable(part), stack.database(part).service_url(None));
    let mut sources: Vec<(String, String)> = Part::PROGRAMS.into_iter().map(url).collect();
    let kafka = stack.kafka();
    sources.push(("IDEM_KAFKA_BROKERS".to_owned(), kafka.brokers.to_string()));
    sources.extend(harness::kafka_variables(&kafka.brokers));
    sources.push(("IDEM_DEPLOYMENT__NAME".to_owned(), kafka.topics.deployment().to_owned()));
    sources
}

/// The variable of a database.
fn variable(part: Part) -> String {
    format!("IDEM_{}_URL", part.name().to_uppercase())
}

/// Runs the program with these variables, and no others.
async fn run(sources: &[(String, String)], arguments: &[&str]) -> CommandOutput {
    let mut command = Command::new(env!("CARGO_BIN_EXE_operator"));
    command.args(arguments).env_clear().envs(sources.iter().map(|(name, value)| (name, value)));
    command.kill_on_drop(true).output().await.unwrap().into()
}

/// The page of an order.
async fn explain(stack: &Stack, order: Uuid) -> CommandOutput {
    run(&sources(stack), &["explain", &order.to_string()]).await
}

/// The last line of the page of an order, once it contains this text.
async fn says(stack: &Stack, order: Uuid, text: &str) -> String {
    eventually(&format!("the page of {order} says {text}"), async || {
        let output = explain(stack, order).await;
        assert!(output.is_success(), "{output:?}");
        Some(last_line(&output).to_owned()).filter(|line| line.contains(text))
    })
    .await
}

/// The words of the command in the page's member `cure`, behind `./dev run SERVICE`.
async fn cure(stack: &Stack, order: Uuid, service: Part) -> Vec<String> {
    let output = run(&sources(stack), &["explain", &order.to_string(), "--json"]).await;
    let page: Value = serde_json::from_str(&output.stdout).unwrap();
    let cure = page["cure"].as_str().unwrap();
    let command = cure.split_once(&format!("./dev run {} ", service.name())).unwrap().1;
    let filled = |word: &str| match word {
        "NAME" => "dana".to_owned(),
        "TEXT" => "the cause is gone".to_owned(),
        word => word.to_owned(),
    };
    command.split(' ').map(filled).collect()
}

/// Runs the command of the page, which must succeed; returns its output.
async fn cures(stack: &Stack, order: Uuid, service: Part) -> String {
    let command = cure(stack, order, service).await;
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    stack.operate(service, &words).await.expect_success(format!("{words:?}")).unwrap()
}

/// Adds a statement's rows as the owner of a database.
async fn plant(stack: &Stack, part: Part, sql: &str) {
    stack.database(part).owner().await.batch_execute(sql).await.unwrap();
}

/// Panics unless the page has these texts, each in a later line than the one before.
fn in_order(output: &CommandOutput, steps: &[&str]) {
    let mut lines = output.stdout.lines();
    for step in steps {
        assert!(lines.any(|line| line.contains(step)), "{step} is not at its place in\n{}", output.stdout);
    }
}

/// Returns true if the last line of a page has this status and names no obstacle.
fn ends(line: &str, status: &str) -> bool {
    line.starts_with(&format!("status: {status}")) && !line.contains(';')
}

/// The violations that a question of the audit finds, which must find some.
async fn violations(stack: &Stack, question: &str) -> Vec<String> {
    let output = run(&sources(stack), &["audit", "--json"]).await;
    assert_eq!(output.code, Some(1), "{output:?}");
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    let asked = report["asked"].as_array().unwrap();
    let row = asked.iter().find(|row| row["question"] == question).unwrap();
    row["violations"].as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect()
}

/// The last line of a page.
fn last_line(output: &CommandOutput) -> &str {
    output.stdout.lines().last().unwrap_or_else(|| panic!("nothing was printed: {output:?}"))
}
