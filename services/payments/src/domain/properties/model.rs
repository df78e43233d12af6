//! A model of the processor for one key, and of the network before it.

use proptest::prelude::*;

use crate::domain::{AttemptOutcome, Fee, LookupResult, ProcessorReference, UnknownReason};

/// The processor's fee for a charge, in cents.
pub(super) const FEE: i64 = 59;
/// The processor's id of its object.
const OBJECT: &str = "obj_1";

/// The processor's decision about the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Approves,
    Declines,
    /// The request is not accepted, and nothing is stored under its key.
    Rejects,
    /// The processor accepts the request and decides later.
    Later {
        approves: bool,
    },
}

pub(super) fn verdict() -> impl Strategy<Value = Verdict> {
    prop::sample::select(vec![
        Verdict::Approves,
        Verdict::Declines,
        Verdict::Rejects,
        Verdict::Later { approves: true },
        Verdict::Later { approves: false },
    ])
}

/// The treatment of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Answered,
    NotSent,
    RateLimited,
    /// The network has repeated the request. The copy is processed, and this one gets a 409.
    KeyInUse,
    /// It fails with a 5xx before it takes effect, and nothing is stored under the key.
    FailedBeforeActing,
    /// The stored response of the key is a failure, whether the request took effect or not.
    FailedForEver {
        acted: bool,
    },
    ReplyLost,
    /// The list does not contain the new object yet.
    ListLags,
}

pub(super) fn fate() -> impl Strategy<Value = Fate> {
    use Fate::{
        Answered, FailedBeforeActing, FailedForEver, KeyInUse, ListLags, NotSent, RateLimited, ReplyLost,
    };
    let (acted, idle) = (FailedForEver { acted: true }, FailedForEver { acted: false });
    prop::sample::select(vec![
        Answered,
        NotSent,
        RateLimited,
        KeyInUse,
        FailedBeforeActing,
        acted,
        idle,
        ReplyLost,
        ListLags,
    ])
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    UnderWay,
    Done,
    Refused,
}

/// The processor's state of one key.
#[derive(Debug)]
pub(super) struct ProcessorModel {
    verdict: Verdict,
    /// The stored response of the key.
    stored: Option<AttemptOutcome>,
    object: Option<Status>,
    /// How often money moved.
    pub(super) moved: usize,
    /// A bank has returned the refund.
    pub(super) returned: bool,
    pub(super) tells_fee: bool,
}

impl ProcessorModel {
    pub(super) fn new(verdict: Verdict) -> Self {
        Self { verdict, stored: None, object: None, moved: 0, returned: false, tells_fee: false }
    }

    /// Handles a request.
    pub(super) fn request(&mut self, fate: Fate) -> AttemptOutcome {
        let failed = |replayed| AttemptOutcome::Unknown(UnknownReason::ServerError { status: 500, replayed });
        match fate {
            Fate::NotSent => AttemptOutcome::NotSent,
            Fate::RateLimited => AttemptOutcome::NotExecuted { status: 429, retry_after: None },
            Fate::KeyInUse => {
                self.respond();
                AttemptOutcome::NotExecuted { status: 409, retry_after: None }
            }
            Fate::FailedBeforeActing => failed(false),
            Fate::FailedForEver { .. } if self.stored.is_some() => self.respond(),
            Fate::FailedForEver { acted } => {
                if acted {
                    self.respond();
                }
                self.stored = Some(failed(true));
                failed(false)
            }
            Fate::ReplyLost => {
                self.respond();
                AttemptOutcome::Unknown(UnknownReason::NoResponse)
            }
            Fate::Answered | Fate::ListLags => self.respond(),
        }
    }

    /// The processor's guarantee: a key takes effect once, and its first response is its only one.
    fn respond(&mut self) -> AttemptOutcome {
        if let Some(stored) = &self.stored {
            return stored.clone();
        }
        let status = match self.verdict {
            Verdict::Approves => Status::Done,
            Verdict::Declines => Status::Refused,
            Verdict::Later { .. } => Status::UnderWay,
            Verdict::Rejects => {
                return AttemptOutcome::Rejected { code: "wrong".to_owned(), replayed: false };
            }
        };
        self.becomes(status);
        let response = self.outcome(status);
        self.stored.insert(response).clone()
    }

    fn becomes(&mut self, status: Status) {
        self.object = Some(status);
        self.moved += usize::from(status == Status::Done);
    }

    /// Decides about a request that was being processed.
    pub(super) fn decide(&mut self) {
        if let (Some(Status::UnderWay), Verdict::Later { approves }) = (self.object, self.verdict) {
            self.becomes(if approves { Status::Done } else { Status::Refused });
        }
    }

    /// A bank returns the refund.
    pub(super) fn give_back(&mut self) {
        if self.object == Some(Status::Done) {
            self.object = Some(Status::Refused);
            self.returned = true;
        }
    }

    /// The key expires.
    pub(super) fn forget(&mut self) {
        self.stored = None;
    }

    /// Handles a lookup. `named` means that the id of the object is known.
    pub(super) fn look_up(&self, fate: Fate, named: bool) -> LookupResult {
        match (fate, self.object) {
            (Fate::NotSent, _) => LookupResult::Unanswered(AttemptOutcome::NotSent),
            (Fate::RateLimited | Fate::KeyInUse, _) => {
                LookupResult::Unanswered(AttemptOutcome::NotExecuted { status: 429, retry_after: None })
            }
            (Fate::FailedBeforeActing | Fate::FailedForEver { .. } | Fate::ReplyLost, _) => {
                LookupResult::Unanswered(AttemptOutcome::Unknown(UnknownReason::NoResponse))
            }
            (Fate::ListLags, Some(_)) if !named => LookupResult::NotFound,
            (Fate::Answered | Fate::ListLags, Some(status)) => {
                LookupResult::Found { object: OBJECT.to_owned(), outcome: self.outcome(status) }
            }
            (Fate::Answered | Fate::ListLags, None) => LookupResult::NotFound,
        }
    }

    fn outcome(&self, status: Status) -> AttemptOutcome {
        match status {
            Status::UnderWay => AttemptOutcome::Processing { object: Some(OBJECT.to_owned()) },
            Status::Done => AttemptOutcome::Succeeded(reference(self.tells_fee)),
            Status::Refused => AttemptOutcome::Declined { code: "no".to_owned() },
        }
    }
}

pub(super) fn reference(with_fee: bool) -> ProcessorReference {
    let fee = Fee { balance_transaction: "txn_1".to_owned(), amount: FEE, currency: "EUR".to_owned() };
    ProcessorReference {
        id: OBJECT.to_owned(),
        charge: Some("ch_1".to_owned()),
        fee: with_fee.then_some(fee),
    }
}
