//! The duration and the number of measurements of each subject.

use std::time::Duration;

/// Sizes of one run.
pub(crate) struct Workload {
    /// How often each kind of load is measured, the kinds in turn.
    pub(crate) rounds: usize,
    /// The length of one measurement.
    pub(crate) length: Duration,
    /// The load before the first round, which is not measured.
    pub(crate) warm_up: Duration,
    /// Connections at the same time.
    pub(crate) connections: Vec<usize>,
    /// Rows that the relay drains.
    pub(crate) rows: usize,
    /// How often the relay drains them.
    pub(crate) drains: usize,
    /// Messages that the inbox takes.
    pub(crate) messages: usize,
    /// Orders that are followed to their end, one after the other.
    pub(crate) journeys: usize,
    /// Orders that are placed by many connections.
    pub(crate) crowd: usize,
    /// The number of times that each scenario is measured, the scenarios in turn.
    pub(crate) scenario_rounds: usize,
    /// Rows of the tables that grow.
    pub(crate) growth: Growth,
    /// Rows that each table gets on each of ninety days.
    pub(crate) rows_per_day: usize,
}

/// The numbers of rows among which a unit is measured.
#[derive(Clone)]
pub(crate) struct Growth {
    /// Unpublished events, and due orders.
    pub(crate) backlog: [usize; 3],
    /// Rows of the other tables.
    pub(crate) rows: [usize; 3],
    /// Payments, each with ten audit facts.
    pub(crate) payments: [usize; 3],
}

impl Workload {
    pub(crate) fn full() -> Self {
        Self {
            rounds: 5,
            length: Duration::from_secs(5),
            warm_up: Duration::from_secs(3),
            connections: vec![1, 16, 64],
            rows: 500_000,
            drains: 5,
            messages: 100_000,
            journeys: 200,
            crowd: 2_000,
            scenario_rounds: 3,
            growth: Growth {
                backlog: [100_000, 1_000_000, 10_000_000],
                rows: [0, 1_000_000, 10_000_000],
                payments: [0, 100_000, 1_000_000],
            },
            rows_per_day: 11_112,
        }
    }

    pub(crate) fn quick() -> Self {
        Self {
            rounds: 3,
            length: Duration::from_millis(1_500),
            warm_up: Duration::from_secs(1),
            rows: 200_000,
            drains: 2,
            messages: 20_000,
            journeys: 50,
            crowd: 500,
            scenario_rounds: 1,
            growth: Growth {
                backlog: [100_000, 200_000, 400_000],
                rows: [0, 10_000, 100_000],
                payments: [0, 1_000, 10_000],
            },
            rows_per_day: 500,
            ..Self::full()
        }
    }
}
