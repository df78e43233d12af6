//! `Address`: where PostgreSQL is, and whether the connection to it is encrypted, from a URL as libpq reads it.
//!
//! tokio-postgres knows neither `sslmode=verify-full` nor files of certificates and passwords, so these parameters are taken
//! out of the URL here. The crate `url` refuses a URL with several hosts, which libpq and tokio-postgres read.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use percent_encoding::percent_decode_str;
use thiserror::Error;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::with_causes;
use crate::tls::{self, Certificates};

/// A server or several, a database and a role.
///
/// `sslmode` is `verify-full` (TLS; the certificate must be valid for the host) or `disable` (plain text). Without it, only
/// servers on this machine are reached in plain text, unless the URL names a certificate. `sslrootcert` names a file of
/// trusted authorities, otherwise those of the system are trusted; `sslcert` and `sslkey` name the certificate of this client
/// and its key; `password_file` names a file that contains the password. Files are read for each connection.
///
/// ```
/// use database::Address;
/// let remote: Address = "postgres://orders:secret@db.example/orders".parse()?;
/// assert!(remote.is_encrypted());
/// let local: Address = "postgres://orders:secret@localhost/orders".parse()?;
/// assert!(!local.is_encrypted());
/// # Ok::<(), database::AddressError>(())
/// ```
pub struct Address {
    pub(crate) config: Config,
    certificates: Option<Certificates>,
    password: Option<PathBuf>,
}

/// Why a URL is refused. The text has no part of the URL, because that has a password.
#[derive(Debug, Error)]
pub enum AddressError {
    /// The URL cannot be read.
    #[error("{0}")]
    Url(String),
    /// The mode does not check who the server is, or may fall back to plain text.
    #[error(
        "sslmode must be verify-full, or disable for plain text: no other mode verifies the host that answers"
    )]
    Mode,
    /// One of the two was given without the other.
    #[error("sslcert and sslkey belong together")]
    ClientCertificate,
    /// The URL has a password, and names a file of another one.
    #[error("the URL has both a password and a password_file")]
    TwoPasswords,
    /// The file of the password cannot be read.
    #[error("password_file {path}: {reason}", path = path.display())]
    Password {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: std::io::Error,
    },
    /// A file of certificates cannot be used.
    #[error(transparent)]
    Certificates(#[from] tls::CertificatesError),
}

/// The parameters that are read here.
const OURS: [&str; 5] = ["sslmode", "sslrootcert", "sslcert", "sslkey", "password_file"];

impl Address {
    /// Reports whether the connection is encrypted, and the server's certificate checked.
    pub fn is_encrypted(&self) -> bool {
        self.certificates.is_some()
    }

    /// Reads the files, so that a wrong path is found before the first connection.
    ///
    /// # Errors
    /// [`AddressError::Password`] if the file of the password cannot be read, and [`AddressError::Certificates`] if a certificate
    /// or key cannot be used.
    pub fn check_files(&self) -> Result<(), AddressError> {
        self.read_files().map(drop)
    }

    /// Returns the certificates if the connection is encrypted, and the password if it is in a file.
    pub(crate) fn read_files(&self) -> Result<(Option<MakeRustlsConnect>, Option<String>), AddressError> {
        let certificates = self.certificates.as_ref().map(Certificates::connector).transpose()?;
        let password = self.password.as_deref().map(read_password).transpose()?;
        Ok((certificates, password))
    }
}

/// Editors and `echo` end a file with a newline, which is not part of the password.
fn read_password(path: &Path) -> Result<String, AddressError> {
    let read = fs::read_to_string(path);
    let text = read.map_err(|reason| AddressError::Password { path: path.to_owned(), reason })?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let (url, mut ours) = take_ours(text);
        let mut config: Config = url.parse().map_err(|error| AddressError::Url(with_causes(&error)))?;
        let mode = ours.remove("sslmode");
        let password = ours.remove("password_file").map(PathBuf::from);
        // A URL that names a certificate asks for TLS, also on this machine.
        let certificates = match mode.as_deref() {
            Some("disable") => None,
            None if is_local(&config) && ours.is_empty() => None,
            None | Some("verify-full") => Some(certificates(ours)?),
            Some(_) => return Err(AddressError::Mode),
        };
        if password.is_some() && config.get_password().is_some() {
            return Err(AddressError::TwoPasswords);
        }
        config.ssl_mode(if certificates.is_some() { SslMode::Require } else { SslMode::Disable });
        Ok(Self { config, certificates, password })
    }
}

/// Splits a URL into one without our parameters, and the values of these.
fn take_ours(url: &str) -> (String, BTreeMap<&str, String>) {
    let Some((server, query)) = url.split_once('?') else { return (url.to_owned(), BTreeMap::new()) };
    let (mut ours, mut others) = (BTreeMap::new(), Vec::new());
    for parameter in query.split('&') {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        if OURS.contains(&name) {
            ours.insert(name, percent_decode_str(value).decode_utf8_lossy().into_owned());
        } else {
            others.push(parameter);
        }
    }
    let join = if others.is_empty() { "" } else { "?" };
    (format!("{server}{join}{}", others.join("&")), ours)
}

fn certificates(mut files: BTreeMap<&str, String>) -> Result<Certificates, AddressError> {
    let client = match (files.remove("sslcert"), files.remove("sslkey")) {
        (Some(chain), Some(key)) => Some((chain.into(), key.into())),
        (None, None) => None,
        _ => return Err(AddressError::ClientCertificate),
    };
    // libpq's name for the authorities of the system.
    let authorities = files.remove("sslrootcert").filter(|path| path != "system").map(PathBuf::from);
    Ok(Certificates { authorities, client })
}

/// Reports whether every server is on this machine.
fn is_local(config: &Config) -> bool {
    let is_local = |host: &Host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
    };
    config.get_hosts().iter().all(is_local) && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(url: &str) -> String {
        url.parse::<Address>().err().expect(url).to_string()
    }

    #[test]
    fn only_servers_on_this_machine_are_reached_in_plain_text_unless_it_is_set() {
        for local in ["127.0.0.1:5432", "localhost", "%2Frun%2Fpostgresql", "127.0.0.1,localhost"] {
            let address: Address = format!("postgres://role:password@{local}/orders").parse().unwrap();
            assert!(!address.is_encrypted(), "{local}");
        }
        for remote in ["postgres", "10.0.0.7:5432", "localhost,db.example", "localhost.example"] {
            let url = format!("postgres://role:password@{remote}/orders");
            assert!(url.parse::<Address>().unwrap().is_encrypted(), "{remote}");
            let plain: Address = format!("{url}?sslmode=disable").parse().unwrap();
            assert!(!plain.is_encrypted(), "{remote}");
        }
        let local: Address = "postgres://localhost/orders?sslmode=verify-full".parse().unwrap();
        assert!(local.is_encrypted());
        let named: Address = "postgres://localhost/orders?sslrootcert=/ca.pem".parse().unwrap();
        assert!(named.is_encrypted());
        let elsewhere: Address = "postgres://localhost/orders?hostaddr=10.0.0.7".parse().unwrap();
        assert!(elsewhere.is_encrypted(), "the address counts, not the name");
    }

    #[test]
    fn a_mode_that_checks_no_certificate_is_refused() {
        for mode in ["allow", "prefer", "require", "verify-ca", "VERIFY-FULL", ""] {
            let refused = error(&format!("postgres://role:password@db.example/orders?sslmode={mode}"));
            assert!(refused.contains("sslmode must be verify-full"), "{mode}: {refused}");
        }
    }

    #[test]
    fn the_other_parameters_stay_in_the_url() {
        let url = "postgres://h/d?sslrootcert=%2Fca%20one.pem&connect_timeout=2&sslmode=verify-full&options=-c%20a%3Db";
        let (left, taken) = take_ours(url);
        assert_eq!(left, "postgres://h/d?connect_timeout=2&options=-c%20a%3Db");
        assert_eq!(taken["sslrootcert"], "/ca one.pem");
        assert_eq!(take_ours("postgres://h/d?sslmode=disable").0, "postgres://h/d");
    }

    #[test]
    fn a_certificate_without_its_key_is_refused() {
        assert_eq!(
            error("postgres://db.example/orders?sslcert=/client.pem"),
            "sslcert and sslkey belong together"
        );
    }

    #[test]
    fn a_password_comes_from_one_place() {
        let refused = error("postgres://role:hunter2@localhost/orders?password_file=/secret");
        assert_eq!(refused, "the URL has both a password and a password_file");
        let missing: Address = "postgres://role@localhost/orders?password_file=/nowhere".parse().unwrap();
        assert!(missing.check_files().unwrap_err().to_string().contains("/nowhere"));
    }

    #[test]
    fn an_error_never_repeats_the_password() {
        for url in [
            "postgres://role:hunter2@host:port/orders",
            "postgres://role:hunter2@db.example/orders?sslmod=verify-full",
            "postgres://role:hunter2@db.example/orders?sslmode=hunter2",
        ] {
            let refused = error(url);
            assert!(!refused.contains("hunter2"), "{refused}");
        }
    }
}
