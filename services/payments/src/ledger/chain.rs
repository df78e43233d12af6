//! What a seal covers: one form of a transaction and its entries, with the hash before it.
//!
//! Numbers are big-endian of a fixed length; a text is preceded by its length in bytes (4 bytes), so that no two
//! transactions have the same form. `audits/payments/the_ledger_is_sealed.sql` computes the same in SQL.

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// The form's name: another form is another name.
const FORM: &str = "idem.ledger.v1";

/// A seal's SHA-256.
pub(crate) type Hash = [u8; 32];

/// Before the first seal.
pub(crate) const GENESIS: Hash = [0; 32];

/// A committed transaction, with everything that its seal covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Posted {
    pub(crate) id: i64,
    pub(crate) tenant: String,
    pub(crate) kind: String,
    pub(crate) cause: String,
    pub(crate) payment: Uuid,
    pub(crate) refund: Option<Uuid>,
    pub(crate) recorded_at: DateTime<Utc>,
    /// By line.
    pub(crate) entries: Vec<PostedEntry>,
}

/// One of its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PostedEntry {
    pub(crate) line: i16,
    pub(crate) tenant: String,
    pub(crate) account: String,
    pub(crate) currency: String,
    pub(crate) amount: i64,
}

/// The seal of this transaction at this place of the chain.
pub(crate) fn seal(previous: &Hash, position: i64, posted: &Posted) -> Hash {
    let mut form = Form(Sha256::new());
    form.text(FORM).bytes(previous).number(position);
    form.number(posted.id).text(&posted.tenant).text(&posted.kind).text(&posted.cause);
    form.bytes(posted.payment.as_bytes());
    // None is the nil UUID, which nobody has.
    form.bytes(posted.refund.unwrap_or_default().as_bytes());
    form.number(posted.recorded_at.timestamp_micros());
    form.number(i64::try_from(posted.entries.len()).unwrap_or(i64::MAX));
    for entry in &posted.entries {
        form.number(entry.line.into()).text(&entry.tenant).text(&entry.account).text(&entry.currency);
        form.number(entry.amount);
    }
    form.0.finalize().into()
}

/// As people and events write it.
pub(crate) fn hexadecimal(hash: &[u8]) -> String {
    use std::fmt::Write;
    hash.iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

struct Form(Sha256);

impl Form {
    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update(bytes);
        self
    }

    fn number(&mut self, number: i64) -> &mut Self {
        self.bytes(&number.to_be_bytes())
    }

    fn text(&mut self, text: &str) -> &mut Self {
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        self.bytes(&length.to_be_bytes()).bytes(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn posted() -> Posted {
        let entry = |line, account: &str, amount| PostedEntry {
            line,
            tenant: "acme".to_owned(),
            account: account.to_owned(),
            currency: "EUR".to_owned(),
            amount,
        };
        Posted {
            id: 7,
            tenant: "acme".to_owned(),
            kind: "capture".to_owned(),
            cause: "c".to_owned(),
            payment: Uuid::from_u128(1),
            refund: None,
            recorded_at: DateTime::from_timestamp_micros(1_700_000_000_000_001).unwrap(),
            entries: vec![entry(1, "receivable", 450), entry(2, "clearing", -450)],
        }
    }

    #[test]
    fn a_seal_covers_everything_that_a_transaction_says_and_where_it_stands() {
        let (sound, hash) = (posted(), seal(&GENESIS, 1, &posted()));
        let changes: [fn(&mut Posted); 13] = [
            |p| p.id = 8,
            |p| p.tenant = "other".to_owned(),
            |p| p.kind = "refund".to_owned(),
            |p| p.cause = "d".to_owned(),
            |p| p.payment = Uuid::from_u128(2),
            |p| p.refund = Some(Uuid::from_u128(2)),
            |p| p.recorded_at = DateTime::from_timestamp_micros(1_700_000_000_000_002).unwrap(),
            |p| p.entries[0].amount = 451,
            |p| p.entries[1].account = "revenue".to_owned(),
            |p| p.entries[1].currency = "USD".to_owned(),
            |p| p.entries[1].tenant = "other".to_owned(),
            |p| p.entries[1].line = 3,
            |p| p.entries.truncate(1),
        ];
        for (number, change) in changes.iter().enumerate() {
            let mut changed = sound.clone();
            change(&mut changed);
            assert_ne!(seal(&GENESIS, 1, &changed), hash, "change {number}");
        }
        assert_ne!(seal(&GENESIS, 2, &sound), hash, "another place");
        assert_ne!(seal(&hash, 1, &sound), hash, "another past");
    }

    #[test]
    fn texts_cannot_be_moved_from_one_field_to_the_next() {
        let mut moved = posted();
        (moved.kind, moved.cause) = ("capturec".to_owned(), String::new());
        assert_ne!(seal(&GENESIS, 1, &moved), seal(&GENESIS, 1, &posted()));
    }

    /// A change of the form makes every seal that was ever written wrong: it needs a new name, and both are read.
    #[test]
    fn the_form_is_the_one_that_was_written_before() {
        assert_eq!(
            hexadecimal(&seal(&GENESIS, 1, &posted())),
            "4861e6f7035189ff471b8597363286fdc7484fa32736f1f4145999f1a1409ddc"
        );
    }
}
