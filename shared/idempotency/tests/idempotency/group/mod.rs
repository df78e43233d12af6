//! Group commit: the guarantees of a single command hold for each command of a group.

mod failures;
mod limits;
mod together;

use std::sync::Arc;

use database::{AppendTx, Database, Error, GroupSettings, UnitOfWork};
use diesel::QueryDsl;
use diesel::dsl::sql;
use diesel::sql_types::Integer;
use futures_util::future::{BoxFuture, join_all};
use futures_util::{FutureExt, poll};
use idempotency::{CommandError, GroupExecutor, KeyedRequest, Operation, Outcome, Retention, StoredResponse};
use testkit::TestDatabase;

use crate::shop::{CommandBarrier, Noted, Runs, effect, request, response};

/// One group at a time. Commands that arrive while a group runs form the next group.
const ONE_AT_A_TIME: GroupSettings = GroupSettings {
    size: 64,
    at_once: 1,
    waiting: 1_024,
    wait: std::time::Duration::from_mins(1),
    gather: std::time::Duration::ZERO,
};

fn groups(database: &Database, settings: GroupSettings) -> GroupExecutor {
    GroupExecutor::new(database.clone(), Retention::default(), settings)
}

fn key(number: usize) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

/// The outcomes of a command.
#[derive(Clone, Copy)]
enum Ending {
    Done,
    Rejected,
    Refused,
    Panics,
    /// Inserts the same unique note as the other commands that clash, so only one succeeds.
    Clashes,
    /// Ignores the error of a read.
    Swallows,
}

/// Commands with a given outcome, and the number of their runs.
#[derive(Clone, Default)]
struct Shop {
    runs: Runs,
}

impl Shop {
    async fn run(
        &self,
        tx: &mut AppendTx,
        operation: &Operation,
        ending: Ending,
    ) -> Result<StoredResponse, CommandError> {
        self.runs.add();
        let id = operation.id.to_string();
        let note = if matches!(ending, Ending::Clashes) { "the same" } else { &id };
        tx.buffer(Noted(operation.clone(), note.to_owned()));
        match ending {
            Ending::Done | Ending::Clashes => Ok(response(201, &id)),
            Ending::Rejected => Err(CommandError::Rejected(response(422, &id))),
            Ending::Refused => Err(CommandError::Refused(response(403, &id))),
            Ending::Panics => panic!("as a mistake in a handler would"),
            Ending::Swallows => {
                let failing = effect::table.select(sql::<Integer>("1 / 0"));
                assert!(tx.read::<i32, _>(failing).await.is_err());
                Ok(response(201, &id))
            }
        }
    }

    /// Executes one command. The command is queued at the first poll.
    fn send(
        &self,
        groups: &GroupExecutor,
        request: KeyedRequest,
        ending: Ending,
    ) -> BoxFuture<'static, Result<Outcome, Error>> {
        let (shop, groups) = (self.clone(), groups.clone());
        async move {
            let command =
                async move |tx: &mut AppendTx, operation: &Operation| shop.run(tx, operation, ending).await;
            groups.execute(request, command).await
        }
        .boxed()
    }
}

/// Executes these commands as one group, while another command runs. Returns their outcomes.
async fn together(
    groups: &GroupExecutor,
    commands: impl IntoIterator<Item = BoxFuture<'static, Result<Outcome, Error>>>,
) -> Vec<Result<Outcome, Error>> {
    let barrier = CommandBarrier::closed();
    let mut holder = barrier.hold(groups, request(&key(999_999), "hold"));
    assert!(poll!(&mut holder).is_pending());
    barrier.reached().await;
    let mut all = Box::pin(join_all(commands));
    assert!(poll!(&mut all).is_pending());
    barrier.open();
    holder.await.unwrap();
    all.await
}

/// Counts the transactions that have inserted effects.
async fn transactions(database: &TestDatabase) -> i64 {
    use diesel_async::RunQueryDsl;
    let query = "SELECT count(DISTINCT xmin::text) AS number FROM effect";
    let mut owner = database.owner().await;
    diesel::sql_query(query).get_result::<crate::shop::Number>(&mut owner).await.unwrap().number
}

fn shared(database: &TestDatabase) -> (Arc<GroupExecutor>, Shop) {
    (Arc::new(groups(database, ONE_AT_A_TIME)), Shop::default())
}
