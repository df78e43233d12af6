//! The responses to faults: each operation that documents one gives it.
//!
//! Second instances meet the faults that a setting or a lost connection brings about. The first ones serve on. A second instance is
//! stopped, not killed: so the next one has its partitions at once.

use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use e2e::{Part, Stack};
use futures_util::future::join_all;
use harness::{Api, Request, fence};
use testkit::{Proxy, eventually};
use uuid::Uuid;

use crate::recorder::Recorder;
use crate::{half_request, of_services};

/// A transaction of the second instance waits in its commit for the lock 1.
const WAIT_IN_COMMIT: &str = "
    CREATE FUNCTION wait_in_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF current_setting('application_name') = 'second' THEN
            SET LOCAL lock_timeout = 0; PERFORM pg_advisory_xact_lock_shared(1);
        END IF;
        RETURN NULL; END $$;";

const WAITING: &str = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = 1 \
                       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

pub(crate) async fn responses(stack: &mut Stack, recorder: &mut Recorder<'_>) {
    for part in Part::SERVICES {
        without_database(stack, recorder, part).await;
        strict(stack, recorder, part).await;
        let mut owner = stack.database(part).owner().await;
        internal_errors(&mut owner, recorder, part).await;
        expired_keys(&mut owner, recorder, part).await;
    }
    of_services::failures(stack, recorder).await;
}

/// An instance that reaches its database through a proxy, and waits for a body for one second.
async fn without_database(stack: &mut Stack, recorder: &mut Recorder<'_>, part: Part) {
    let (second, proxy) = (part.instance(2).to_string(), Proxy::to_postgres().await);
    let url = stack.database(part).service_url(Some(proxy.address()));
    let url = format!("{url}?application_name=second");
    let settings = [("IDEM_DATABASE__URL", url.as_str()), ("IDEM_HTTP__BODY_DEADLINE_SECONDS", "1")];
    stack.launch_ready(&second, &settings).await;
    let (api, to) = (second_instance(stack, recorder), stack.endpoints(&[&second]).remove(0));
    let requests = recorder.requests_documenting(part, "request-timeout");
    let sent = requests.iter().map(|request| half_request::send(api.client(), &to, request));
    for (request, response) in requests.iter().zip(join_all(sent).await) {
        assert_eq!(response.code(), "request-timeout", "{}: {}", request.name(), response.json());
        recorder.keep(request, &response);
    }

    let mut owner = stack.database(part).owner().await;
    owner.batch_execute(WAIT_IN_COMMIT).await.unwrap();
    let with_key = ["INSERT ON idempotency_record", "INSERT ON idempotency_fence"];
    for written in with_key.into_iter().chain(of_services::written_without_key(part)) {
        let trigger = format!(
            "CREATE CONSTRAINT TRIGGER wait_in_commit AFTER {written}
                 DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_in_commit()"
        );
        owner.batch_execute(&trigger).await.unwrap();
    }
    for request in recorder.requests_documenting(part, "commit-outcome-unknown") {
        let request = unsent(&request);
        owner.batch_execute("SELECT pg_advisory_lock(1)").await.unwrap();
        let (lost, ()) = tokio::join!(api.send(&request), async {
            stack.counts(part, WAITING, 1).await;
            if request.key.is_some() || is_fence(&request) {
                recorder.gets(409, "idempotency-key-in-progress", &request).await;
            }
            proxy.cut().await;
        });
        owner.batch_execute("SELECT pg_advisory_unlock(1)").await.unwrap();
        let lost = lost.unwrap();
        assert_eq!(lost.code(), "commit-outcome-unknown", "{}: {}", request.name(), lost.json());
        recorder.keep(&request, &lost);
        proxy.mend();
        eventually("the pool heals", async || {
            let read = api.get(part, format!("/v1/idempotency-keys/{}", Uuid::new_v4())).await.unwrap();
            (read.status == 404).then_some(())
        })
        .await;
        stack.at_rest().await; // the worker of the second instance waits in a commit, too
    }
    owner.batch_execute("DROP FUNCTION wait_in_commit CASCADE").await.unwrap();

    proxy.cut().await;
    for request in recorder.requests_documenting(part, "service-unavailable") {
        recorder.gets_by(&api, 503, "service-unavailable", &request).await;
    }
    proxy.mend();
    stack.stop(&second).await;
}

/// An instance that accepts one request per second.
async fn strict(stack: &mut Stack, recorder: &mut Recorder<'_>, part: Part) {
    let second = part.instance(2).to_string();
    let settings = [("IDEM_LIMITS__REQUESTS_PER_SECOND", "1"), ("IDEM_LIMITS__BURST", "1")];
    stack.launch_ready(&second, &settings).await;
    let (client, to) = (recorder.customer.api.client(), stack.endpoints(&[&second]).remove(0));
    for request in recorder.requests_documenting(part, "rate-limited") {
        let refused = eventually("the limit is reached", async || {
            Some(client.send(&to, &request).await.unwrap()).filter(|response| response.status == 429)
        });
        recorder.keep(&request, &refused.await);
    }
    stack.stop(&second).await;
}

/// Every table is missing: a defect that no client can mend.
async fn internal_errors(owner: &mut AsyncPgConnection, recorder: &mut Recorder<'_>, part: Part) {
    owner.batch_execute("ALTER SCHEMA public RENAME TO elsewhere").await.unwrap();
    for request in recorder.requests_documenting(part, "internal-error") {
        recorder.gets(500, "internal-error", &unsent(&request)).await;
    }
    owner.batch_execute("ALTER SCHEMA elsewhere RENAME TO public").await.unwrap();
}

async fn expired_keys(owner: &mut AsyncPgConnection, recorder: &mut Recorder<'_>, part: Part) {
    let long_ago = "UPDATE idempotency_record SET expires_at = '2020-01-01' WHERE expires_at IS NOT NULL";
    owner.batch_execute(long_ago).await.unwrap();
    for request in recorder.requests_documenting(part, "idempotency-key-expired") {
        let customer = recorder.customer;
        eventually("the instance forgets the responses that it has in memory", async || {
            (!customer.send(&request).await.is_replay()).then_some(())
        })
        .await;
        recorder.gets(409, "idempotency-key-expired", &request).await;
    }
}

/// A client of the second instance of each service.
fn second_instance(stack: &Stack, recorder: &Recorder<'_>) -> Api<'static> {
    let endpoints: Vec<_> = Part::SERVICES
        .into_iter()
        .flat_map(|part| stack.endpoints(&[&part.instance(2).to_string()]))
        .collect();
    let client = recorder.customer.api.client().clone();
    Api::new(client, move |part| endpoints.iter().filter(|it| it.instance.part == part).cloned().collect())
}

fn is_fence(request: &Request) -> bool {
    request.path.ends_with("/fence")
}

/// The same command with a new key, or other content: so it has something to do.
fn unsent(request: &Request) -> Request {
    let id = Uuid::new_v4();
    if is_fence(request) {
        return fence(request.part, &id.to_string());
    }
    let body = request.body.as_deref().map(|body| body.replace("Sencha", &format!("Sencha {id}")));
    let again = || Request { body, key: request.key.as_ref().map(|_| id.to_string()), ..request.clone() };
    of_services::unsent(request).unwrap_or_else(again)
}
