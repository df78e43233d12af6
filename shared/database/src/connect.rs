//! Opens connections. Of several servers, each one has a limit of its own, and the one that accepted the latest connection is tried
//! first.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use diesel::{ConnectionError, ConnectionResult};
use diesel_async::AsyncPgConnection;
use tokio::time::timeout;
use tokio_postgres::config::Host;
use tokio_postgres::{Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::with_causes;
use crate::{Address, AddressError};

/// How long each server has to accept a connection and the role, unless the URL has a `connect_timeout`.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Opens one connection, encrypted as [`Address`] says. It belongs to the runtime that this runs on.
///
/// # Errors
/// The URL or a file that it names cannot be read; no server can be reached, none is who the certificate says, or each refuses the role.
pub async fn connect(url: &str) -> ConnectionResult<AsyncPgConnection> {
    connect_to(url, &AtomicUsize::new(0)).await
}

/// Opens one connection. `first` is the number of the server that is tried first: the one that accepted the latest connection. Each
/// server has a limit of its own, so a silent server delays the others and does not hide them.
pub(crate) async fn connect_to(url: &str, first: &AtomicUsize) -> ConnectionResult<AsyncPgConnection> {
    let address: Address = url
        .parse()
        .map_err(|error: AddressError| ConnectionError::InvalidConnectionUrl(error.to_string()))?;
    let mut config = address.config.clone();
    // Away from the threads that drive connections.
    let files = tokio::task::spawn_blocking(move || address.read_files()).await;
    let (certificates, password) =
        files.map_err(|error| refused(&error))?.map_err(|error| refused(&error))?;
    if let Some(password) = password {
        config.password(password);
    }
    let limit = config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT);
    let servers = servers(&config);
    let (count, start) = (servers.len(), first.load(Ordering::Relaxed));
    let mut errors = Vec::new();
    for number in (start..start + count).map(|number| number % count) {
        match timeout(limit, establish(&servers[number], certificates.clone())).await {
            Ok(Ok(connection)) => {
                first.store(number, Ordering::Relaxed);
                return Ok(connection);
            }
            Ok(Err(error)) => errors.push(error.to_string()),
            Err(_) => errors.push(format!("server {} of {count} is silent for {limit:?}", number + 1)),
        }
    }
    Err(refused(&errors.join("; ")))
}

async fn establish(
    server: &Config,
    certificates: Option<MakeRustlsConnect>,
) -> ConnectionResult<AsyncPgConnection> {
    if let Some(certificates) = certificates {
        let connected = Box::pin(server.connect(certificates)).await; // each of these futures is large
        let (client, connection) = connected.map_err(|error| {
            let why = with_causes(&error);
            refused(&format!("{why} (by TLS; sslmode=disable in the URL allows plain text)"))
        })?;
        return AsyncPgConnection::try_from_client_and_connection(client, connection).await;
    }
    let (client, connection) =
        Box::pin(server.connect(NoTls)).await.map_err(|error| refused(&with_causes(&error)))?;
    AsyncPgConnection::try_from_client_and_connection(client, connection).await
}

fn refused(why: &dyn std::fmt::Display) -> ConnectionError {
    ConnectionError::BadConnection(why.to_string())
}

/// Each server of a URL with all its parameters. Lists whose lengths differ stay together, because the driver refuses them.
fn servers(all: &Config) -> Vec<Config> {
    let (hosts, addresses, ports) = (all.get_hosts(), all.get_hostaddrs(), all.get_ports());
    let count = hosts.len().max(addresses.len());
    let differ = [hosts.len(), addresses.len()].iter().any(|length| ![0, count].contains(length));
    if count < 2 || differ || ![0, 1, count].contains(&ports.len()) {
        return vec![all.clone()];
    }
    let server = |number: usize| {
        let mut one = parameters(all);
        match hosts.get(number) {
            Some(Host::Tcp(name)) => drop(one.host(name)),
            Some(Host::Unix(path)) => drop(one.host_path(path)),
            None => {}
        }
        addresses.get(number).map(|address| one.hostaddr(*address));
        ports.get(number).or(ports.first()).map(|port| one.port(*port));
        one
    };
    (0..count).map(server).collect()
}

/// The same parameters without a server: the driver cannot remove one from its list.
fn parameters(all: &Config) -> Config {
    let mut one = Config::new();
    one.ssl_mode(all.get_ssl_mode())
        .ssl_negotiation(all.get_ssl_negotiation())
        .keepalives(all.get_keepalives())
        .keepalives_idle(all.get_keepalives_idle())
        .target_session_attrs(all.get_target_session_attrs())
        .channel_binding(all.get_channel_binding())
        .load_balance_hosts(all.get_load_balance_hosts());
    all.get_user().map(|user| one.user(user));
    all.get_password().map(|password| one.password(password));
    all.get_dbname().map(|name| one.dbname(name));
    all.get_options().map(|options| one.options(options));
    all.get_application_name().map(|name| one.application_name(name));
    all.get_connect_timeout().map(|limit| one.connect_timeout(*limit));
    all.get_tcp_user_timeout().map(|limit| one.tcp_user_timeout(*limit));
    all.get_keepalives_interval().map(|interval| one.keepalives_interval(interval));
    all.get_keepalives_retries().map(|retries| one.keepalives_retries(retries));
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_of_a_url_has_all_its_parameters() {
        let of = |servers: &str, more: &str| {
            let url = format!(
                "postgres://role:secret@{servers}/orders?options=-c%20jit%3Doff&application_name=orders&sslmode=require\
                 &sslnegotiation=direct&connect_timeout=7&tcp_user_timeout=5&keepalives=0&keepalives_idle=6\
                 &keepalives_interval=2&keepalives_retries=3&target_session_attrs=read-write&channel_binding=require\
                 &load_balance_hosts=random{more}"
            );
            url.parse::<Config>().unwrap()
        };
        let shown = |configs: &[Config]| configs.iter().map(|one| format!("{one:?}")).collect::<Vec<_>>();
        for (all, first, second) in [
            (of("one:1,two:2", ""), of("one:1", ""), of("two:2", "")),
            (of("one,two:5432", ""), of("one", ""), of("two", "")),
            (of("one,%2Frun", ""), of("one", ""), of("%2Frun", "")),
            (
                of("one,two", "&hostaddr=10.0.0.1,10.0.0.2"),
                of("one", "&hostaddr=10.0.0.1"),
                of("two", "&hostaddr=10.0.0.2"),
            ),
        ] {
            assert_eq!(shown(&servers(&all)), shown(&[first, second]));
        }
        let differ = of("one,two", "&hostaddr=10.0.0.1");
        assert_eq!(shown(&servers(&differ)), shown(&[differ]));
    }
}
