//! The tables `ledger_transaction` and `ledger_entry`. The service's database role can only insert and read.

use std::collections::BTreeSet;

use contracts::{PaymentId, RefundId};
use database::{Buffered, InsertRows, Rows, Tx, UnitOfWork, WithRows, Write};
use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::sql_types::{BigInt, SmallInt, Text};
use envelope::TenantId;

use crate::domain::ledger::{Posting, PostingKind};
use crate::schema::ledger_transaction;

/// A posting to add.
#[derive(Debug)]
pub(crate) struct NewPosting {
    pub(crate) tenant: TenantId,
    pub(crate) posting: Posting,
    /// The id of the payment, order, refund or balance transaction. Each kind is posted once for a cause.
    pub(crate) cause: String,
    pub(crate) payment: PaymentId,
    pub(crate) refund: Option<RefundId>,
}

/// Adds a posting with its entries, unless its amount is zero. A posting that is stored already stays as it is.
pub(crate) fn add(tx: &mut Tx, new: NewPosting) {
    if !new.posting.entries().is_empty() {
        tx.buffer(new);
    }
}

impl Buffered for NewPosting {
    fn writes(mut rows: Vec<Self>) -> Vec<Write> {
        let mut seen = BTreeSet::new();
        rows.retain(|new| seen.insert((<&str>::from(new.posting.kind()), new.cause.clone())));
        let entries = entries_of(&rows);
        let transactions = InsertRows::new(ledger_transaction::table, rows)
            .column(ledger_transaction::tenant_id, |new| new.tenant.to_string())
            .column(ledger_transaction::kind, |new| new.posting.kind())
            .column(ledger_transaction::cause, |new| new.cause.clone())
            .column(ledger_transaction::payment_id, |new| new.payment.uuid())
            .column(ledger_transaction::refund_id, |new| new.refund.map(RefundId::uuid));
        vec![Write::named("posted", Transactions(transactions)), Write::new(entries)]
    }
}

/// Returns the transactions that were not there.
struct Transactions(InsertRows<ledger_transaction::table, NewPosting>);

impl QueryFragment<Pg> for Transactions {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        self.0.walk_ast(out.reborrow())?;
        out.push_sql(" ON CONFLICT DO NOTHING RETURNING id, tenant_id, kind, cause");
        Ok(())
    }
}

/// Inserts the entries of the transactions that were not there, so that entries always have the id of their own transaction.
fn entries_of(postings: &[NewPosting]) -> WithRows<()> {
    let entry = |new: &NewPosting| {
        let (kind, cause) = (new.posting.kind(), new.cause.clone());
        let entries = new.posting.entries().into_iter();
        (1_i16..)
            .zip(entries)
            .map(move |(line, entry)| (kind, cause.clone(), line, entry))
            .collect::<Vec<_>>()
    };
    let entries: Vec<_> = postings.iter().flat_map(entry).collect();
    let rows = Rows::default()
        .column::<Text, PostingKind>("kind", entries.iter().map(|(kind, ..)| *kind))
        .column::<Text, String>("cause", entries.iter().map(|(_, cause, ..)| cause.clone()))
        .column::<SmallInt, i16>("line", entries.iter().map(|(_, _, line, _)| *line))
        .column::<Text, _>("account", entries.iter().map(|(.., entry)| entry.account))
        .column::<Text, _>("currency", entries.iter().map(|(.., entry)| entry.amount.currency.code()))
        .column::<BigInt, _>("amount", entries.iter().map(|(.., entry)| entry.amount.amount));
    WithRows::new(
        "INSERT INTO ledger_entry (transaction_id, line, tenant_id, account, currency, amount) \
         SELECT posted.id, given.line, posted.tenant_id, given.account, given.currency, given.amount FROM ",
        rows,
        " JOIN posted ON posted.kind = given.kind AND posted.cause = given.cause",
    )
}
