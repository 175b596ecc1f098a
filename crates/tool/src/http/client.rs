//! One request, to an address that was checked.

use std::time::Duration;

use http::header::HOST;
use http::{Request, Response};
use riverrun_net::{
    AddressGuard, BlockedAddress, DialError, Dialer, RequestBody, ResponseBody, SendError, ServerAddress,
};

const CONNECT: Duration = Duration::from_secs(10);

/// No text here holds a header or a body: they may be secret.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    #[error("{0}")]
    Blocked(#[from] BlockedAddress),
    #[error("`{host}` cannot be reached: {detail}")]
    Connect { host: String, detail: String },
    #[error("`{host}` did not answer: {detail}")]
    Exchange { host: String, detail: String },
}

/// The request's address must be absolute. Redirects are the caller's to follow.
pub(crate) async fn send(
    guard: &AddressGuard,
    mut request: Request<RequestBody>,
) -> Result<Response<ResponseBody>, RequestError> {
    let address = ServerAddress::of(request.uri()).ok_or(BlockedAddress::NotAUrl)?;
    let authority = request.uri().authority().map(|authority| authority.as_str().to_owned());
    if let Some(host) = authority.and_then(|host| host.parse().ok()) {
        request.headers_mut().insert(HOST, host);
    }
    let target = request.uri().path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = target.parse().map_err(|_| BlockedAddress::NotAUrl)?;
    let dialer = Dialer::new(CONNECT).with_guard(guard.clone());
    let answer = riverrun_net::send(&dialer, &address, request, None).await;
    let host = || address.host().to_owned();
    answer.map_err(|error| match error {
        SendError::Dial(DialError::Blocked(blocked)) => RequestError::Blocked(blocked),
        SendError::Dial(error) => RequestError::Connect { host: host(), detail: error.to_string() },
        SendError::Broken(_) | SendError::TimedOut(_) => {
            RequestError::Exchange { host: host(), detail: error.to_string() }
        }
    })
}
