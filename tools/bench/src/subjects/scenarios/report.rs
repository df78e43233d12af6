//! The scenarios beside the plain one, as medians over the rounds.

use std::collections::BTreeSet;

use super::scenario::Scenario;
use super::tally::{OrderTimes, Times};
use super::{CONNECTIONS, PER_SECOND, Run};
use crate::load::median;
use crate::report::{Ratio, Section, Table, number};
use crate::workload::Workload;

/// One of the two loads of a run.
type Load = fn(&Run) -> &OrderTimes;

/// `rounds` have one run of each scenario, the plain one first.
pub(super) fn report(workload: &Workload, rounds: &[Vec<Run>]) -> Section {
    let mut section = Section::default();
    let loads: [(String, &str, Load); 2] = [
        (
            format!(
                "Scenarios in a crowd: at least {} orders by {CONNECTIONS} connections; times from the order's entry to its \
                 end; medians of {} rounds",
                workload.crowd,
                rounds.len()
            ),
            "crowd",
            |run| &run.crowd,
        ),
        (
            format!(
                "Scenarios at {PER_SECOND} orders/s for {} s; medians of {} rounds",
                2.0 * workload.length.as_secs_f64(),
                rounds.len()
            ),
            "fixed_rate",
            |run| &run.fixed_rate,
        ),
    ];
    for (title, load, of) in loads {
        let columns = [
            "scenario",
            "orders/s",
            "÷ plain",
            "p50 ms",
            "÷ plain",
            "p99 ms",
            "÷ plain",
            "slowest order ms",
            "slowest group",
            "its p99 ms",
        ];
        let mut table = Table::new(title, columns);
        for (number_of_scenario, scenario) in Scenario::ALL.into_iter().enumerate() {
            let runs: Vec<(&Run, &Run)> = rounds
                .iter()
                .filter_map(|runs| Some((runs.first()?, runs.get(number_of_scenario)?)))
                .collect();
            let of_all = |figure: fn(&Times) -> f64| median(runs.iter().map(|(_, run)| figure(&of(run).all)));
            let beside = |figure: fn(&Times) -> f64| {
                median(runs.iter().map(|(plain, run)| figure(&of(run).all) / figure(&of(plain).all)))
            };
            let (p50, p99) = (of_all(|times| times.p50), of_all(|times| times.p99));
            let longest = of_all(|times| times.longest);
            let slowest = slowest_group(&runs, of);
            let is_crowd = load == "crowd";
            let rate = if is_crowd { median(runs.iter().map(|(_, run)| run.per_second)) } else { f64::NAN };
            let rate_ratio = median(runs.iter().map(|(plain, run)| run.per_second / plain.per_second));
            let (group, group_p99) = slowest.clone().unwrap_or((String::new(), f64::NAN));
            table.row([
                scenario.name().to_owned(),
                number(rate, 0),
                if is_crowd { number(rate_ratio, 2) } else { String::new() },
                number(p50, 0),
                number(beside(|times| times.p50), 2),
                number(p99, 0),
                number(beside(|times| times.p99), 2),
                number(longest, 0),
                group.clone(),
                number(group_p99, 0),
            ]);
            let mut figure = |name, value| {
                section.figure(format!("scenarios.{load}.{}.{name}", scenario.key()), value);
            };
            figure("per_second", rate);
            figure("p50_ms", p50);
            figure("p99_ms", p99);
            figure("longest_ms", longest);
            figure("slowest_group_p99_ms", group_p99);
            if slowest.is_some() {
                let ratio = Ratio::at_most(
                    format!("{}, {load}: p99 of {group} ÷ p99 of all orders", scenario.name()),
                    group_p99 / p99,
                    2.0,
                );
                section.ratios.push(ratio);
            }
        }
        section.tables.push(table);
    }
    section
}

/// The group with the longest p99.
fn slowest_group(runs: &[(&Run, &Run)], of: Load) -> Option<(String, f64)> {
    let names: BTreeSet<&String> = runs.iter().flat_map(|(_, run)| of(run).groups.keys()).collect();
    let p99 = |name: &String| median(runs.iter().filter_map(|(_, run)| Some(of(run).groups.get(name)?.p99)));
    names
        .into_iter()
        .map(|name| (name.clone(), p99(name)))
        .max_by(|(_, one), (_, other)| one.total_cmp(other))
}
