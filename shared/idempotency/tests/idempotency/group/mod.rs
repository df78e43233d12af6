//! Group commit: what each command was promised alone holds in a group as well.

mod failures;
mod limits;
mod together;

use std::sync::Arc;

use database::{AppendTx, Database, Error, UnitOfWork};
use futures_util::future::{BoxFuture, join_all};
use futures_util::{FutureExt, poll};
use idempotency::{
    CommandError, GroupCommit, GroupSettings, KeyedRequest, Operation, Outcome, Retention, StoredResponse,
};
use testkit::TestDatabase;

use crate::shop::{CommandBarrier, Noted, Runs, request, response};

/// One group at a time: whoever comes while one is under way goes with all the others that do.
const ONE_AT_A_TIME: GroupSettings =
    GroupSettings { size: 64, at_once: 1, waiting: 1_024, wait: std::time::Duration::from_mins(1) };

fn groups(database: &Database, settings: GroupSettings) -> GroupCommit {
    GroupCommit::new(database.clone(), Retention::default(), settings)
}

fn key(number: usize) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

/// How a command ends.
#[derive(Clone, Copy)]
enum Ending {
    Done,
    Rejected,
    Refused,
    Panics,
    /// It notes the same effect as everybody else who ends so: there can be one.
    Clashes,
    /// It swallows the error of something that it reads.
    Swallows,
}

/// Commands that end as they are told to, and how often they ran.
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
                let failing = diesel::select(diesel::dsl::sql::<diesel::sql_types::Integer>("1 / 0"));
                assert!(tx.read::<i32, _>(failing).await.is_err());
                Ok(response(201, &id))
            }
        }
    }

    /// Sends one command; it is in the queue once this has been polled.
    fn send(
        &self,
        groups: &GroupCommit,
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

/// Sends all of these while another command is under way, so that they are one group. Their answers.
async fn together(
    groups: &GroupCommit,
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

/// Transactions that have left effects.
async fn transactions(database: &TestDatabase) -> i64 {
    use diesel_async::RunQueryDsl;
    let query = "SELECT count(DISTINCT xmin::text) AS number FROM effect";
    let mut owner = database.owner().await;
    diesel::sql_query(query).get_result::<crate::shop::Number>(&mut owner).await.unwrap().number
}

fn shared(database: &TestDatabase) -> (Arc<GroupCommit>, Shop) {
    (Arc::new(groups(database, ONE_AT_A_TIME)), Shop::default())
}
