//! TLS with the public roots that are built in.

use std::sync::{Arc, OnceLock};

use rustls::{ClientConfig, RootCertStore};

use super::TlsConfig;

pub fn config() -> Result<TlsConfig, String> {
    static CONFIG: OnceLock<Result<TlsConfig, String>> = OnceLock::new();
    CONFIG.get_or_init(build).clone()
}

fn build() -> Result<TlsConfig, String> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be set up: {error}"))?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}
