//! One group, one transaction.

use std::collections::HashSet;
use std::time::Duration;

use contracts::OperationId;
use database::{Database, Error, Tx, UnitOfWork};
use futures_util::future::join_all;
use tokio::time::Instant;

use super::member::{Drafted, Member};
use crate::execute::{ATTEMPTS, again, give_up, said};
use crate::record::Completed;
use crate::sight::{Sight, lock_and_find};
use crate::{CommandError, KeyedRequest, Operation, Outcome, Retention, StoredResponse};

/// What a group is carried out with.
#[derive(Clone, Copy)]
pub(super) struct Unit<'a> {
    pub(super) database: &'a Database,
    pub(super) retention: Retention,
    /// How long it may try to begin.
    pub(super) wait: Duration,
}

/// Nothing of the group was kept, and these have no answer.
struct Undone {
    members: Vec<Member>,
    error: Error,
}

impl Unit<'_> {
    /// Answers everybody: together, or else one by one.
    pub(super) async fn carry_out(self, members: Vec<Member>) {
        let Err(Undone { members, error }) = self.insist(members).await else { return };
        match error {
            Error::Unavailable(why) => tell_all(members, || Error::Unavailable(why.clone())),
            Error::CommitUnknown(why) => tell_all(members, || Error::CommitUnknown(why.clone())),
            error if members.len() > 1 => {
                tracing::debug!(%error, members = members.len(), "the group is undone; its commands run one by one");
                // Each with a connection of its own: one that has to wait for somebody holds up none of the others.
                join_all(members.into_iter().map(async |member| {
                    if let Err(Undone { members, error }) = self.insist(vec![member]).await {
                        tell_one(members, error);
                    }
                }))
                .await;
            }
            error => tell_one(members, error),
        }
    }

    /// Contention is nobody's fault: the unit is run again.
    async fn insist(self, mut members: Vec<Member>) -> Result<(), Undone> {
        let mut attempt = 1;
        loop {
            match self.together(members).await {
                Err(undone) if attempt < ATTEMPTS && again(&undone.error) => members = undone.members,
                done => return done,
            }
            attempt += 1;
        }
    }

    async fn together(self, members: Vec<Member>) -> Result<(), Undone> {
        let (tx, sights) = match self.begin(&members).await {
            Ok(begun) => begun,
            Err(error) => return Err(Undone { members, error }),
        };
        let begun = answer_the_known(members, sights);
        if begun.is_empty() {
            // They have their answers, and nothing was written.
            let _ = tx.rollback().await;
            return Ok(());
        }
        crashpoint::reach!("execute.key_claimed");
        let mut left_out = Vec::new();
        let done = self.finish(tx, begun, &mut left_out).await;
        // Not before the transaction has ended: whoever tries again at once would find their own key's lock taken.
        for (member, answer) in left_out {
            member.tell(answer);
        }
        done
    }

    async fn finish(
        self,
        tx: Tx,
        begun: Vec<(Member, Operation)>,
        left_out: &mut Vec<LeftOut>,
    ) -> Result<(), Undone> {
        let (tx, kept) = draft(tx, begun, left_out).await?;
        crashpoint::reach!("execute.command_done");
        if kept.is_empty() {
            let _ = tx.rollback().await;
            return Ok(());
        }
        self.commit(tx, kept).await
    }

    /// The transaction, and what is known of each member's key.
    async fn begin(self, members: &[Member]) -> Result<(Tx, Vec<Sight>), Error> {
        let intents: Vec<&KeyedRequest> = members.iter().map(|member| &member.intent).collect();
        let (since, mut attempt) = (Instant::now(), 1);
        loop {
            match self.database.begin_reading(async |tx| lock_and_find(tx, &intents).await).await {
                // A connection that has just broken may not be known to be. That must not cost a whole group.
                Err(Error::Unavailable(_)) if attempt < ATTEMPTS && since.elapsed() < self.wait => {
                    attempt += 1;
                }
                done => return done,
            }
        }
    }

    /// Writes what all have noted, with their records, and only then tells them.
    async fn commit(self, mut tx: Tx, kept: Vec<Kept>) -> Result<(), Undone> {
        let record = |Kept { member, operation, receipt }: &Kept| {
            (member.intent.clone(), operation.clone(), receipt.clone())
        };
        tx.buffer(Completed { retention: self.retention, all: kept.iter().map(record).collect() });
        if let Err(error) = tx.flush().await {
            return Err(undone(kept, give_up(tx, error).await));
        }
        crashpoint::reach!("execute.before_commit");
        if let Err(error) = tx.commit().await {
            return Err(undone(kept, error));
        }
        crashpoint::reach!("execute.after_commit");
        for Kept { member, receipt, .. } in kept {
            member.tell(Ok(Outcome::Executed(receipt)));
        }
        Ok(())
    }
}

/// A command whose answer is to be stored.
struct Kept {
    member: Member,
    operation: Operation,
    receipt: StoredResponse,
}

/// A command whose answer is not stored, and that answer.
type LeftOut = (Member, Result<Outcome, Error>);

fn undone(kept: Vec<Kept>, error: Error) -> Undone {
    Undone { members: kept.into_iter().map(|Kept { member, .. }| member).collect(), error }
}

fn tell_one(members: Vec<Member>, error: Error) {
    if let Some(member) = members.into_iter().next() {
        member.tell(Err(error));
    }
}

fn tell_all(members: Vec<Member>, error: impl Fn() -> Error) {
    for member in members {
        member.tell(Err(error()));
    }
}

/// Answers those whose key is known or taken, and returns those that are to be carried out.
fn answer_the_known(members: Vec<Member>, sights: Vec<Sight>) -> Vec<(Member, Operation)> {
    let mut begun = Vec::with_capacity(members.len());
    // Within one transaction a lock is given again and again: here, the first with a key has it.
    let mut taken = HashSet::new();
    for (member, Sight { locked, at, found }) in members.into_iter().zip(sights) {
        let intent = &member.intent;
        let answer = match found {
            // A finished record answers whoever holds the lock: that may be another replay.
            Some(found) => member.span.in_scope(|| said(found.answer(intent), intent)),
            None if locked && taken.insert((intent.scope.clone(), intent.key.clone())) => {
                let caller = intent.scope.caller.clone();
                begun.push((member, Operation { id: OperationId::generate(), caller, at }));
                continue;
            }
            None => Outcome::InProgress,
        };
        member.tell(Ok(answer));
    }
    begun
}

/// Runs all commands at the same time, and leaves out those that are not to be stored.
async fn draft(
    tx: Tx,
    begun: Vec<(Member, Operation)>,
    left_out: &mut Vec<LeftOut>,
) -> Result<(Tx, Vec<Kept>), Undone> {
    let shared = tx.share();
    let all =
        begun.into_iter().map(async |(member, operation)| (member.draft(&shared, operation).await, member));
    let (mut drafts, mut kept, mut failed, mut fault) = (Vec::new(), Vec::new(), Vec::new(), None);
    for (drafted, member) in join_all(all).await {
        let Some(Drafted { draft, operation, result }) = drafted else {
            left_out.push((member, Err(Error::Panicked)));
            continue;
        };
        match result {
            Ok(receipt) => {
                drafts.push(draft);
                kept.push(Kept { member, operation, receipt });
            }
            // What it has noted is dropped with its draft.
            Err(CommandError::Rejected(receipt)) => kept.push(Kept { member, operation, receipt }),
            Err(CommandError::Refused(receipt)) => left_out.push((member, Ok(Outcome::Refused(receipt)))),
            Err(CommandError::Database(error)) => {
                failed.push(member);
                fault = Some(error);
            }
        }
    }
    let error = match (shared.gather(drafts), fault) {
        (Ok(tx), None) => return Ok((tx, kept)),
        (Ok(tx), Some(fault)) => give_up(tx, fault).await,
        (Err(error), _) => error,
    };
    failed.extend(kept.into_iter().map(|Kept { member, .. }| member));
    Err(Undone { members: failed, error })
}
