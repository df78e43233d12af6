//! The records of the ledger and of the processor, as the audits read them.

use diesel::sql_query;
use diesel_async::RunQueryDsl;
use harness::payments::AmountOwed;

use super::run::Run;

impl Run {
    /// Our ledger.
    pub(super) async fn ledger(&self) -> Vec<AmountOwed> {
        sql_query(AmountOwed::LEDGER).load(&mut self.stage.database.owner().await).await.unwrap()
    }

    /// The processor's balance.
    pub(super) async fn balance(&self) -> Vec<AmountOwed> {
        sql_query(AmountOwed::BALANCE).load(&mut self.stand_in.books.owner().await).await.unwrap()
    }
}
