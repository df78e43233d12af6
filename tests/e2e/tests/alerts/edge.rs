//! Clients that use keys wrongly, retries without a response, and errors.

use e2e::{Customer, Options};
use harness::host_of;
use testkit::{Proxy, given};
use tokio::task::JoinSet;

use crate::Watched;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Prometheus: ./dev alerts"]
async fn reused_keys_many_replays_and_errors_fire_their_alerts_until_they_end() {
    let proxy = Proxy::to(host_of(&given("IDEM_POSTGRES_URL")).to_owned()).await;
    let watched =
        Watched::start(Options { orders_database: Some(proxy.address()), ..Options::default() }).await;
    let customer = Customer::stocked(&watched.stack, 100).await;
    customer.buys(1).await;
    let request = customer.tea(1);
    assert_eq!(customer.send(&request).await.status, 201);

    let mut another = customer.tea(2);
    another.key.clone_from(&request.key);
    let reused = async {
        loop {
            assert_eq!(customer.send(&another).await.status, 409);
        }
    };
    tokio::select! { () = watched.prometheus.fires("KeysReused of orders") => {}, () = reused => {} }
    watched.prometheus.is_quiet("KeysReused of orders").await;

    let replays = async {
        loop {
            assert!(customer.send(&request).await.is_replay());
        }
    };
    tokio::select! { () = watched.prometheus.fires("ReplaysSpike of orders") => {}, () = replays => {} }
    watched.prometheus.is_quiet("ReplaysSpike of orders").await;

    // A client sends the same request again and again, also after errors.
    let (token, address) = (customer.token().to_owned(), watched.stack.address("orders"));
    let mut page = JoinSet::new();
    page.spawn(async move {
        let client = testkit::http::client();
        loop {
            let _ = client.get(format!("http://{address}/v1/orders")).bearer_auth(&token).send().await;
        }
    });
    proxy.cut().await;
    watched.prometheus.fires("ErrorBudgetBurnsFast of orders").await;
    watched.prometheus.fires("ErrorBudgetBurnsSlowly of orders").await;
    proxy.mend();
    watched.prometheus.is_quiet("ErrorBudgetBurnsFast of orders").await;
    watched.prometheus.is_quiet("ErrorBudgetBurnsSlowly of orders").await;
}
