//! A file from an address that somebody else chose.
//!
//! Every hop is checked like the first: scheme, name, and the addresses behind the name, of which one is connected to.
//! No credentials are sent, and no compression is asked for, so that the limit counts what comes.

use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ACCEPT, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, LOCATION, USER_AGENT,
};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, Uri};
use riverrun_net::{
    AddressGuard, BlockedAddress, BodyError, RequestBody, ResponseBody, full, redirect_target,
};

use crate::http::client::{RequestError, send};

const MAX_REDIRECTS: usize = 5;
/// Characters of a name.
const LONGEST_NAME: usize = 200;

/// A file as its server sent it.
#[derive(Debug, Clone)]
pub struct Fetched {
    pub bytes: Bytes,
    /// The media type with its parameters.
    pub content_type: Option<String>,
    /// The name that the server gave it.
    pub name: Option<String>,
}

/// Why a file was not fetched. The texts hold no address beyond the host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Unreachable(String),
    #[error("`{host}` answered {status}")]
    Status { host: String, status: StatusCode },
    #[error("it was redirected more than {MAX_REDIRECTS} times")]
    Redirects,
    #[error("it has more than {0} bytes")]
    TooLarge(usize),
    #[error("it was not fetched within {0:?}")]
    Timeout(Duration),
}

impl FetchError {
    /// A stable name.
    pub const fn code(&self) -> &'static str {
        match self {
            FetchError::Refused(_) => "address_refused",
            FetchError::Unreachable(_) | FetchError::Status { .. } | FetchError::Redirects => "not_fetched",
            FetchError::TooLarge(_) => "too_large",
            FetchError::Timeout(_) => "timeout",
        }
    }

    pub const fn is_retryable(&self) -> bool {
        match self {
            FetchError::Unreachable(_) | FetchError::Timeout(_) => true,
            FetchError::Status { status, .. } => {
                matches!(status.as_u16(), 408 | 425 | 429 | 500 | 502 | 503 | 504)
            }
            FetchError::Refused(_) | FetchError::Redirects | FetchError::TooLarge(_) => false,
        }
    }
}

/// Fetches at most `limit` bytes within `time`.
pub async fn fetch(
    outbound: &AddressGuard,
    url: &str,
    limit: usize,
    time: Duration,
) -> Result<Fetched, FetchError> {
    let fetched = tokio::time::timeout(time, follow(outbound, url, limit));
    fetched.await.unwrap_or(Err(FetchError::Timeout(time)))
}

async fn follow(outbound: &AddressGuard, url: &str, limit: usize) -> Result<Fetched, FetchError> {
    let url = url.split('#').next().unwrap_or_default();
    let mut uri: Uri = url.parse().map_err(|_| refused(BlockedAddress::NotAUrl))?;
    for _ in 0..=MAX_REDIRECTS {
        let host = uri.host().unwrap_or_default().to_owned();
        let answer = send(outbound, request(&uri)).await.map_err(sending)?;
        let status = answer.status();
        let location = header(answer.headers(), LOCATION);
        match (status.is_redirection(), location) {
            (true, Some(location)) => {
                uri = redirect_target(&uri, &location).ok_or_else(|| refused(BlockedAddress::NotAUrl))?;
            }
            _ if status.is_success() => return take(answer, &host, limit).await,
            _ => return Err(FetchError::Status { host, status }),
        }
    }
    Err(FetchError::Redirects)
}

fn request(uri: &Uri) -> Request<RequestBody> {
    let mut request = Request::new(full(""));
    *request.uri_mut() = uri.clone();
    let headers = request.headers_mut();
    headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
    headers.insert(USER_AGENT, HeaderValue::from_static(concat!("riverrun/", env!("CARGO_PKG_VERSION"))));
    request
}

async fn take(response: Response<ResponseBody>, host: &str, limit: usize) -> Result<Fetched, FetchError> {
    let headers = response.headers();
    if header(headers, CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
        let message = format!("`{host}` sent it compressed, which was not asked for");
        return Err(FetchError::Unreachable(message));
    }
    let announced = header(headers, CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
    if announced.is_some_and(|length| length > limit as u64) {
        return Err(FetchError::TooLarge(limit));
    }
    let content_type = header(headers, CONTENT_TYPE);
    let name = header(headers, CONTENT_DISPOSITION).and_then(|value| named(&value));
    let read = response.into_body().read(limit).await;
    let bytes = read.map_err(|error| match error {
        BodyError::TooLong(limit) => FetchError::TooLarge(limit),
        BodyError::Broken(detail) => FetchError::Unreachable(format!("`{host}` broke off: {detail}")),
    })?;
    Ok(Fetched { bytes, content_type, name })
}

fn header(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(ToOwned::to_owned)
}

/// The file name of a `Content-Disposition`.
fn named(disposition: &str) -> Option<String> {
    let member = |member: &str| {
        let (name, value) = member.split_once('=')?;
        name.trim().eq_ignore_ascii_case("filename").then(|| value.trim().trim_matches('"').to_owned())
    };
    let name = disposition.split(';').skip(1).find_map(member)?;
    let name: String = name.rsplit(['/', '\\']).next()?.chars().take(LONGEST_NAME).collect();
    (!name.is_empty()).then_some(name)
}

fn refused(blocked: BlockedAddress) -> FetchError {
    FetchError::Refused(match blocked {
        BlockedAddress::NotAUrl => blocked.to_string(),
        BlockedAddress::NotSecure(host) => {
            format!("the address of `{host}` must begin with https://, unless `files.allow_hosts` names it")
        }
        BlockedAddress::NotPublic(_) | BlockedAddress::Unresolved(_) => blocked.to_string(),
    })
}

fn sending(error: RequestError) -> FetchError {
    match error {
        RequestError::Blocked(blocked @ BlockedAddress::Unresolved(_)) => {
            FetchError::Unreachable(blocked.to_string())
        }
        RequestError::Blocked(blocked) => refused(blocked),
        RequestError::Connect { .. } | RequestError::Exchange { .. } => {
            FetchError::Unreachable(error.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// A server on loopback that answers every request with the same text; tells its port and how often it was asked.
    async fn server(answer: &'static str) -> (u16, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has ports");
        let port = listener.local_addr().expect("it is bound").port();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let _ = stream.read(&mut [0; 2048]).await;
                let _ = stream.write_all(answer.replace("PORT", &port.to_string()).as_bytes()).await;
            }
        });
        (port, asked)
    }

    async fn get(port: u16, limit: usize) -> Result<Fetched, FetchError> {
        let outbound = AddressGuard { allow: vec![format!("127.0.0.1:{port}")] };
        fetch(&outbound, &format!("http://127.0.0.1:{port}/a?key=secret"), limit, Duration::from_secs(5))
            .await
    }

    #[tokio::test]
    async fn a_file_comes_with_its_type_and_name() {
        let (port, _) = server(
            "HTTP/1.1 200 OK\r\ncontent-type: text/csv; charset=utf-8\r\ncontent-disposition: attachment; filename=\"../a.csv\"\r\ncontent-length: 3\r\n\r\na,b",
        )
        .await;
        let found = get(port, 3).await.expect("it is fetched");
        assert_eq!(found.bytes.as_ref(), b"a,b");
        assert_eq!(found.content_type.as_deref(), Some("text/csv; charset=utf-8"));
        assert_eq!(found.name.as_deref(), Some("a.csv"));
    }

    #[tokio::test]
    async fn no_more_than_the_limit_is_taken_whatever_the_server_announces() {
        let (port, _) = server("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nabcd").await;
        assert_eq!(get(port, 3).await.err(), Some(FetchError::TooLarge(3)));
        let (port, _) =
            server("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n").await;
        assert_eq!(get(port, 3).await.err(), Some(FetchError::TooLarge(3)));
    }

    #[tokio::test]
    async fn a_redirect_is_checked_like_the_first_address() {
        let (inner, asked) = server("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nno").await;
        for target in [
            "http://127.0.0.1:{inner}/",
            "https://127.0.0.1:{inner}/",
            "//127.0.0.1:{inner}/",
            "http://169.254.169.254/latest",
            "file:///etc/passwd",
            "http://[::1]:{inner}/",
        ] {
            let target = target.replace("{inner}", &inner.to_string());
            let answer = format!("HTTP/1.1 302 Found\r\nlocation: {target}\r\ncontent-length: 0\r\n\r\n");
            let (port, _) = server(Box::leak(answer.into_boxed_str())).await;
            let found = get(port, 9).await.err();
            assert!(matches!(found, Some(FetchError::Refused(_))), "{target}: {found:?}");
        }
        assert_eq!(asked.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn redirects_in_a_circle_end() {
        let (port, asked) = server("HTTP/1.1 302 Found\r\nlocation: b\r\ncontent-length: 0\r\n\r\n").await;
        assert_eq!(get(port, 9).await.err(), Some(FetchError::Redirects));
        assert_eq!(asked.load(Ordering::SeqCst), MAX_REDIRECTS + 1);
    }

    #[tokio::test]
    async fn failures_name_the_host_but_not_the_whole_address() {
        let (port, _) = server("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").await;
        let error = get(port, 9).await.expect_err("it is not there");
        assert_eq!(
            (error.to_string().as_str(), error.code()),
            ("`127.0.0.1` answered 404 Not Found", "not_fetched")
        );
        let inside =
            fetch(&AddressGuard::default(), "https://10.0.0.1/a?key=secret", 9, Duration::from_secs(5)).await;
        assert_eq!(
            inside.err().map(|error| error.to_string()).as_deref(),
            Some("`10.0.0.1` may not be reached from here")
        );
        let plain = fetch(&AddressGuard::default(), "http://example.com/a", 9, Duration::from_secs(5)).await;
        assert_eq!(plain.err().map(|error| error.code()), Some("address_refused"));
    }

    #[tokio::test]
    async fn a_server_that_stays_silent_is_left() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has ports");
        let port = listener.local_addr().expect("it is bound").port();
        let outbound = AddressGuard { allow: vec!["127.0.0.1".to_owned()] };
        let time = Duration::from_millis(50);
        let found = fetch(&outbound, &format!("http://127.0.0.1:{port}/"), 9, time).await;
        assert_eq!(found.err(), Some(FetchError::Timeout(time)));
    }
}
