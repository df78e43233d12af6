//! A pooler between the service and PostgreSQL that drops the options of connections, as `PgBouncer` does with
//! `ignore_startup_parameters = options`.

use database::{Database, Settings, UnusableSession};
use testkit::TestDatabase;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;

/// Reads the first message of a client, and returns it without its options.
async fn startup_without_options(client: &mut TcpStream) -> Vec<u8> {
    let length = client.read_u32().await.unwrap() as usize;
    let mut message = vec![0; length - 4];
    client.read_exact(&mut message).await.unwrap();
    let (version, parameters) = message.split_at(4);
    let texts: Vec<&[u8]> = parameters.split(|byte| *byte == 0).collect();
    let mut kept = version.to_vec();
    for pair in texts.chunks_exact(2).filter(|pair| pair[0] != b"options" && !pair[0].is_empty()) {
        for text in pair {
            kept.extend(text.iter().copied().chain([0]));
        }
    }
    kept.push(0);
    let mut startup = u32::try_from(kept.len() + 4).unwrap().to_be_bytes().to_vec();
    startup.extend(kept);
    startup
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pooler_that_drops_the_options_of_sessions_is_noticed() {
    let test_database = TestDatabase::plain().await;
    let url = test_database.service_url(None);
    let (before, rest) = url.split_once('@').unwrap();
    let (server, name) = rest.split_once('/').unwrap();
    let pooler = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let through = format!("{before}@{}/{name}", pooler.local_addr().unwrap());
    let database = Database::new(&Settings::new(through), Handle::current()).unwrap();
    let forward = async {
        let (mut client, _) = pooler.accept().await.unwrap();
        let mut server = TcpStream::connect(server).await.unwrap();
        let startup = startup_without_options(&mut client).await;
        server.write_all(&startup).await.unwrap();
        copy_bidirectional(&mut client, &mut server).await.unwrap();
        unreachable!("the connection stays open");
    };
    let fault = tokio::select! {
        fault = database.unusable_session() => fault.unwrap(),
        () = forward => None,
    };
    let Some(UnusableSession::LostOption { name, wanted, .. }) = fault else { panic!("{fault:?}") };
    assert_eq!((name, wanted.as_str()), ("statement_timeout", "5000"));
    assert_eq!(test_database.unusable_session().await.unwrap(), None);
}
