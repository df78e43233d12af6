//! Promises 6 and 7 across databases and topics, for one tenant: what was committed is on its topic, nothing else is,
//! the first occurrences are in order, and each consumer has entered each message once.

use std::collections::{BTreeMap, BTreeSet};

use contracts::Stream;
use uuid::Uuid;

use crate::books::Row;
use crate::kafka::{READERS, Said};
use crate::stack::Part;
use crate::trouble::Trouble;
use crate::world::World;

/// What a tenant's services have committed, said and heard.
pub(crate) struct Delivery {
    rows: Vec<Row>,
    said: Vec<Said>,
    entered: BTreeMap<Part, Vec<Uuid>>,
}

impl Delivery {
    pub(crate) async fn read(world: &World<'_>) -> Result<Self, Trouble> {
        let (mut rows, mut entered) = (Vec::new(), BTreeMap::new());
        for part in Part::SERVICES {
            rows.extend(world.books.outbox(part, &world.tenant).await?);
            entered.insert(part, world.books.inbox(part).await?);
        }
        Ok(Self { rows, said: world.kafka.said(&world.tenant).await?, entered })
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn messages(&self) -> usize {
        self.said.len()
    }

    /// Messages that stand on a topic more than once.
    pub(crate) fn repeats(&self) -> usize {
        self.messages() - self.said.iter().map(|said| said.envelope.id).collect::<BTreeSet<_>>().len()
    }

    /// How many messages consumers have entered, each counted for each of its readers.
    pub(crate) fn entered(&self) -> usize {
        READERS
            .iter()
            .map(|(reader, stream)| self.ids_of(*stream).intersection(&self.entered_by(*reader)).count())
            .sum()
    }

    /// Rows that are not on their topic as they were committed, and messages that nobody committed.
    pub(crate) fn unpublished(&self) -> Vec<String> {
        let said: BTreeMap<Uuid, &Said> =
            self.said.iter().map(|said| (said.envelope.id.uuid(), said)).collect();
        let committed: BTreeSet<Uuid> = self.rows.iter().map(|row| row.event_id).collect();
        let lost = self.rows.iter().filter_map(|row| match said.get(&row.event_id) {
            None => Some(format!("{} {} is committed, but not on {}", row.kind, row.event_id, row.topic)),
            Some(said) if !is_same(row, said) => {
                Some(format!("{} {} is on {} with other contents", row.kind, row.event_id, row.topic))
            }
            Some(_) => None,
        });
        let invented = said.iter().filter(|(id, _)| !committed.contains(id)).map(|(id, said)| {
            format!("{} {id} is on {}, but was never committed", said.envelope.kind, said.stream.topic())
        });
        lost.chain(invented).collect()
    }

    /// Aggregates whose messages did not first appear as 1, 2, 3 and so on in one partition.
    pub(crate) fn disordered(&self) -> Vec<String> {
        let mut histories: BTreeMap<(Stream, Uuid), (BTreeSet<i32>, Vec<i64>)> = BTreeMap::new();
        let mut by_place: Vec<&Said> = self.said.iter().collect();
        by_place.sort_by_key(|said| (said.stream, said.partition, said.offset));
        for said in by_place {
            let (partitions, sequences) =
                histories.entry((said.stream, said.envelope.aggregate)).or_default();
            partitions.insert(said.partition);
            if !sequences.contains(&said.envelope.sequence) {
                sequences.push(said.envelope.sequence);
            }
        }
        let in_order =
            |sequences: &[i64]| sequences.iter().copied().eq(1..=i64::try_from(sequences.len()).unwrap_or(0));
        histories
            .into_iter()
            .filter(|(_, (partitions, sequences))| partitions.len() != 1 || !in_order(sequences))
            .map(|((stream, aggregate), (partitions, sequences))| {
                format!(
                    "{aggregate} of {}: partitions {partitions:?}, in the order {sequences:?}",
                    stream.topic()
                )
            })
            .collect()
    }

    /// Messages that a consumer has not entered although it reads them.
    pub(crate) fn unheard(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (reader, stream) in READERS {
            let entered = self.entered_by(reader);
            let missing = self.ids_of(stream).into_iter().filter(|id| !entered.contains(id));
            found.extend(
                missing.map(|id| format!("{} has not entered {id} of {}", reader.name(), stream.topic())),
            );
        }
        found
    }

    fn ids_of(&self, stream: Stream) -> BTreeSet<Uuid> {
        self.said.iter().filter(|said| said.stream == stream).map(|said| said.envelope.id.uuid()).collect()
    }

    fn entered_by(&self, reader: Part) -> BTreeSet<Uuid> {
        self.entered.get(&reader).into_iter().flatten().copied().collect()
    }
}

/// Whether the message is the row: same topic, key, type, place in its history, and bytes.
fn is_same(row: &Row, said: &Said) -> bool {
    let (envelope, topic) = (&said.envelope, said.stream.topic());
    row.topic == topic
        && said.key == Some(row.partition_key)
        && envelope.aggregate == row.aggregate_id
        && envelope.sequence == row.sequence
        && envelope.kind == row.kind
        && said.payload == row.payload
}

#[cfg(test)]
mod tests;
