//! One request, to an address that was checked.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use super::guard::{Blocked, Outbound, Target};

const CONNECT: Duration = Duration::from_secs(10);

static TLS: LazyLock<Result<Arc<ClientConfig>, rustls::Error>> = LazyLock::new(|| {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
});

/// No text here holds a header or a body: they may be secret.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    #[error("{0}")]
    Blocked(#[from] Blocked),
    #[error("`{host}` cannot be reached: {detail}")]
    Connect { host: String, detail: String },
    #[error("`{host}` did not answer: {detail}")]
    Exchange { host: String, detail: String },
}

/// An answer whose body is still to be read. Dropping it closes the connection.
pub(crate) struct Answer {
    pub response: Response<Incoming>,
    pub connection: Connection,
}

pub(crate) struct Connection(JoinHandle<()>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The request's address must be absolute. Redirects are the caller's to follow.
pub(crate) async fn send(
    outbound: &Outbound,
    mut request: Request<Full<Bytes>>,
) -> Result<Answer, SendError> {
    let target = outbound.check(request.uri())?;
    let addresses = outbound.resolve(&target).await?;
    let unreached = |detail: String| SendError::Connect { host: target.host.clone(), detail };
    let connect = async { TcpStream::connect(addresses.as_slice()).await.map_err(|error| error.to_string()) };
    let connected = tokio::time::timeout(CONNECT, connect).await;
    let stream =
        connected.map_err(|_| unreached(format!("no connection in {CONNECT:?}")))?.map_err(unreached)?;
    let authority = request.uri().authority().map(|authority| authority.as_str().to_owned());
    if let Some(host) = authority.and_then(|host| host.parse().ok()) {
        request.headers_mut().insert(http::header::HOST, host);
    }
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = path.parse().map_err(|_| SendError::Blocked(Blocked::NotAUrl))?;
    if target.is_tls {
        let secured = tokio::time::timeout(CONNECT, secure(&target, stream)).await;
        let stream = secured.map_err(|_| unreached("no TLS in time".to_owned()))?.map_err(unreached)?;
        exchange(&target, stream, request).await
    } else {
        exchange(&target, stream, request).await
    }
}

async fn secure(
    target: &Target,
    stream: TcpStream,
) -> Result<impl AsyncRead + AsyncWrite + Send + Unpin + use<>, String> {
    let config = TLS.as_ref().map_err(ToString::to_string)?.clone();
    let name = ServerName::try_from(target.host.clone()).map_err(|error| error.to_string())?;
    TlsConnector::from(config).connect(name, stream).await.map_err(|error| error.to_string())
}

async fn exchange(
    target: &Target,
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    request: Request<Full<Bytes>>,
) -> Result<Answer, SendError> {
    let failed =
        |error: hyper::Error| SendError::Exchange { host: target.host.clone(), detail: error.to_string() };
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
    let connection = Connection(tokio::spawn(async move {
        // An error shows where the answer is read.
        let _ = connection.await;
    }));
    let response = sender.send_request(request).await.map_err(failed)?;
    Ok(Answer { response, connection })
}
