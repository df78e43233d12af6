//! Reads of the databases of payments and of the processor.
#![expect(missing_docs, reason = "columns, by the names that the statements give them")]

use diesel::sql_types::{Array, BigInt, Bool, Nullable, Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use uuid::Uuid;

use super::{BooksAgree, Settlement};
use crate::{Books, Part, Result};

/// A payment in our books.
#[derive(Debug, QueryableByName)]
pub struct StoredPayment {
    #[diesel(sql_type = SqlUuid)]
    pub id: Uuid,
    #[diesel(sql_type = Text)]
    pub tenant_id: String,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    pub order_id: Option<Uuid>,
    #[diesel(sql_type = BigInt)]
    pub amount: i64,
    #[diesel(sql_type = Text)]
    pub currency: String,
    #[diesel(sql_type = Text)]
    pub state: String,
    /// The sum of the succeeded refunds that clients requested.
    #[diesel(sql_type = BigInt)]
    pub refunded: i64,
    /// The same, plus requested refunds that have not ended.
    #[diesel(sql_type = BigInt)]
    pub refundable: i64,
}

impl StoredPayment {
    /// The query for these rows.
    pub const QUERY: &str = include_str!("facts/payments.sql");
}

/// A charge in the processor's books, or a declined one.
#[derive(Debug, QueryableByName)]
pub struct Charge {
    #[diesel(sql_type = Text)]
    pub id: String,
    /// The reference that payments sent to the processor.
    #[diesel(sql_type = Nullable<Text>)]
    pub payment: Option<String>,
    #[diesel(sql_type = BigInt)]
    pub amount: i64,
    #[diesel(sql_type = BigInt)]
    pub refunded: i64,
    #[diesel(sql_type = Text)]
    pub currency: String,
    #[diesel(sql_type = Bool)]
    pub succeeded: bool,
}

impl Charge {
    /// The query for these rows.
    pub const QUERY: &str = include_str!("facts/charges.sql");

    /// The payment of the charge.
    pub fn payment(&self) -> Option<Uuid> {
        self.payment.as_deref().and_then(|text| text.parse().ok())
    }
}

/// The amount that the processor owes us for a payment, in our ledger or in its own balance.
#[derive(Debug, Clone, QueryableByName)]
pub struct AmountOwed {
    #[diesel(sql_type = Nullable<Text>)]
    pub payment: Option<String>,
    #[diesel(sql_type = Text)]
    pub currency: String,
    /// The amount less the fees.
    #[diesel(sql_type = BigInt)]
    pub owed: i64,
    /// The fees.
    #[diesel(sql_type = BigInt)]
    pub fees: i64,
}

impl AmountOwed {
    /// The query to payments.
    pub const LEDGER: &str = include_str!("facts/ledger.sql");
    /// The query to the processor.
    pub const BALANCE: &str = include_str!("facts/balance.sql");
}

impl Books {
    /// Every payment, as payments knows it.
    pub async fn payments(&self) -> Result<Vec<StoredPayment>> {
        self.load(Part::PAYMENTS, sql_query(StoredPayment::QUERY)).await
    }

    /// Every charge in the processor's books, declined ones included.
    pub async fn charges(&self) -> Result<Vec<Charge>> {
        self.load(Part::PROVIDER, sql_query(Charge::QUERY)).await
    }

    /// All orders with their money.
    pub async fn settlement(&self) -> Result<Settlement> {
        Ok(Settlement::of(self.orders().await?, self.payments().await?, self.charges().await?))
    }

    /// Returns the amount owed and the fees of each payment: by our ledger, and by the processor's balance.
    pub async fn amounts_owed(&self) -> Result<[Vec<AmountOwed>; 2]> {
        let ledger = self.load(Part::PAYMENTS, sql_query(AmountOwed::LEDGER)).await?;
        Ok([ledger, self.load(Part::PROVIDER, sql_query(AmountOwed::BALANCE)).await?])
    }

    /// Returns whether our ledger and the processor's balance say the same.
    pub async fn books_agree(&self) -> Result<BooksAgree> {
        let [ledger, balance] = self.amounts_owed().await?;
        Ok(BooksAgree::of(ledger, balance))
    }

    /// Returns how many calls to the processor are not finished.
    pub async fn calls_due(&self) -> Result<i64> {
        self.count(Part::PAYMENTS, "SELECT count(*) FROM processor_call WHERE due_at IS NOT NULL").await
    }

    /// Returns how many decisions of banks, and how many webhooks, the processor has still to make.
    pub async fn promised_by_processor(&self) -> Result<i64> {
        let query = "SELECT (SELECT count(*) FROM bank_decision) + (SELECT count(*) FROM delivery WHERE due_at IS NOT NULL) AS count";
        self.count(Part::PROVIDER, query).await
    }

    /// Returns how many charges and refunds the processor has made for these payments.
    pub async fn made_by_processor(&self, payments: &[Uuid]) -> Result<(usize, usize)> {
        #[derive(QueryableByName)]
        struct Made {
            #[diesel(sql_type = BigInt)]
            charges: i64,
            #[diesel(sql_type = BigInt)]
            refunds: i64,
        }
        let query = sql_query(
            "WITH own AS (SELECT id FROM payment_intent WHERE metadata ->> 'reference' = ANY ($1))
             SELECT (SELECT count(*) FROM charge WHERE payment_intent IN (SELECT id FROM own)) AS charges,
                    (SELECT count(*) FROM refund WHERE payment_intent IN (SELECT id FROM own)) AS refunds",
        );
        let references: Vec<String> = payments.iter().map(Uuid::to_string).collect();
        let made: Made = self.one(Part::PROVIDER, query.bind::<Array<Text>, _>(references)).await?;
        let count = |number: i64| usize::try_from(number).unwrap_or_default();
        Ok((count(made.charges), count(made.refunds)))
    }
}
