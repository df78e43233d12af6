//! Promises 4 and 5 across three databases: a confirmed order was paid once, in full; a cancelled order keeps no money. The
//! processor's own books show the money taken. Of a confirmed order, only what its client asked for may have gone back.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::{Charge, StoredPayment};
use crate::orders::StoredOrder;

/// All orders, payments and charges, of every tenant.
pub struct Settlement {
    orders: Vec<StoredOrder>,
    payments: BTreeMap<Uuid, StoredPayment>,
    charges: Vec<Charge>,
}

/// The figures of one tenant's orders.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// All orders.
    pub orders: usize,
    /// Confirmed orders.
    pub confirmed: usize,
    /// Cancelled orders.
    pub cancelled: usize,
    /// Captures of confirmed orders.
    pub captures: usize,
    /// Captures of cancelled orders.
    pub late_captures: usize,
    /// Captured minor units.
    pub taken: i64,
    /// Refunded minor units.
    pub refunded: i64,
    /// The price of the confirmed orders, in minor units.
    pub owed: i64,
}

impl Settlement {
    /// Joins the rows of all three databases.
    pub fn of(orders: Vec<StoredOrder>, payments: Vec<StoredPayment>, charges: Vec<Charge>) -> Self {
        let payments = payments.into_iter().map(|row| (row.id, row)).collect();
        Self { orders, payments, charges }
    }

    /// The violations, in sentences.
    pub fn violations(&self) -> Vec<String> {
        let captures = self.captures();
        let orders = self.orders.iter();
        let mut found: Vec<String> = orders.filter_map(|order| self.violation_of(order, &captures)).collect();
        found.extend(self.charges.iter().filter_map(|charge| self.violation_of_charge(charge)));
        found
    }

    /// The figures of a tenant.
    pub fn sum(&self, tenant: &str) -> Sum {
        let captures = self.captures();
        let mut sum = Sum::default();
        for order in self.orders.iter().filter(|order| order.tenant_id == tenant) {
            let own = captures_of(order, &captures);
            sum.orders += 1;
            match order.state.as_str() {
                "confirmed" => {
                    sum.confirmed += 1;
                    sum.captures += own.len();
                    sum.owed += order.amount;
                }
                "cancelled" => {
                    sum.cancelled += 1;
                    sum.late_captures += own.len();
                }
                _ => {}
            }
            sum.taken += own.iter().map(|charge| charge.amount).sum::<i64>();
            sum.refunded += own.iter().map(|charge| charge.refunded).sum::<i64>();
        }
        sum
    }

    /// Charges that succeeded, by payment.
    fn captures(&self) -> BTreeMap<Uuid, Vec<&Charge>> {
        let mut captures: BTreeMap<Uuid, Vec<&Charge>> = BTreeMap::new();
        for charge in self.charges.iter().filter(|charge| charge.succeeded) {
            if let Some(payment) = charge.payment() {
                captures.entry(payment).or_default().push(charge);
            }
        }
        captures
    }

    fn violation_of(&self, order: &StoredOrder, captures: &BTreeMap<Uuid, Vec<&Charge>>) -> Option<String> {
        let own = captures_of(order, captures);
        let kept: Vec<(i64, &str)> = own
            .iter()
            .map(|charge| (charge.amount - charge.refunded, charge.currency.as_str()))
            .filter(|(amount, _)| *amount != 0)
            .collect();
        let payment = order.payment_id.and_then(|id| self.payments.get(&id));
        let money = payment.map_or("none", |row| row.state.as_str());
        let settled = match order.state.as_str() {
            "confirmed" => {
                let went_back = payment.map_or(0..=0, |row| row.refunded..=row.refundable);
                let paid = |charge: &Charge| {
                    (charge.amount, &charge.currency) == (order.amount, &order.currency)
                        && went_back.contains(&charge.refunded)
                };
                own.len() == 1 && paid(own[0]) && money == "captured"
            }
            "cancelled" => own.len() <= 1 && kept.is_empty(),
            // Still open: another question checks its time.
            _ => own.len() <= 1,
        };
        let belongs = payment.is_none_or(|row| {
            row.order_id == Some(order.id)
                && row.tenant_id == order.tenant_id
                && (row.amount, &row.currency) == (order.amount, &order.currency)
        });
        (!settled || !belongs).then(|| {
            format!(
                "order {} of {} is {} and costs {} {}: payment {money}, {} captures, kept {kept:?}",
                order.id,
                order.tenant_id,
                order.state,
                order.amount,
                order.currency,
                own.len(),
            )
        })
    }

    /// A capture without a payment and order of ours.
    fn violation_of_charge(&self, charge: &Charge) -> Option<String> {
        let payment = charge.payment().and_then(|id| self.payments.get(&id));
        let known = payment.is_some_and(|payment| {
            payment.order_id.is_none_or(|order| self.orders.iter().any(|row| row.id == order))
        });
        (charge.succeeded && !known).then(|| {
            format!(
                "charge {} of {} is for no payment that is known: {:?}",
                charge.id, charge.amount, charge.payment
            )
        })
    }
}

fn captures_of<'c>(order: &StoredOrder, captures: &BTreeMap<Uuid, Vec<&'c Charge>>) -> Vec<&'c Charge> {
    order.payment_id.and_then(|payment| captures.get(&payment)).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests;
