//! Which host names are served, and which web pages may talk to them.
//!
//! Checking `Host` stops a page that points its own name at this machine (DNS rebinding). Checking `Origin` stops
//! a page that calls us across origins. Neither replaces the key.

use std::net::{IpAddr, SocketAddr};

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, HOST, ORIGIN,
    UPGRADE, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use riverrun_event::ErrorCode;

use super::problem::Problem;

const ALLOWED_METHODS: &str = "GET, HEAD, POST, PUT, DELETE";
const ALLOWED_HEADERS: &str = "authorization, content-type, x-api-key, x-request-id, last-event-id, accept, \
                               idempotency-key, producer-id, producer-epoch, producer-seq, traceparent, tracestate";
const EXPOSED_HEADERS: &str = "x-request-id, retry-after, location, riverrun-outcome, riverrun-scope, \
                               riverrun-session, riverrun-turn, riverrun-resume";

/// Whether a request comes from a page that a browser credential was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    OfCredential,
    Other,
}

/// The hosts and origins that are served.
#[derive(Debug, Clone)]
pub struct Hosts {
    names: Vec<String>,
    origins: Vec<String>,
    /// Bound to every address: then any address literal is ours. A rebinding page comes under a name, never
    /// under a literal.
    any_address: bool,
}

impl Hosts {
    /// `names` are host names without port, `origins` are `scheme://host[:port]`.
    pub fn new(bound: SocketAddr, names: &[String], origins: &[String]) -> Self {
        let mut all: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
        all.push(bound.ip().to_string());
        all.extend(names.iter().map(|name| bare_name(name)));
        let origins =
            origins.iter().map(|origin| origin.trim_end_matches('/').to_ascii_lowercase()).collect();
        Self { names: all, origins, any_address: bound.ip().is_unspecified() }
    }

    /// `scheme://host[:port]` as the caller sees it; `Host` was checked.
    pub fn base_url(&self, headers: &HeaderMap, behind_proxy: bool) -> String {
        let told = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        // Each proxy on the way adds its word; the first is what the caller used.
        let first = |name: &str| {
            told(name).filter(|_| behind_proxy).and_then(|list| list.split(',').next()).map(str::trim)
        };
        let is_https = first("x-forwarded-proto").is_some_and(|proto| proto.eq_ignore_ascii_case("https"));
        let scheme = if is_https { "https" } else { "http" };
        let forwarded = first("x-forwarded-host").filter(|host| self.serves(host));
        let host = forwarded.or_else(|| told(HOST.as_str())).unwrap_or("localhost");
        format!("{scheme}://{host}")
    }

    /// 421 unless the request names a host of ours.
    pub fn check_host(&self, request: &Request) -> Result<(), Problem> {
        let mut given = request.headers().get_all(HOST).iter();
        let (Some(host), None) = (given.next(), given.next()) else {
            return Err(Problem::new(ErrorCode::InvalidRequest, "a request needs exactly one `Host` header"));
        };
        let host = host.to_str().map_err(|_| unknown_host())?;
        let target = request.uri().authority().map(http::uri::Authority::as_str);
        if [Some(host), target].into_iter().flatten().all(|name| self.serves(name)) {
            Ok(())
        } else {
            Err(unknown_host())
        }
    }

    /// 403 for a foreign page that would change something or open a WebSocket. A page with a browser credential is
    /// checked against that credential instead.
    pub fn check_origin(&self, request: &Request, page: Page) -> Result<(), Problem> {
        if page == Page::OfCredential {
            return Ok(());
        }
        let changes = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
        let Some(origin) = request.headers().get(ORIGIN) else { return Ok(()) };
        if !changes && !request.headers().contains_key(UPGRADE) {
            return Ok(());
        }
        if same_origin(origin, request.headers()) || self.allows(origin) {
            return Ok(());
        }
        Err(forbidden())
    }

    /// The answer to a CORS preflight; `None` if the request is none.
    pub fn preflight(&self, request: &Request, page: Page) -> Option<Result<Response, Problem>> {
        let asks = request.method() == Method::OPTIONS
            && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        let origin = request.headers().get(ORIGIN).filter(|_| asks)?;
        if !self.allows(origin) && page == Page::Other {
            return Some(Err(forbidden()));
        }
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let fixed = |name: HeaderName, text| (name, HeaderValue::from_static(text));
        response.headers_mut().extend([
            fixed(ACCESS_CONTROL_ALLOW_METHODS, ALLOWED_METHODS),
            fixed(ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED_HEADERS),
            fixed(ACCESS_CONTROL_MAX_AGE, "600"),
        ]);
        Some(Ok(response))
    }

    /// Says to the browser that a page may read the answer, if its origin is configured or its credential names it.
    /// Never `*`, never with cookies.
    pub fn mark(&self, origin: Option<&HeaderValue>, page: Page, headers: &mut HeaderMap) {
        headers.append(VARY, HeaderValue::from_static("Origin"));
        let Some(origin) = origin else { return };
        if self.allows(origin) || page == Page::OfCredential {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED_HEADERS));
        }
    }

    fn serves(&self, authority: &str) -> bool {
        let name = bare_name(authority);
        self.names.contains(&name) || (self.any_address && name.parse::<IpAddr>().is_ok())
    }

    fn allows(&self, origin: &HeaderValue) -> bool {
        origin.to_str().is_ok_and(|origin| self.origins.contains(&origin.to_ascii_lowercase()))
    }
}

/// `Example.com:80` → `example.com`, `[::1]:7777` → `::1`. What is malformed stays unlike every name of ours.
fn bare_name(authority: &str) -> String {
    let lower = authority.trim().to_ascii_lowercase();
    if let Some((address, port)) = lower.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let port_fits = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
        return if port_fits { address.to_owned() } else { lower };
    }
    match lower.split_once(':') {
        Some((name, port)) if is_port(port) => name.to_owned(),
        Some(_) | None => lower,
    }
}

fn is_port(text: &str) -> bool {
    !text.is_empty() && text.len() <= 5 && text.bytes().all(|b| b.is_ascii_digit())
}

/// A page that we served ourselves: its origin is the host it asks.
fn same_origin(origin: &HeaderValue, headers: &HeaderMap) -> bool {
    let (Ok(origin), Some(Ok(host))) = (origin.to_str(), headers.get(HOST).map(HeaderValue::to_str)) else {
        return false;
    };
    let authority = |scheme, default_port| {
        let own = origin.strip_prefix(scheme)?;
        Some(own.eq_ignore_ascii_case(host) || format!("{own}{default_port}").eq_ignore_ascii_case(host))
    };
    authority("http://", ":80").or(authority("https://", ":443")).unwrap_or(false)
}

fn unknown_host() -> Problem {
    let detail = "this host name is not served here; add it to `hosts` in the configuration if it should be";
    Problem::new(ErrorCode::HostUnknown, detail)
}

fn forbidden() -> Problem {
    let detail = "this web origin may not call the server; add it to `cors_origins` if it should";
    Problem::new(ErrorCode::OriginForbidden, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(bound: &str) -> Hosts {
        let bound = bound.parse().expect("an address");
        Hosts::new(bound, &["ai.example.com".into()], &["https://app.example.com".into()])
    }

    fn request(method: &str, headers: &[(&str, &str)]) -> Request {
        let builder = http::Request::builder().method(method).uri("/v1/sessions");
        let builder = headers.iter().fold(builder, |builder, (name, value)| builder.header(*name, *value));
        builder.body(Body::empty()).expect("a well formed request")
    }

    #[test]
    fn only_a_proxy_that_is_known_says_how_the_caller_came() {
        let forwarded = [
            ("host", "127.0.0.1:7777"),
            ("x-forwarded-proto", "https, http"),
            ("x-forwarded-host", "ai.example.com"),
        ];
        let url = |headers: &[(&str, &str)], behind| {
            hosts("127.0.0.1:7777").base_url(request("GET", headers).headers(), behind)
        };
        assert_eq!(url(&forwarded, false), "http://127.0.0.1:7777");
        assert_eq!(url(&forwarded, true), "https://ai.example.com");
        let strange = [
            ("host", "ai.example.com"),
            ("x-forwarded-proto", "gopher"),
            ("x-forwarded-host", "evil.example"),
        ];
        assert_eq!(url(&strange, true), "http://ai.example.com");
    }

    #[test]
    fn only_our_own_names_are_served() {
        let check =
            |bound, host| hosts(bound).check_host(&request("GET", &[("host", host)])).map_err(|p| p.code());
        for good in
            ["localhost", "LOCALHOST:7777", "127.0.0.1:1", "[::1]", "[::1]:7777", "ai.example.com:443"]
        {
            assert_eq!(check("127.0.0.1:7777", good), Ok(()), "{good}");
        }
        for bad in [
            "evil.example",
            "localhost.evil.example",
            "localhost:7777:1",
            "10.0.0.1",
            "[::1",
            "127.0.0.1:x",
            "",
        ] {
            assert_eq!(check("127.0.0.1:7777", bad), Err(ErrorCode::HostUnknown), "{bad}");
        }
        assert_eq!(check("0.0.0.0:7777", "10.0.0.1:7777"), Ok(()));
        assert_eq!(check("0.0.0.0:7777", "evil.example"), Err(ErrorCode::HostUnknown));
    }

    #[test]
    fn a_request_has_one_host() {
        let hosts = hosts("127.0.0.1:7777");
        let none = request("GET", &[]);
        let two = request("GET", &[("host", "localhost"), ("host", "localhost")]);
        for request in [none, two] {
            assert_eq!(hosts.check_host(&request).map_err(|p| p.code()), Err(ErrorCode::InvalidRequest));
        }
    }

    #[test]
    fn foreign_pages_change_nothing_and_open_no_websocket() {
        let check = |method, extra: &[(&str, &str)]| {
            let headers = [&[("host", "localhost:7777")], extra].concat();
            hosts("127.0.0.1:7777")
                .check_origin(&request(method, &headers), Page::Other)
                .map_err(|p| p.code())
        };
        let forbidden = Err(ErrorCode::OriginForbidden);
        assert_eq!(check("POST", &[]), Ok(()));
        assert_eq!(check("POST", &[("origin", "http://localhost:7777")]), Ok(()));
        assert_eq!(check("POST", &[("origin", "https://app.example.com")]), Ok(()));
        assert_eq!(check("POST", &[("origin", "http://localhost:8888")]), forbidden);
        assert_eq!(check("POST", &[("origin", "null")]), forbidden);
        assert_eq!(check("DELETE", &[("origin", "https://app.example.com.evil")]), forbidden);
        assert_eq!(check("GET", &[("origin", "https://evil.example")]), Ok(()));
        assert_eq!(check("GET", &[("origin", "https://evil.example"), ("upgrade", "websocket")]), forbidden);
    }
}
