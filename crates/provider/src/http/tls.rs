//! TLS with the public roots that are built in, or with those of a file.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use super::TlsConfig;

pub fn config(ca_file: Option<&Path>) -> Result<TlsConfig, String> {
    static PUBLIC: OnceLock<Result<TlsConfig, String>> = OnceLock::new();
    match ca_file {
        Some(path) => build(roots_of(path)?),
        None => PUBLIC
            .get_or_init(|| build(RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() }))
            .clone(),
    }
}

fn roots_of(path: &Path) -> Result<RootCertStore, String> {
    let wrong = |why: String| format!("ca_file `{}` {why}", path.display());
    let certificates =
        CertificateDer::pem_file_iter(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        let certificate = certificate.map_err(|error| wrong(format!("is not PEM: {error}")))?;
        roots
            .add(certificate)
            .map_err(|error| wrong(format!("holds a certificate that cannot be trusted: {error}")))?;
    }
    match roots.is_empty() {
        true => Err(wrong("holds no certificate".to_owned())),
        false => Ok(roots),
    }
}

fn build(roots: RootCertStore) -> Result<TlsConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be set up: {error}"))?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}
