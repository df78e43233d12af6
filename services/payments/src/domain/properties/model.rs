//! The other side as the properties see it: a processor that keeps its own books for one key, behind a network that
//! loses, delays and repeats.

use proptest::prelude::*;

use crate::domain::{Doubt, Fee, Finding, Outcome, ProcessorReference};

/// What the processor keeps of a charge, in cents.
pub(super) const FEE: i64 = 59;
/// The processor's name of what it makes.
const OBJECT: &str = "obj_1";

/// What the processor thinks of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Approves,
    Declines,
    /// The request itself is wrong; nothing is stored under its key.
    Rejects,
    /// It takes it on, and decides later; then so.
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

/// What happens to one request on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Answered,
    NotSent,
    RateLimited,
    /// The network has repeated it: its double is being processed, and this one is turned away with 409.
    KeyInUse,
    /// Nothing is stored under the key.
    FailedBeforeActing,
    /// The key's answer is a failure from now on, whether it acted or not.
    FailedForEver {
        acted: bool,
    },
    ReplyLost,
    /// Its list does not show yet what it has made.
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

/// The processor's books about one key.
#[derive(Debug)]
pub(super) struct Books {
    verdict: Verdict,
    /// The key's answer.
    stored: Option<Outcome>,
    object: Option<Status>,
    /// How often money has moved.
    pub(super) moved: usize,
    /// The bank has returned it.
    pub(super) returned: bool,
    pub(super) tells_fee: bool,
}

impl Books {
    pub(super) fn new(verdict: Verdict) -> Self {
        Self { verdict, stored: None, object: None, moved: 0, returned: false, tells_fee: false }
    }

    /// A request arrives, or not.
    pub(super) fn request(&mut self, fate: Fate) -> Outcome {
        let failed = |replayed| Outcome::Unknown(Doubt::ServerError { status: 500, replayed });
        match fate {
            Fate::NotSent => Outcome::NotSent,
            Fate::RateLimited => Outcome::NotExecuted { status: 429, retry_after: None },
            Fate::KeyInUse => {
                self.answer();
                Outcome::NotExecuted { status: 409, retry_after: None }
            }
            Fate::FailedBeforeActing => failed(false),
            Fate::FailedForEver { .. } if self.stored.is_some() => self.answer(),
            Fate::FailedForEver { acted } => {
                if acted {
                    self.answer();
                }
                self.stored = Some(failed(true));
                failed(false)
            }
            Fate::ReplyLost => {
                self.answer();
                Outcome::Unknown(Doubt::NoAnswer)
            }
            Fate::Answered | Fate::ListLags => self.answer(),
        }
    }

    /// The processor's promise: a key takes effect once, and its first answer is its only one.
    fn answer(&mut self) -> Outcome {
        if let Some(stored) = &self.stored {
            return stored.clone();
        }
        let status = match self.verdict {
            Verdict::Approves => Status::Done,
            Verdict::Declines => Status::Refused,
            Verdict::Later { .. } => Status::UnderWay,
            Verdict::Rejects => return Outcome::Rejected { code: "wrong".to_owned(), replayed: false },
        };
        self.becomes(status);
        let answer = self.outcome(status);
        self.stored.insert(answer).clone()
    }

    fn becomes(&mut self, status: Status) {
        self.object = Some(status);
        self.moved += usize::from(status == Status::Done);
    }

    /// What was under way ends.
    pub(super) fn decide(&mut self) {
        if let (Some(Status::UnderWay), Verdict::Later { approves }) = (self.object, self.verdict) {
            self.becomes(if approves { Status::Done } else { Status::Refused });
        }
    }

    /// The bank returns what was given.
    pub(super) fn give_back(&mut self) {
        if self.object == Some(Status::Done) {
            self.object = Some(Status::Refused);
            self.returned = true;
        }
    }

    /// Its memory of the key has ended.
    pub(super) fn forget(&mut self) {
        self.stored = None;
    }

    /// Somebody looks; `named` knows the processor's name of it.
    pub(super) fn look_up(&self, fate: Fate, named: bool) -> Finding {
        match (fate, self.object) {
            (Fate::NotSent, _) => Finding::Unanswered(Outcome::NotSent),
            (Fate::RateLimited | Fate::KeyInUse, _) => {
                Finding::Unanswered(Outcome::NotExecuted { status: 429, retry_after: None })
            }
            (Fate::FailedBeforeActing | Fate::FailedForEver { .. } | Fate::ReplyLost, _) => {
                Finding::Unanswered(Outcome::Unknown(Doubt::NoAnswer))
            }
            (Fate::ListLags, Some(_)) if !named => Finding::Missing,
            (Fate::Answered | Fate::ListLags, Some(status)) => {
                Finding::Found { object: OBJECT.to_owned(), outcome: self.outcome(status) }
            }
            (Fate::Answered | Fate::ListLags, None) => Finding::Missing,
        }
    }

    fn outcome(&self, status: Status) -> Outcome {
        match status {
            Status::UnderWay => Outcome::Processing { object: Some(OBJECT.to_owned()) },
            Status::Done => Outcome::Succeeded(receipt(self.tells_fee)),
            Status::Refused => Outcome::Declined { code: "no".to_owned() },
        }
    }
}

pub(super) fn receipt(with_fee: bool) -> ProcessorReference {
    let currency = contracts::Currency::Eur;
    let fee = Fee { balance_transaction: "txn_1".to_owned(), amount: FEE, currency };
    ProcessorReference {
        id: OBJECT.to_owned(),
        charge: Some("ch_1".to_owned()),
        fee: with_fee.then_some(fee),
    }
}
