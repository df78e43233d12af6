//! `payments ledger verify`: believes nothing that is stored, and names what does not agree.

use std::str::FromStr;

use clap::{Args, Subcommand};
use database::{Database, Result, Tx};
use runtime::{CommandOutput, table};
use serde::Serialize;

use super::chain::{self, GENESIS, hexadecimal};
use crate::store::{ledger_checks, seals};

/// Places of the chain that are read at a time.
const PAGE: i64 = 1_000;

/// The commands below `payments ledger`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compute everything anew: sums, hashes, and what payments and refunds say; the exit code is 0 if all agrees
    Verify(Verify),
}

impl Command {
    pub(crate) async fn run(self, database: &Database) -> Result<CommandOutput> {
        match self {
            Self::Verify(verify) => verify.run(database).await,
        }
    }
}

/// The arguments.
#[derive(Debug, Args)]
pub struct Verify {
    /// A head that was published (`payments.LedgerSealed.v1`): the chain must hold it
    #[arg(long, value_name = "POSITION:HASH")]
    head: Option<Published>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A head that somebody kept.
#[derive(Debug, Clone)]
struct Published {
    position: i64,
    hash: String,
}

impl FromStr for Published {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        const FORM: &str = "a position, a colon and 64 hexadecimal digits, such as 42:5e…";
        let (position, hash) = text.split_once(':').ok_or(FORM)?;
        let position = position.parse().ok().filter(|position| *position >= 1).ok_or(FORM)?;
        if hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(FORM);
        }
        Ok(Self { position, hash: hash.to_ascii_lowercase() })
    }
}

/// What was found.
#[derive(Debug, Serialize)]
struct Report {
    transactions: i64,
    entries: i64,
    sealed: i64,
    head: String,
    agrees: bool,
    checks: Vec<Check>,
}

/// One thing that must hold, and where it does not.
#[derive(Debug, Serialize)]
struct Check {
    check: &'static str,
    differences: Vec<String>,
}

impl Verify {
    async fn run(self, database: &Database) -> Result<CommandOutput> {
        let mut tx = ledger_checks::moment(database).await?;
        let size = ledger_checks::size(&mut tx).await?;
        let mut checks = Vec::new();
        for (check, question) in ledger_checks::QUESTIONS {
            checks.push(Check { check, differences: ledger_checks::ask(&mut tx, question).await? });
        }
        let chain = Chain::read(&mut tx, self.head.as_ref()).await?;
        let unsealed = ledger_checks::unsealed(&mut tx).await?;
        tx.rollback().await?;
        checks.push(Check { check: "the chain holds", differences: chain.differences });
        checks.push(Check { check: "nothing waits to be sealed", differences: unsealed });
        let report = Report {
            transactions: size.transactions,
            entries: size.entries,
            sealed: chain.position,
            head: hexadecimal(&chain.hash),
            agrees: checks.iter().all(|check| check.differences.is_empty()),
            checks,
        };
        Ok(CommandOutput::new(self.json, report.agrees, &report, Report::text))
    }
}

/// The chain, as far as it was read.
struct Chain {
    position: i64,
    /// As it is stored: each seal is checked against what is stored before it, so that one change is named once.
    hash: Vec<u8>,
    differences: Vec<String>,
}

impl Chain {
    async fn read(tx: &mut Tx, published: Option<&Published>) -> Result<Self> {
        let mut chain = Self { position: 0, hash: GENESIS.to_vec(), differences: Vec::new() };
        loop {
            let places = seals::chain(tx, chain.position, PAGE).await?;
            if places.is_empty() {
                break;
            }
            for (posted, seal) in places {
                chain.extend(&posted, seal, published);
            }
        }
        let head = seals::head(tx).await?;
        if (head.position, head.hash.as_slice()) != (chain.position, chain.hash.as_slice()) {
            chain.differences.push(format!(
                "the head is at position {} with {}, but the chain ends at {} with {}",
                head.position,
                hexadecimal(&head.hash),
                chain.position,
                hexadecimal(&chain.hash)
            ));
        }
        if let Some(Published { position, .. }) = published
            && *position > chain.position
        {
            let end = chain.position;
            chain.differences.push(format!("position {position} was published, but the chain ends at {end}"));
        }
        Ok(chain)
    }

    fn extend(&mut self, posted: &chain::Posted, seal: seals::Seal, published: Option<&Published>) {
        let (position, id) = (seal.position, posted.id);
        if position != self.position + 1 {
            let (first, last) = (self.position + 1, position - 1);
            self.differences.push(format!("positions {first} to {last} are missing"));
        }
        let computed = <[u8; 32]>::try_from(self.hash.as_slice())
            .is_ok_and(|before| chain::seal(&before, position, posted).as_slice() == seal.hash);
        if !computed {
            self.differences
                .push(format!("transaction {id} at position {position} is not what was sealed there"));
        }
        if let Some(published) = published.filter(|published| published.position == position)
            && published.hash != hexadecimal(&seal.hash)
        {
            self.differences.push(format!(
                "{} was published for position {position}, but {} stands there",
                published.hash,
                hexadecimal(&seal.hash)
            ));
        }
        (self.position, self.hash) = (position, seal.hash);
    }
}

impl Report {
    fn text(&self) -> String {
        let rows: Vec<Vec<String>> = self
            .checks
            .iter()
            .map(|check| vec![check.check.to_owned(), check.differences.len().to_string()])
            .collect();
        let mut text = format!(
            "{} transactions with {} entries, {} sealed, head {}\n\n",
            self.transactions, self.entries, self.sealed, self.head
        );
        text.push_str(&table::table(&["check", "differences"], &rows));
        for difference in self.checks.iter().flat_map(|check| &check.differences) {
            text.extend(["\n", difference]);
        }
        text.push_str(if self.agrees { "\nthe ledger agrees\n" } else { "\n\nthe ledger does not agree\n" });
        text
    }
}
