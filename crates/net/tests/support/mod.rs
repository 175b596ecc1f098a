//! Servers of bytes on loopback.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

pub async fn listen() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has ports");
    let port = listener.local_addr().expect("it is bound").port();
    (listener, port)
}

/// The head of a request without a body.
pub async fn read_head(socket: &mut (impl AsyncRead + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match socket.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8(head).expect("ASCII")
}

/// The certificate of `localhost` and `127.0.0.1`, signed by itself.
pub fn certificate() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/localhost/certificate.pem")
}

pub fn acceptor() -> TlsAcceptor {
    let certificates = CertificateDer::pem_file_iter(certificate()).expect("it is there");
    let certificates = certificates.collect::<Result<Vec<_>, _>>().expect("it is PEM");
    let key = certificate().with_file_name("test-only.key.pem");
    let key = PrivateKeyDer::from_pem_file(key).expect("it is there");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the defaults are supported")
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .expect("they fit");
    TlsAcceptor::from(Arc::new(config))
}
