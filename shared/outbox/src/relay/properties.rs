//! Histories of transactions and relays: no committed row is skipped, and the rows of an aggregate come in order.
//!
//! The model is that of the database: a transaction draws its number before its first id, and its ids while it holds the lock of its
//! aggregate. A relay reads, is stopped anywhere, and the next one begins with the cursor that the last checkpoint wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use proptest::prelude::*;

use super::gaps::{Ranges, range};
use super::log_reader::{LogReader, Look, PageQuery};

const AGGREGATES: usize = 3;

#[derive(Debug, Clone)]
enum Step {
    /// The transaction of this aggregate draws a number, if it has none.
    DrawNumber(usize),
    /// The transaction of this aggregate draws an id.
    DrawId(usize),
    Commit(usize),
    RollBack(usize),
    /// A read of at most so many rows. After its snapshot, and before the number that it draws, these steps happen.
    Read(i64, Vec<Step>),
    /// Kafka acknowledges the first of the rows under way, so many.
    Acknowledge(usize),
    Checkpoint,
    /// The relay is killed, and another one begins.
    TakeOver,
}

#[derive(Debug, Default, Clone)]
struct Transaction {
    number: Option<i64>,
    ids: Vec<i64>,
}

#[derive(Debug, Default)]
struct World {
    last_number: i64,
    last_id: i64,
    /// The open transaction of each aggregate, which holds the lock.
    open: [Transaction; AGGREGATES],
    /// Committed rows with their aggregates.
    rows: BTreeMap<i64, usize>,
    reader: LogReader,
    under_way: Vec<i64>,
    /// The rows as they were published, repeated ones too.
    published: Vec<i64>,
    cursor: (i64, Ranges),
}

impl World {
    fn run(&mut self, step: &Step) {
        match *step {
            Step::DrawNumber(aggregate) => self.draw_number(aggregate),
            Step::DrawId(aggregate) => {
                self.draw_number(aggregate);
                self.last_id += 1;
                self.open[aggregate].ids.push(self.last_id);
            }
            Step::Commit(aggregate) => {
                let ended = std::mem::take(&mut self.open[aggregate]);
                self.rows.extend(ended.ids.into_iter().map(|id| (id, aggregate)));
            }
            Step::RollBack(aggregate) => self.open[aggregate] = Transaction::default(),
            Step::Read(limit, ref meanwhile) => self.read(limit, meanwhile),
            Step::Acknowledge(rows) => drop(self.under_way.drain(..rows.min(self.under_way.len()))),
            Step::Checkpoint => self.checkpoint(),
            Step::TakeOver => {
                let (position, gaps) = self.cursor.clone();
                self.reader = LogReader::new(position, gaps.into());
                self.under_way.clear();
            }
        }
    }

    fn draw_number(&mut self, aggregate: usize) {
        if self.open[aggregate].number.is_none() {
            self.last_number += 1;
            self.open[aggregate].number = Some(self.last_number);
        }
    }

    /// One statement: its snapshot, what others do, and the number that it draws.
    fn read(&mut self, limit: i64, meanwhile: &[Step]) {
        let PageQuery { position, gaps, draws_xid, limit } = self.reader.next_page(limit);
        let is_in_a_gap = |id: i64| gaps.iter().any(|(first, end)| is_within(id, *first, *end));
        let found = self.rows.keys().copied().filter(|id| *id > position || is_in_a_gap(*id));
        let ids: Vec<i64> = found.take(usize::try_from(limit).unwrap()).collect();
        let xmin = self.open.iter().filter_map(|open| open.number).min().unwrap_or(self.last_number + 1);
        for step in meanwhile {
            self.run(step);
        }
        let drawn_xid = draws_xid.then(|| {
            self.last_number += 1;
            self.last_number
        });
        let is_full = ids.len() == usize::try_from(limit).unwrap();
        let look = (!gaps.is_empty()).then_some(Look { xmin, drawn_xid });
        self.reader.pass_ids(&ids, is_full, look);
        self.under_way.extend(&ids);
        self.published.extend(ids);
    }

    fn checkpoint(&mut self) {
        let undone = self.under_way.iter().map(|id| range(*id..=*id));
        self.cursor = (self.reader.position(), self.reader.gaps().into_iter().chain(undone).collect());
    }

    /// Ends every transaction, and reads until nothing is found.
    fn come_to_rest(&mut self) {
        (0..AGGREGATES).for_each(|aggregate| self.run(&Step::Commit(aggregate)));
        loop {
            let before = self.published.len();
            (0..2).for_each(|_| self.read(100, &[]));
            if self.published.len() == before {
                return;
            }
        }
    }
}

fn is_within(id: i64, first: Bound<i64>, end: Bound<i64>) -> bool {
    std::ops::RangeBounds::contains(&(first, end), &id)
}

fn transaction_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => (0..AGGREGATES).prop_map(Step::DrawNumber),
        4 => (0..AGGREGATES).prop_map(Step::DrawId),
        3 => (0..AGGREGATES).prop_map(Step::Commit),
        1 => (0..AGGREGATES).prop_map(Step::RollBack),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => transaction_step(),
        4 => (1..5_i64, prop::collection::vec(transaction_step(), 0..3))
            .prop_map(|(limit, meanwhile)| Step::Read(limit, meanwhile)),
        2 => (0..4_usize).prop_map(Step::Acknowledge),
        2 => Just(Step::Checkpoint),
        1 => Just(Step::TakeOver),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn no_committed_row_is_skipped_and_the_rows_of_an_aggregate_come_in_order(
        steps in prop::collection::vec(step(), 0..60),
    ) {
        let mut world = World::default();
        for step in &steps {
            world.run(step);
        }
        world.come_to_rest();
        let mut seen = BTreeSet::new();
        let mut last_of = [0; AGGREGATES];
        for id in &world.published {
            if seen.insert(*id) {
                let last = &mut last_of[world.rows[id]];
                prop_assert!(*last < *id, "{last} came before {id}");
                *last = *id;
            }
        }
        prop_assert_eq!(seen, world.rows.keys().copied().collect(), "rows that were published, and rows");
        prop_assert_eq!(world.reader.gaps(), vec![], "gaps of ended transactions");
    }
}
