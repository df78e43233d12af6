//! The development signing key and its JWKS file. Services trust the file like the key set of an identity provider, so
//! they need no code for development.

use crate::Result;
use crate::files::{make_folder, write};
use base64::{Engine, engine::general_purpose::STANDARD};
use jsonwebtoken::{
    Algorithm, EncodingKey,
    jwk::{Jwk, JwkSet, PublicKeyUse, ThumbprintHash},
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A private key that signs, and the public key that verifies.
pub(crate) struct SigningKey {
    pub(crate) private: EncodingKey,
    pub(crate) public: Jwk,
}

impl SigningKey {
    /// The key id: the RFC 7638 thumbprint, so that a key always has the same id.
    pub(crate) fn id(&self) -> Option<String> {
        self.public.common.key_id.clone()
    }

    fn from_pem(pem: &[u8]) -> jsonwebtoken::errors::Result<Self> {
        let private = EncodingKey::from_ed_pem(pem)?;
        let mut public = Jwk::from_encoding_key(&private, Algorithm::EdDSA)?;
        public.common.key_id = Some(public.thumbprint(ThumbprintHash::SHA256)?);
        public.common.public_key_use = Some(PublicKeyUse::Signature);
        Ok(Self { private, public })
    }
}

/// Makes `signing-key.pem` unless it exists, and writes `jwks.json` from it.
pub(crate) fn make(dir: &Path) -> Result<SigningKey> {
    make_folder(dir)?;
    if !pem_path(dir).exists() {
        write(&pem_path(dir), 0o600, new_pem().as_bytes())?;
    }
    let key = read(dir)?;
    let jwks = serde_json::to_vec_pretty(&JwkSet { keys: vec![key.public.clone()] })
        .map_err(|error| format!("cannot write the JWKS: {error}"))?;
    write(&dir.join("jwks.json"), 0o644, &jwks)?;
    Ok(key)
}

/// Reads the key that [`make`] made.
pub(crate) fn read(dir: &Path) -> Result<SigningKey> {
    let path = pem_path(dir);
    let pem = fs::read(&path).map_err(|error| {
        format!("cannot read the signing key {}: {error}; `devtool keys` makes it", path.display())
    })?;
    SigningKey::from_pem(&pem).map_err(|error| {
        format!("{} is not an Ed25519 key: {error}; remove it to get a new one", path.display())
    })
}

fn pem_path(dir: &Path) -> PathBuf {
    dir.join("signing-key.pem")
}

/// A new Ed25519 key as PKCS #8. Any 32 bytes are a private key; RFC 8410 fixes the header before them.
fn new_pem() -> String {
    const HEADER: [u8; 16] = [48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32];
    let der = [&HEADER[..], &rand::random::<[u8; 32]>()].concat();
    format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(der))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn keys_made_twice_are_the_same_keys() {
        let dir = TempDir::new();
        let first = make(&dir.0).unwrap();
        let jwks = fs::read(dir.0.join("jwks.json")).unwrap();
        let second = make(&dir.0).unwrap();
        assert_eq!(first.public, second.public);
        assert_eq!(jwks, fs::read(dir.0.join("jwks.json")).unwrap());
    }

    #[test]
    fn two_folders_get_two_keys() {
        let (one, other) = (TempDir::new(), TempDir::new());
        assert_ne!(make(&one.0).unwrap().id(), make(&other.0).unwrap().id());
    }

    #[test]
    fn only_the_user_can_read_the_private_key() {
        let dir = TempDir::new();
        make(&dir.0).unwrap();
        let mode = fs::metadata(pem_path(&dir.0)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn the_jwks_holds_no_private_half() {
        let dir = TempDir::new();
        make(&dir.0).unwrap();
        let jwks: serde_json::Value =
            serde_json::from_slice(&fs::read(dir.0.join("jwks.json")).unwrap()).unwrap();
        let members: Vec<_> = jwks["keys"][0].as_object().unwrap().keys().collect();
        assert_eq!(members, ["alg", "crv", "kid", "kty", "use", "x"]);
    }

    #[test]
    fn a_damaged_key_is_named() {
        let dir = TempDir::new();
        fs::create_dir_all(&dir.0).unwrap();
        fs::write(pem_path(&dir.0), "nonsense").unwrap();
        let message = make(&dir.0).err().unwrap();
        assert!(message.contains("signing-key.pem is not an Ed25519 key"), "{message}");
    }

    struct TempDir(PathBuf);

    impl TempDir {
        fn new() -> Self {
            Self(std::env::temp_dir().join(format!("idem-keys-{}", uuid::Uuid::now_v7())))
        }
    }

    impl Drop for TempDir {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }
}
