//! From an HTTP request to a WebSocket.

use axum::body::Body;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, StatusCode};
use hyper::upgrade::OnUpgrade;
use riverrun_event::ErrorCode;
use sha1::{Digest, Sha1};

use crate::edge::{Fault, Problem};

/// RFC 6455, 1.3.
const MAGIC: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// What resolves to the connection once the answer is out, and what shall go wrong on it.
pub struct Upgrade {
    pub connection: OnUpgrade,
    pub fault: Option<Fault>,
}

/// The answer that opens the WebSocket, and the WebSocket to be.
pub fn accept(parts: &mut Parts) -> Result<(Response, Upgrade), Problem> {
    let asks = parts.method == Method::GET
        && names(parts, CONNECTION, "upgrade")
        && names(parts, UPGRADE, "websocket");
    if !asks {
        return Err(refused("this path speaks WebSocket; connect with a WebSocket client"));
    }
    if !names(parts, SEC_WEBSOCKET_VERSION, "13") {
        return Err(refused("only version 13 of WebSocket is spoken").field("Sec-WebSocket-Version"));
    }
    let key = parts
        .headers
        .get(SEC_WEBSOCKET_KEY)
        .filter(|key| STANDARD.decode(key).is_ok_and(|key| key.len() == 16));
    let key = key.ok_or_else(|| {
        refused("the key of the handshake is not 16 bytes in base 64").field("Sec-WebSocket-Key")
    })?;
    let digest = Sha1::new().chain_update(key).chain_update(MAGIC).finalize();
    let accept =
        HeaderValue::from_str(&STANDARD.encode(digest)).map_err(|_| refused("the handshake failed"))?;
    let upgrade = parts.extensions.remove::<OnUpgrade>();
    let connection = upgrade.ok_or_else(|| refused("this connection cannot be upgraded"))?;
    let fault = parts.extensions.remove::<Fault>();
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    Ok((response, Upgrade { connection, fault }))
}

fn names(parts: &Parts, header: HeaderName, wanted: &str) -> bool {
    let values = parts.headers.get_all(header);
    let mut values = values.iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    values.any(|value| value.trim().eq_ignore_ascii_case(wanted))
}

fn refused(detail: &str) -> Problem {
    Problem::new(ErrorCode::InvalidRequest, detail)
}
