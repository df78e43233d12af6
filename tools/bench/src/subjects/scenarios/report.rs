//! The scenarios beside the plain one, as medians over the rounds.

use std::collections::BTreeSet;

use super::scenario::Scenario;
use super::tally::{OrderTimes, Times};
use super::{CONNECTIONS, PER_SECOND, Run};
use crate::load::median;
use crate::report::{Ratio, Section, Table, number};
use crate::workload::Workload;

/// The plain run of a round, and that of a scenario.
type Pair<'r> = (&'r Run, &'r Run);

/// One of the two loads of a run.
type Load = fn(&Run) -> &OrderTimes;

/// `rounds` have one run of each scenario, the plain one first.
pub(super) fn report(workload: &Workload, rounds: &[Vec<Run>]) -> Section {
    let mut section = Section::default();
    let crowd = format!(
        "Scenarios in a crowd: at least {} orders by {CONNECTIONS} connections; medians of {} rounds",
        workload.crowd,
        rounds.len()
    );
    let mut rates = Table::new(crowd, ["scenario", "orders/s", "÷ plain"]);
    for (scenario, pairs) in pairs(rounds) {
        let per_second = median(pairs.iter().map(|(_, run)| run.per_second));
        let ratio = median(pairs.iter().map(|(plain, run)| run.per_second / plain.per_second));
        rates.row([scenario.name().to_owned(), number(per_second, 0), number(ratio, 2)]);
        section.figure(format!("scenarios.{}.per_second", scenario.key()), per_second);
        section.figure(format!("scenarios.{}.rate_to_plain", scenario.key()), ratio);
    }
    section.tables.push(rates);
    report_times("in that crowd", "crowd", rounds, |run| &run.crowd, &mut section);
    let fixed_rate = format!("at {PER_SECOND} orders/s for {} s", 2.0 * workload.length.as_secs_f64());
    report_times(&fixed_rate, "fixed_rate", rounds, |run| &run.fixed_rate, &mut section);
    section
}

fn pairs(rounds: &[Vec<Run>]) -> impl Iterator<Item = (Scenario, Vec<Pair<'_>>)> {
    Scenario::ALL.into_iter().enumerate().map(move |(number, scenario)| {
        let pairs = rounds.iter().filter_map(|runs| runs.first().zip(runs.get(number)));
        (scenario, pairs.collect())
    })
}

/// The times from an order's entry to its end, under one load.
fn report_times(load: &str, key: &str, rounds: &[Vec<Run>], of: Load, section: &mut Section) {
    let title = format!("Scenarios {load}: from the order's entry to its end, in ms");
    let columns =
        ["scenario", "p50", "÷ plain", "p99", "÷ plain", "the slowest order", "slowest group", "its p99"];
    let mut table = Table::new(title, columns);
    for (scenario, pairs) in pairs(rounds) {
        let over = |figure: fn(&Times) -> f64| median(pairs.iter().map(|(_, run)| figure(&of(run).all)));
        let beside = |figure: fn(&Times) -> f64| {
            median(pairs.iter().map(|(plain, run)| figure(&of(run).all) / figure(&of(plain).all)))
        };
        let groups = groups(&pairs, of);
        let (group, group_p99) = groups.last().cloned().unwrap_or((String::new(), f64::NAN));
        let figures = [
            ("p50_ms", over(|times| times.p50), 0),
            ("p50_to_plain", beside(|times| times.p50), 2),
            ("p99_ms", over(|times| times.p99), 0),
            ("p99_to_plain", beside(|times| times.p99), 2),
            ("longest_ms", over(|times| times.longest), 0),
        ];
        for (name, value, _) in figures {
            section.figure(format!("scenarios.{}.{key}.{name}", scenario.key()), value);
        }
        let name = scenario.name();
        let cells = figures.map(|(_, value, digits)| number(value, digits));
        table.row([&[name.to_owned()], &cells[..], &[group.clone(), number(group_p99, 0)]].concat());
        if let [(fastest, fastest_p99), .., (slowest, slowest_p99)] = groups.as_slice() {
            let ratio = slowest_p99 / fastest_p99;
            section.figure(format!("scenarios.{}.{key}.slowest_to_fastest_group", scenario.key()), ratio);
            let ratio_name = format!("{name}, {load}: p99 of {slowest} ÷ p99 of {fastest}");
            section.ratios.push(Ratio::at_most(ratio_name, ratio, 2.0));
        }
    }
    section.tables.push(table);
}

/// The groups of a scenario with their p99, the fastest first.
fn groups(pairs: &[Pair<'_>], of: Load) -> Vec<(String, f64)> {
    let names: BTreeSet<&String> = pairs.iter().flat_map(|(_, run)| of(run).groups.keys()).collect();
    let p99 = |name: &String| median(pairs.iter().filter_map(|(_, run)| Some(of(run).groups.get(name)?.p99)));
    let mut groups: Vec<(String, f64)> = names.into_iter().map(|name| (name.clone(), p99(name))).collect();
    groups.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    groups
}
