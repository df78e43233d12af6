//! The cause of a refund, and what its rows and its audit fact take from it.

use contracts::{PaymentId, RefundId};
use envelope::{Caller, OperationId, TenantId};

use crate::store::refunds::RefundRow;

/// Why a payment is refunded.
#[derive(Debug, Clone, Copy)]
pub(super) enum RefundCause<'a> {
    /// The order was cancelled: the automatic refund.
    OrderCancelled,
    /// A client's command.
    Requested {
        /// Computed from the key of the command.
        id: RefundId,
        by: &'a Caller,
        operation: OperationId,
        /// In the client's words.
        reason: &'a str,
    },
    /// This refund has failed, and is made again.
    Failed(&'a RefundRow),
}

impl<'a> RefundCause<'a> {
    /// The id of the refund. It is computed, so that the processor recognises a refund that a restored database has lost.
    pub(super) fn id(self, payment: PaymentId) -> RefundId {
        match self {
            Self::OrderCancelled => RefundId::automatic_of(payment),
            Self::Requested { id, .. } => id,
            Self::Failed(refund) => RefundId::following(refund.id()),
        }
    }

    pub(super) fn name(self) -> &'a str {
        match self {
            Self::OrderCancelled => "order_cancelled",
            Self::Requested { .. } => "requested",
            Self::Failed(refund) => &refund.cause,
        }
    }

    pub(super) fn reason(self) -> Option<&'a str> {
        match self {
            Self::OrderCancelled => None,
            Self::Requested { reason, .. } => Some(reason),
            Self::Failed(refund) => refund.reason.as_deref(),
        }
    }

    pub(super) fn operation(self) -> Option<OperationId> {
        match self {
            Self::OrderCancelled | Self::Failed(_) => None,
            Self::Requested { operation, .. } => Some(operation),
        }
    }

    pub(super) fn follows(self) -> Option<&'a RefundRow> {
        if let Self::Failed(refund) = self { Some(refund) } else { None }
    }

    /// The caller in the audit fact.
    pub(super) fn caller(self, tenant: &TenantId) -> Caller {
        match self {
            Self::OrderCancelled | Self::Failed(_) => Caller::system(tenant.clone()),
            Self::Requested { by, .. } => by.clone(),
        }
    }
}
