//! `Security`: the encryption of a client's connections, and the user that the client logs in as.
//!
//! The names and meanings of `ssl…` are libpq's, so that a service says the same of its brokers and of its database.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;
use rdkafka::ClientConfig;

use crate::Error;

const WITH_PASSWORD: [&str; 3] = ["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"];
const OAUTHBEARER: &str = "OAUTHBEARER";

/// The parameters of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Security {
    tls: Option<Tls>,
    login: Option<Login>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Tls {
    /// The authorities that are trusted; `None` for those of the system.
    authorities: Option<PathBuf>,
    /// The chain of this client, and its key.
    client: Option<(PathBuf, PathBuf)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Login {
    Password { mechanism: &'static str, user: String, file: PathBuf },
    Token { file: PathBuf },
}

impl Security {
    /// Reads `name=value&…`. The error is a sentence that repeats no value.
    pub(super) fn read(parameters: &str, is_local: bool) -> Result<Self, &'static str> {
        let mut parameters = Parameters::of(parameters);
        let mode = parameters.take("sslmode");
        let login = parameters.login()?;
        let (authorities, client) = (parameters.take("sslrootcert"), parameters.client()?);
        if !parameters.0.is_empty() {
            return Err(
                "a parameter is not one of sslmode, sslrootcert, sslcert, sslkey, sasl, user, password_file, \
                        token_file",
            );
        }
        let names_files = authorities.is_some() || client.is_some() || login.is_some();
        let is_encrypted = match mode.as_deref() {
            Some("disable") => false,
            Some("verify-full") => true,
            None => names_files || !is_local,
            Some(_) => return Err("sslmode must be verify-full, or disable for plain text"),
        };
        if login.is_some() && !is_encrypted {
            return Err("sasl needs TLS: remove sslmode=disable");
        }
        // libpq's name for the authorities of the system.
        let authorities = authorities.filter(|path| path != "system").map(PathBuf::from);
        Ok(Self { tls: is_encrypted.then_some(Tls { authorities, client }), login })
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// The file of the token, which a client reads again by itself.
    pub(super) fn token_file(&self) -> Option<&Path> {
        match &self.login {
            Some(Login::Token { file }) => Some(file),
            _ => None,
        }
    }

    /// The files that a client reads only when it is made.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let tls = self.tls.iter().flat_map(|tls| {
            let client = tls.client.iter().flat_map(|(chain, key)| [chain, key]);
            tls.authorities.iter().chain(client)
        });
        let password = self.login.iter().filter_map(|login| match login {
            Login::Password { file, .. } => Some(file),
            Login::Token { .. } => None,
        });
        tls.chain(password).cloned().collect()
    }

    pub(super) fn apply(&self, config: &mut ClientConfig) -> Result<(), Error> {
        let protocol = match (&self.tls, &self.login) {
            (None, _) => "PLAINTEXT",
            (Some(_), None) => "SSL",
            (Some(_), Some(_)) => "SASL_SSL",
        };
        config.set("security.protocol", protocol);
        if let Some(tls) = &self.tls {
            tls.apply(config);
        }
        if let Some(login) = &self.login {
            login.apply(config)?;
        }
        Ok(())
    }
}

impl Tls {
    fn apply(&self, config: &mut ClientConfig) {
        // "probe" looks where the distributions of Linux keep their authorities.
        let authorities = self.authorities.as_ref().map_or("probe".into(), |path| path.to_string_lossy());
        config
            .set("ssl.ca.location", authorities)
            .set("enable.ssl.certificate.verification", "true")
            .set("ssl.endpoint.identification.algorithm", "https");
        if let Some((chain, key)) = &self.client {
            config
                .set("ssl.certificate.location", chain.to_string_lossy())
                .set("ssl.key.location", key.to_string_lossy());
        }
    }
}

impl Login {
    fn apply(&self, config: &mut ClientConfig) -> Result<(), Error> {
        let Self::Password { mechanism, user, file } = self else {
            config.set("sasl.mechanisms", OAUTHBEARER);
            return Ok(());
        };
        let password = fs::read_to_string(file).map_err(|error| Error::Configuration {
            reason: format!("password_file {}: {error}", file.display()),
        })?;
        config
            .set("sasl.mechanisms", *mechanism)
            .set("sasl.username", user)
            // Editors and `echo` end a file with a newline, which is not part of the password.
            .set("sasl.password", password.trim_end_matches(['\r', '\n']));
        Ok(())
    }
}

/// The parameters that are not read yet.
struct Parameters<'a>(BTreeMap<&'a str, String>);

impl<'a> Parameters<'a> {
    fn of(text: &'a str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (name, percent_decode_str(value).decode_utf8_lossy().into_owned())
        });
        Self(pairs.collect())
    }

    fn take(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    fn client(&mut self) -> Result<Option<(PathBuf, PathBuf)>, &'static str> {
        match (self.take("sslcert"), self.take("sslkey")) {
            (Some(chain), Some(key)) => Ok(Some((chain.into(), key.into()))),
            (None, None) => Ok(None),
            _ => Err("sslcert and sslkey belong together"),
        }
    }

    fn login(&mut self) -> Result<Option<Login>, &'static str> {
        let (mechanism, token) = (self.take("sasl"), self.take("token_file"));
        match (mechanism, self.take("user"), self.take("password_file"), token) {
            (None, None, None, None) => Ok(None),
            (Some(mechanism), None, None, Some(file)) if mechanism == OAUTHBEARER => {
                Ok(Some(Login::Token { file: file.into() }))
            }
            (Some(mechanism), Some(user), Some(file), None) => {
                let mechanism = WITH_PASSWORD.into_iter().find(|known| *known == mechanism);
                let mechanism =
                    mechanism.ok_or("with a password sasl must be SCRAM-SHA-512, SCRAM-SHA-256 or PLAIN")?;
                Ok(Some(Login::Password { mechanism, user, file: file.into() }))
            }
            _ => Err("sasl needs user and password_file, or for OAUTHBEARER token_file alone"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGIN: &str = "sasl=PLAIN&user=orders&password_file=/secret";

    #[test]
    fn a_mistake_is_named_and_no_value_is_repeated() {
        for (parameters, expected) in [
            ("sslmode=require", "sslmode must be verify-full"),
            ("sslmode=", "sslmode must be verify-full"),
            ("sslmod=verify-full", "a parameter is not one of"),
            ("sslcert=/hunter2", "belong together"),
            ("sslkey=/hunter2", "belong together"),
            ("sasl=PLAIN&user=hunter2", "sasl needs user and password_file"),
            ("password_file=hunter2", "sasl needs user and password_file"),
            ("sasl=PLAIN&token_file=hunter2", "sasl needs user and password_file"),
            ("sasl=OAUTHBEARER&user=hunter2&token_file=a", "for OAUTHBEARER token_file alone"),
            ("sasl=OAUTHBEARER&user=hunter2&password_file=a", "with a password sasl must be"),
            ("sasl=GSSAPI&user=hunter2&password_file=a", "with a password sasl must be"),
            (&format!("sslmode=disable&{LOGIN}"), "sasl needs TLS"),
        ] {
            let error = Security::read(parameters, true).unwrap_err();
            assert!(error.contains(expected) && !error.contains("hunter2"), "{parameters}: {error}");
        }
    }

    #[test]
    fn a_login_or_a_certificate_is_given_by_tls_also_on_this_machine() {
        for parameters in [LOGIN, "sslrootcert=/ca.pem", "sslcert=/a.pem&sslkey=/a.key"] {
            assert!(Security::read(parameters, true).unwrap().is_encrypted(), "{parameters}");
        }
    }

    #[test]
    fn the_files_are_those_that_a_client_reads() {
        let all = format!("sslrootcert=/c%20a.pem&sslcert=/a.pem&sslkey=/a.key&{LOGIN}");
        let files = Security::read(&all, false).unwrap().files();
        assert_eq!(files, ["/c a.pem", "/a.pem", "/a.key", "/secret"].map(PathBuf::from));
        assert!(Security::read("sslrootcert=system", false).unwrap().files().is_empty());
    }
}
