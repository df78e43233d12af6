//! The budget of one order: statements, commits, plans, WAL, messages and rows of each service, by the counters of PostgreSQL and
//! Kafka.
//!
//! The orders are placed for this purpose alone, because counting statements costs time.

use std::collections::BTreeMap;
use std::ops::Add;
use std::time::Duration;

use contracts::streams;
use harness::{Context, Part, Result, until};

use super::alone::journey;
use super::crowd;
use crate::load::as_f64;
use crate::report::{Section, Table, number};
use crate::subjects::meter::Meter;
use crate::subjects::stack::Stack;
use crate::workload::Workload;

/// The longest that PostgreSQL may take to end the sessions of a stopped program.
const LIMIT: Duration = Duration::from_secs(10);

/// The rows that were inserted and changed in each table so far. Partitions count for their table.
const ROWS: &str = "SELECT coalesce(parent.relname, own.relname)::text, sum(n_tup_ins)::float8, sum(n_tup_upd)::float8 \
       FROM pg_stat_user_tables own LEFT JOIN pg_inherits ON inhrelid = own.relid \
       LEFT JOIN pg_class parent ON parent.oid = inhparent GROUP BY 1";

/// The sessions of a program.
const SESSIONS: &str = "SELECT count(*) FROM pg_stat_activity \
      WHERE datname = current_database() AND usename LIKE '%\\_service'";

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Counter {
    Statements,
    Commits,
    Plans,
    WalBytes,
    Messages,
    /// Rows that were inserted into a table.
    Inserted(String),
    /// Rows of a table that were changed.
    Changed(String),
}

/// Of each program.
type Counters = BTreeMap<(Part, Counter), f64>;

/// Counts orders one after the other, and many at once. The programs are stopped before and after.
pub(super) async fn measure(stack: &mut Stack<'_>, workload: &Workload, section: &mut Section) -> Result<()> {
    let mut meters = BTreeMap::new();
    for part in Part::PROGRAMS {
        match Meter::start(stack.database(part)?).await {
            Ok(meter) => drop(meters.insert(part, meter)),
            Err(error) => {
                eprintln!("journey: no budget of an order: {error}");
                return Ok(());
            }
        }
    }
    eprintln!("journey: counting what an order costs");
    let alone = count(stack, &meters, workload, false).await?;
    let crowd = count(stack, &meters, workload, true).await?;
    report(&alone, &crowd, workload, section);
    Ok(())
}

/// Places orders, and returns the cost of each.
async fn count(
    stack: &mut Stack<'_>,
    meters: &BTreeMap<Part, Meter>,
    workload: &Workload,
    at_once: bool,
) -> Result<Counters> {
    let rows_before = rows(stack).await?;
    stack.start_programs().await?;
    let mut client = stack.client(Part::Orders).await?;
    // Opens connections and prepares statements.
    let mut warm_up = 1.0;
    journey(&mut client).await?;
    if at_once {
        warm_up += crowd(stack, workload).await?.orders;
    }
    stack.at_rest().await?;
    let before = work(stack, meters).await?;
    let orders = if at_once {
        crowd(stack, workload).await?.orders
    } else {
        for _ in 0..workload.journeys {
            journey(&mut client).await?;
        }
        as_f64(workload.journeys)
    };
    stack.at_rest().await?;
    let mut cost = each(&before, work(stack, meters).await?, orders);
    stack.stop_programs().await?;
    cost.extend(each(&rows_before, rows(stack).await?, orders + warm_up));
    Ok(cost)
}

fn each(before: &Counters, after: Counters, orders: f64) -> Counters {
    let used = |(key, value): ((Part, Counter), f64)| {
        let earlier = before.get(&key).copied().unwrap_or_default();
        (key, (value - earlier) / orders)
    };
    after.into_iter().map(used).collect()
}

/// The counters that sessions report at once.
async fn work(stack: &Stack<'_>, meters: &BTreeMap<Part, Meter>) -> Result<Counters> {
    let mut counters = Counters::new();
    for (part, meter) in meters {
        let (all, begun) = (meter.cost(&["%"]).await?, meter.cost(&["BEGIN%"]).await?);
        // A prepared COMMIT is counted once for each session, so commits are what was begun and not rolled back.
        let (rolled_back, prepared) = (meter.cost(&["ROLLBACK"]).await?, meter.cost(&["COMMIT"]).await?);
        let frames = begun.calls + rolled_back.calls + prepared.calls;
        counters.insert((*part, Counter::Statements), all.calls - frames);
        counters.insert((*part, Counter::Commits), begun.calls - rolled_back.calls);
        counters.insert((*part, Counter::Plans), all.plans);
        counters.insert((*part, Counter::WalBytes), all.wal_bytes);
    }
    let messages = stack.kafka().counts().await?;
    for (stream, part) in streams::ALL.into_iter().zip([Part::Orders, Part::Inventory, Part::Payments]) {
        let messages = messages.get(&stream).copied().unwrap_or_default();
        let messages = as_f64(messages);
        counters.insert((part, Counter::Messages), messages);
    }
    Ok(counters)
}

/// The counters of tables. Waits until all sessions have ended, because an open session reports late.
async fn rows(stack: &Stack<'_>) -> Result<Counters> {
    let mut counters = Counters::new();
    for part in Part::PROGRAMS {
        let owner = stack.database(part)?.owner().await?;
        until("the sessions of a stopped program have ended", LIMIT, "pg_stat_activity", async || {
            let sessions: i64 = owner.one(SESSIONS).await?.get(0);
            Ok(if sessions == 0 { Ok(()) } else { Err(format!("{sessions} sessions")) })
        })
        .await?;
        for row in owner.query(ROWS, &[]).await.context("read the counters of tables")? {
            let table: String = row.get(0);
            counters.insert((part, Counter::Inserted(table.clone())), row.get(1));
            counters.insert((part, Counter::Changed(table)), row.get(2));
        }
    }
    Ok(counters)
}

fn report(alone: &Counters, crowd: &Counters, workload: &Workload, section: &mut Section) {
    let title = format!(
        "The budget of one order: alone ({} one after the other), and in a crowd (at least {} at once)",
        workload.journeys, workload.crowd
    );
    let columns = [
        "database",
        "rows inserted",
        "changed",
        "messages",
        "statements alone",
        "in the crowd",
        "commits alone",
        "in the crowd",
        "plans alone",
        "in the crowd",
        "bytes of WAL alone",
        "in the crowd",
    ];
    let mut table = Table::new(title, columns);
    let mut row = |name: &str, parts: &[Part]| {
        let sum = |counters: &Counters, matches: fn(&Counter) -> bool| -> f64 {
            let own = counters.iter().filter(|((part, counter), _)| parts.contains(part) && matches(counter));
            own.map(|(_, value)| value).fold(0.0, f64::add)
        };
        let figures: [(&str, f64, usize); 11] = [
            ("rows_inserted", sum(alone, |counter| matches!(counter, Counter::Inserted(_))), 1),
            ("rows_changed", sum(alone, |counter| matches!(counter, Counter::Changed(_))), 1),
            ("messages", sum(alone, |counter| *counter == Counter::Messages), 1),
            ("statements", sum(alone, |counter| *counter == Counter::Statements), 1),
            ("crowd_statements", sum(crowd, |counter| *counter == Counter::Statements), 2),
            ("commits", sum(alone, |counter| *counter == Counter::Commits), 1),
            ("crowd_commits", sum(crowd, |counter| *counter == Counter::Commits), 2),
            ("plans", sum(alone, |counter| *counter == Counter::Plans), 2),
            ("crowd_plans", sum(crowd, |counter| *counter == Counter::Plans), 2),
            ("wal_bytes", sum(alone, |counter| *counter == Counter::WalBytes), 0),
            ("crowd_wal_bytes", sum(crowd, |counter| *counter == Counter::WalBytes), 0),
        ];
        for (figure, value, _) in figures {
            section.figure(format!("journey.budget.{name}.{figure}"), value);
        }
        let cells = figures.map(|(_, value, digits)| number(value, digits));
        table.row([vec![name.to_owned()], cells.into()].concat());
    };
    for part in Part::PROGRAMS {
        row(part.name(), &[part]);
    }
    row("together", &Part::PROGRAMS);
    section.tables.push(table);
    report_rows(alone, section);
}

/// The rows of one order by table. A table that an order does not touch, or hardly, is left out.
fn report_rows(alone: &Counters, section: &mut Section) {
    let mut table = Table::new("The rows of one order", ["table", "inserted", "changed"]);
    for ((part, counter), inserted) in alone {
        let Counter::Inserted(name) = counter else { continue };
        let changed = alone.get(&(*part, Counter::Changed(name.clone()))).copied().unwrap_or_default();
        if inserted + changed >= 0.5 {
            table.row([format!("{}: {name}", part.name()), number(*inserted, 1), number(changed, 1)]);
        }
    }
    section.tables.push(table);
}
