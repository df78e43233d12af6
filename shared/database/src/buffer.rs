//! Rows that have no result wait in the transaction and are written in one go.

use std::any::{Any, TypeId};

use futures_util::future::{BoxFuture, try_join_all};

use crate::{Error, Tx};

/// A row that can wait until the end of its transaction.
pub trait Buffered: Send + Sync + Sized + 'static {
    /// Writes all rows of this type. Every buffered type is written at the same time, pipelined over `&Tx`, so one
    /// type must not depend on another's rows.
    fn write(rows: Vec<Self>, tx: &Tx) -> BoxFuture<'_, Result<(), Error>>;
}

type Row = Box<dyn Any + Send + Sync>;
type Write = fn(Vec<Row>, &Tx) -> BoxFuture<'_, Result<(), Error>>;

/// One row, with the function that knows how to write it and its like.
pub(crate) struct Pending {
    kind: TypeId,
    row: Row,
    write: Write,
}

impl Pending {
    pub(crate) fn new<R: Buffered>(row: R) -> Self {
        Self { kind: TypeId::of::<R>(), row: Box::new(row), write: write_all::<R> }
    }
}

fn write_all<R: Buffered>(rows: Vec<Row>, tx: &Tx) -> BoxFuture<'_, Result<(), Error>> {
    let rows = rows.into_iter().filter_map(|row| row.downcast::<R>().ok().map(|row| *row)).collect();
    R::write(rows, tx)
}

/// Writes everything, each type in the order of its appends.
pub(crate) async fn write(pending: Vec<Pending>, tx: &Tx) -> Result<(), Error> {
    let mut groups: Vec<(TypeId, Write, Vec<Row>)> = Vec::new();
    for Pending { kind, row, write } in pending {
        match groups.iter_mut().find(|(k, ..)| *k == kind) {
            Some((_, _, rows)) => rows.push(row),
            None => groups.push((kind, write, vec![row])),
        }
    }
    try_join_all(groups.into_iter().map(|(_, write, rows)| write(rows, tx))).await.map(drop)
}
