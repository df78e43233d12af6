//! A certificate authority for one test, and the files that the test writes.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use uuid::Uuid;

/// An authority, and a folder of files, which is removed with it.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
    folder: PathBuf,
}

impl Authority {
    /// Makes an authority with a new key.
    pub fn new() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().pem();
        let folder = std::env::temp_dir().join(format!("idem-tls-{}", Uuid::new_v4().simple()));
        fs::create_dir(&folder).unwrap();
        Self { issuer: Issuer::new(params, key), certificate, folder }
    }

    /// Its own certificate, as PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Signs a certificate for a host or an address, and for the role of the same name; returns it and its key, as PEM.
    pub fn sign(&self, name: &str) -> (String, String) {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }

    /// Writes a file; returns its path.
    pub fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// The folder of the files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
