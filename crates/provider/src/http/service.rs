//! The way to the service, and why it gives no answer.

use std::path::Path;
use std::time::Duration;

use http::{Request, Response};
use riverrun_net::{
    BaseUrl, DialError, Dialer, RequestBody, ResponseBody, SendError, TlsConfig, TlsError, redacted_url, send,
};

use super::Limits;
use crate::{Category, ModelError};

pub(super) struct Service {
    pub base: BaseUrl,
    pub limits: Limits,
    dialer: Dialer,
}

impl Service {
    pub fn new(base_url: &str, ca_file: Option<&Path>, limits: Limits) -> Result<Self, String> {
        let base = BaseUrl::parse(base_url)
            .map_err(|error| format!("base_url `{}` {error}", redacted_url(base_url)))?;
        let mut dialer = Dialer::new(limits.connect);
        // Read here, so that a fault of the set-up shows at the start and not at the first call.
        if base.address().is_tls() {
            dialer = dialer.with_tls(trusted(ca_file)?);
        }
        Ok(Self { base, limits, dialer })
    }

    /// The head of the answer, which may take `patience` from the moment there is a connection.
    pub async fn send(
        &self,
        request: Request<RequestBody>,
        patience: Duration,
    ) -> Result<Response<ResponseBody>, ModelError> {
        let answer = send(&self.dialer, self.base.address(), request, Some(patience)).await;
        answer.map_err(|error| match error {
            SendError::Dial(error) => self.not_connected(error),
            SendError::TimedOut(limit) => too_slow("the service did not begin to answer", limit),
            SendError::Broken(_) => self.broken("before it answered"),
        })
    }

    pub fn broken(&self, when: &str) -> ModelError {
        let host = self.base.address().host();
        ModelError::new(Category::Connection, format!("the connection to `{host}` broke {when}"))
    }

    fn not_connected(&self, error: DialError) -> ModelError {
        let (host, port) = (self.base.address().host(), self.base.address().port());
        let failed = |what: &str, error: String| {
            ModelError::new(Category::Connection, format!("{what} `{host}:{port}` failed: {error}"))
        };
        match error {
            DialError::TimedOut(limit) => too_slow("no connection came about", limit),
            DialError::Blocked(error) => failed("connecting to", error.to_string()),
            DialError::Connect(error) => failed("connecting to", error.to_string()),
            DialError::Tls(error) => failed("TLS with", error.to_string()),
            DialError::Certificate(error) => failed("TLS with", error),
            DialError::NoTls(error) => failed("TLS with", error.to_string()),
        }
    }
}

fn trusted(ca_file: Option<&Path>) -> Result<TlsConfig, String> {
    let config = ca_file.map_or_else(TlsConfig::platform, TlsConfig::of_file);
    config.map_err(|error| match error {
        TlsError::File { .. } => format!("ca_file {error}"),
        TlsError::NoRoots(_) => format!("{error}; `ca_file` names certificates of this provider alone"),
        TlsError::Setup(_) => error.to_string(),
    })
}

pub(super) fn too_slow(what: &str, limit: Duration) -> ModelError {
    ModelError::new(Category::Timeout, format!("{what} within {} s", limit.as_secs_f64()))
}
