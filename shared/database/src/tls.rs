//! The certificates of a TLS connection to PostgreSQL.
//!
//! The files are read for each new connection, so a renewed certificate needs no restart.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use thiserror::Error;
use tokio_postgres_rustls::MakeRustlsConnect;

/// The files of certificates.
#[derive(Debug, Clone)]
pub(crate) struct Certificates {
    /// The authorities that are trusted; `None` for those of the system.
    pub(crate) authorities: Option<PathBuf>,
    /// The chain of this client, and its key.
    pub(crate) client: Option<(PathBuf, PathBuf)>,
}

/// Why certificates cannot be used.
#[derive(Debug, Error)]
pub enum CertificatesError {
    /// A file cannot be read as PEM.
    #[error("{path}: {reason}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: pem::Error,
    },
    /// No authority is trusted, so no server could be. `None`: the system has none.
    #[error("{} has no certificate of an authority (sslrootcert names the file)", .0.as_deref().map_or("the system".into(), Path::to_string_lossy))]
    Empty(Option<PathBuf>),
    /// The certificates do not fit together.
    #[error(transparent)]
    Unusable(#[from] rustls::Error),
}

impl Certificates {
    /// Reads the files.
    pub(crate) fn connector(&self) -> Result<MakeRustlsConnect, CertificatesError> {
        self.client_config().map(MakeRustlsConnect::new)
    }

    fn client_config(&self) -> Result<ClientConfig, CertificatesError> {
        // Named here, because a process without a default provider would panic.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(self.trusted()?);
        let Some((chain, key)) = &self.client else { return Ok(config.with_no_client_auth()) };
        let key = PrivateKeyDer::from_pem_file(key)
            .map_err(|reason| CertificatesError::File { path: key.clone(), reason })?;
        Ok(config.with_client_auth_cert(read(chain)?, key)?)
    }

    fn trusted(&self) -> Result<RootCertStore, CertificatesError> {
        let mut trusted = RootCertStore::empty();
        if let Some(path) = &self.authorities {
            for certificate in read(path)? {
                trusted.add(certificate)?;
            }
        } else {
            // A certificate of the system that cannot be read is not needed by everybody.
            trusted.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        if trusted.is_empty() { Err(CertificatesError::Empty(self.authorities.clone())) } else { Ok(trusted) }
    }
}

fn read(path: &Path) -> Result<Vec<CertificateDer<'static>>, CertificatesError> {
    let refused = |reason| CertificatesError::File { path: path.to_owned(), reason };
    let certificates = CertificateDer::pem_file_iter(path).map_err(refused)?;
    certificates.collect::<Result<_, _>>().map_err(refused)
}
