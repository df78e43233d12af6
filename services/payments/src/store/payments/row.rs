//! A row of the table `payment`, as domain types.

use chrono::{DateTime, Utc};
use contracts::{Money, OrderId, PaymentId};
use database::{Result, unreadable};
use diesel::prelude::*;
use envelope::{OperationId, TenantId};
use uuid::Uuid;

use crate::domain::payment::{Payment, State, Status};
use crate::domain::refund::Refundable;
use crate::domain::{Fee, ProcessorReference};
use crate::schema::payment;

/// A stored payment.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = payment)]
pub(crate) struct PaymentRow {
    pub(crate) id: Uuid,
    pub(super) tenant_id: String,
    pub(super) order_id: Option<Uuid>,
    pub(super) amount: i64,
    pub(super) currency: String,
    pub(crate) payment_method: String,
    pub(super) state: Status,
    pub(super) cancel_requested: bool,
    pub(super) decline_code: Option<String>,
    pub(super) processor_intent: Option<String>,
    pub(super) processor_charge: Option<String>,
    pub(crate) refund_reserved: i64,
    /// The order is confirmed.
    pub(crate) confirmed: bool,
    pub(super) fee: Option<i64>,
    pub(super) fee_currency: Option<String>,
    pub(super) fee_transaction: Option<String>,
    pub(super) operation_id: Option<Uuid>,
    pub(crate) reference: Option<String>,
    pub(crate) sequence: i64,
    pub(crate) expires_at: DateTime<Utc>,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) updated_at: DateTime<Utc>,
}

impl PaymentRow {
    pub(crate) fn id(&self) -> PaymentId {
        self.id.into()
    }

    pub(crate) fn tenant(&self) -> Result<TenantId> {
        self.tenant_id.parse().map_err(|_| unreadable("payment.tenant_id"))
    }

    pub(crate) fn order(&self) -> Option<OrderId> {
        self.order_id.map(OrderId::from)
    }

    /// The operation of the client's command; `None` if a message created the payment.
    pub(crate) fn operation(&self) -> Option<OperationId> {
        self.operation_id.map(OperationId::from)
    }

    pub(crate) fn amount(&self) -> Result<Money> {
        self.in_its_currency(self.amount)
    }

    /// Returns an amount in minor units of the payment's currency.
    pub(crate) fn in_its_currency(&self, amount: i64) -> Result<Money> {
        let currency = self.currency.parse().map_err(|_| unreadable("payment.currency"))?;
        Ok(Money::new(amount, currency))
    }

    /// The processor's fee, once it is known.
    fn fee(&self) -> Option<Fee> {
        let (balance_transaction, currency) = (self.fee_transaction.clone()?, self.fee_currency.clone()?);
        Some(Fee { balance_transaction, amount: self.fee?, currency })
    }

    /// Sets the part that a decision has changed.
    pub(crate) fn set(&mut self, payment: &Payment) {
        let reference = if let State::Captured(reference) = &payment.state { Some(reference) } else { None };
        let code = if let State::Declined { code } = &payment.state { Some(code) } else { None };
        let fee = reference.and_then(|reference| reference.fee.as_ref());
        self.state = Status::from(&payment.state);
        self.cancel_requested = payment.cancel_requested;
        self.decline_code = code.cloned();
        self.processor_intent = reference.map(|reference| reference.id.clone());
        self.processor_charge = reference.and_then(|reference| reference.charge.clone());
        self.fee = fee.map(|fee| fee.amount);
        self.fee_currency = fee.map(|fee| fee.currency.clone());
        self.fee_transaction = fee.map(|fee| fee.balance_transaction.clone());
    }

    /// Reads the part that a decision needs.
    pub(crate) fn payment(&self) -> Result<Payment> {
        Ok(Payment { state: self.state()?, cancel_requested: self.cancel_requested, is_restored: false })
    }

    /// Reads the part that decides about its refunds.
    pub(crate) fn refundable(&self) -> Result<Refundable> {
        Ok(Refundable {
            id: self.id(),
            payment: self.payment()?,
            awaits_confirmation: self.order_id.is_some() && !self.confirmed,
            total: self.amount()?,
            reserved: self.refund_reserved,
        })
    }

    /// The time at which the payment was requested, which is before a request for it can have been sent.
    pub(crate) fn requested_at(&self) -> Result<DateTime<Utc>> {
        let time = i64::try_from(self.id().requested_at()).ok().and_then(DateTime::from_timestamp_millis);
        time.ok_or_else(|| unreadable("payment.id"))
    }

    pub(crate) fn state(&self) -> Result<State> {
        match self.state {
            Status::Requested => Ok(State::Requested),
            Status::Capturing => Ok(State::Capturing),
            Status::Captured => {
                let id =
                    self.processor_intent.clone().ok_or_else(|| unreadable("payment.processor_intent"))?;
                Ok(State::Captured(ProcessorReference {
                    id,
                    charge: self.processor_charge.clone(),
                    fee: self.fee(),
                }))
            }
            Status::Declined => {
                let code = self.decline_code.clone().ok_or_else(|| unreadable("payment.decline_code"))?;
                Ok(State::Declined { code })
            }
            Status::Unknown => Ok(State::Unknown),
            Status::Cancelled => Ok(State::Cancelled),
        }
    }
}
