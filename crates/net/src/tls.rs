//! Which certificates are trusted.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

/// The TLS set-up of outgoing connections. Cheap to clone.
#[derive(Clone)]
pub struct TlsConfig(Arc<ClientConfig>);

/// Why there is no TLS set-up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// The store of the system is absent or empty.
    #[error(
        "no trusted certificates were found on this machine{0}: install the package `ca-certificates`, or name a PEM \
         file with SSL_CERT_FILE or a folder with SSL_CERT_DIR"
    )]
    NoRoots(String),
    /// A named file holds no usable certificates.
    #[error("`{path}` {reason}")]
    File {
        /// The file.
        path: String,
        /// The end of the sentence.
        reason: String,
    },
    /// The TLS library refuses its own defaults.
    #[error("TLS cannot be set up: {0}")]
    Setup(String),
}

impl TlsConfig {
    /// Trusts what the system trusts: `SSL_CERT_FILE` and `SSL_CERT_DIR` if they are set, else the system's store.
    ///
    /// The store is read once per process, at the first call that finds one.
    pub fn platform() -> Result<Self, TlsError> {
        static PLATFORM: OnceLock<TlsConfig> = OnceLock::new();
        if let Some(config) = PLATFORM.get() {
            return Ok(config.clone());
        }
        let found = rustls_native_certs::load_native_certs();
        let problems = found.errors.iter().map(ToString::to_string).collect::<Vec<_>>();
        let config = Self::trusting(platform_roots(found.certs, &problems)?)?;
        Ok(PLATFORM.get_or_init(|| config).clone())
    }

    /// Trusts the certificates of a PEM file and no others.
    pub fn of_file(path: &Path) -> Result<Self, TlsError> {
        let wrong = |reason: String| TlsError::File { path: path.display().to_string(), reason };
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
            false => Self::trusting(roots),
        }
    }

    fn trusting(roots: RootCertStore) -> Result<Self, TlsError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::Setup(error.to_string()))?;
        Ok(Self(Arc::new(builder.with_root_certificates(roots).with_no_client_auth())))
    }

    pub(crate) fn client_config(&self) -> Arc<ClientConfig> {
        self.0.clone()
    }
}

impl fmt::Debug for TlsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsConfig")
    }
}

/// Stores of systems hold old certificates that cannot be read; one that can is enough.
fn platform_roots(
    found: Vec<CertificateDer<'static>>,
    problems: &[String],
) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    let (_, unreadable) = roots.add_parsable_certificates(found);
    if !roots.is_empty() {
        return Ok(roots);
    }
    let mut detail: Vec<String> = problems.iter().take(2).cloned().collect();
    if unreadable > 0 {
        detail.push(format!("{unreadable} certificates cannot be read"));
    }
    let detail = if detail.is_empty() { String::new() } else { format!(" ({})", detail.join("; ")) };
    Err(TlsError::NoRoots(detail))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn an_empty_store_is_an_error_that_names_the_fix() {
        let error = platform_roots(Vec::new(), &["`/no/such.pem`: not found".to_owned()]).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("no trusted certificates were found on this machine (`/no/such.pem`"),
            "{text}"
        );
        for fix in ["ca-certificates", "SSL_CERT_FILE", "SSL_CERT_DIR"] {
            assert!(text.contains(fix), "{text}");
        }
        let unreadable = platform_roots(vec![CertificateDer::from(vec![0; 3])], &[]).unwrap_err();
        assert!(unreadable.to_string().contains("(1 certificates cannot be read)"), "{unreadable}");
    }

    #[test]
    fn one_readable_certificate_is_enough() {
        let good = CertificateDer::from_pem_file(certificate()).unwrap();
        let roots = platform_roots(vec![CertificateDer::from(vec![0; 3]), good], &["a problem".to_owned()]);
        assert_eq!(roots.unwrap().len(), 1);
    }

    #[test]
    fn a_file_without_certificates_is_refused_by_name() {
        let check = |path: PathBuf, expected: &str| {
            let text = TlsConfig::of_file(&path).unwrap_err().to_string();
            assert_eq!(text.split(':').next(), Some(format!("`{}` {expected}", path.display()).as_str()));
        };
        check(PathBuf::from("/no/such.pem"), "cannot be read");
        check(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"), "holds no certificate");
        assert!(TlsConfig::of_file(&certificate()).is_ok());
    }

    fn certificate() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/localhost/certificate.pem")
    }
}
