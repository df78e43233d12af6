//! Certificates of the servers of this machine, and the authority that signs them: `./dev demo --tls`.

use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, DnType, Error, IsCa, Issuer, KeyPair};

use crate::Result;
use crate::files::{make_folder, write};

/// The names of the servers.
const HOSTS: [&str; 2] = ["localhost", "127.0.0.1"];

/// Makes the files unless they exist. Nobody keeps the authority's key, so it signs nothing else.
pub(crate) fn make(dir: &Path) -> Result<()> {
    make_folder(dir)?;
    if dir.join("password").exists() {
        return Ok(());
    }
    let files = pem_files().map_err(|error| format!("cannot make certificates: {error}"))?;
    for (name, text) in files {
        write(&dir.join(name), 0o600, text.as_bytes())?;
    }
    // The last file says that all are there.
    write(&dir.join("password"), 0o600, uuid::Uuid::new_v4().to_string().as_bytes())
}

fn pem_files() -> std::result::Result<[(&'static str, String); 4], Error> {
    let mut params = CertificateParams::new([])?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    // OpenSSL takes a certificate whose issuer has the same name for one that signs itself.
    params.distinguished_name.push(DnType::CommonName, "development authority of Idem");
    let key = KeyPair::generate()?;
    let authority = params.self_signed(&key)?.pem();
    let issuer = Issuer::new(params, key);
    let sign = || -> std::result::Result<(String, String), Error> {
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(HOSTS.map(str::to_owned))?.signed_by(&key, &issuer)?;
        Ok((certificate.pem(), key.serialize_pem()))
    };
    let ((postgres, postgres_key), (broker, broker_key)) = (sign()?, sign()?);
    Ok([
        ("ca.pem", authority),
        ("postgres.pem", postgres),
        ("postgres.key", postgres_key),
        ("broker.pem", format!("{broker_key}{broker}")), // Kafka reads both from one file
    ])
}
