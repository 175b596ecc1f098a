//! Web pages that come with a browser credential: which routes they may use, and from which origin they come.

use axum::extract::MatchedPath;
use http::header::ORIGIN;
use http::request::Parts;
use http::{HeaderMap, Method};
use riverrun_event::ErrorCode;

use super::Edge;
use super::problem::Problem;

/// The routes that take a browser credential. Everything else takes a key: a new route is closed to pages until it is
/// listed here, and each one listed asks `Caller::require_session`.
const ROUTES: &[(Method, &str)] = &[
    (Method::POST, "/v1/sessions"),
    (Method::GET, "/v1/sessions/{session}"),
    (Method::GET, "/v1/sessions/{session}/events"),
    (Method::GET, "/v1/sessions/{session}/state"),
    (Method::POST, "/v1/sessions/{session}/turns"),
    (Method::POST, "/v1/sessions/{session}/turns/{turn}/cancel"),
    (Method::POST, "/v1/sessions/{session}/turns/{turn}/retry"),
    (Method::POST, "/v1/sessions/{session}/turns/{turn}/steer"),
    (Method::GET, "/v1/sessions/{session}/actions"),
    (Method::POST, "/v1/sessions/{session}/actions/{action}"),
    (Method::GET, "/v1/sessions/{session}/rules"),
    (Method::DELETE, "/v1/sessions/{session}/rules/{rule}"),
    (Method::GET, "/v1/sessions/{session}/queue"),
    (Method::DELETE, "/v1/sessions/{session}/queue/{turn}"),
    (Method::POST, "/v1/sessions/{session}/queue/{turn}/promote"),
    (Method::GET, "/v1/tasks/{task}"),
    (Method::GET, "/v1/ws"),
    (Method::GET, "/v1/ws/blocks"),
    (Method::GET, "/v2/sessions/{session}/history"),
    (Method::GET, "/v2/sessions/{session}/results/{call}"),
    (Method::POST, "/v1/browser-credentials/{credential}/renew"),
    (Method::DELETE, "/v1/browser-credentials/{credential}"),
];

/// 403 unless the route takes a browser credential.
pub(super) fn check_route(parts: &Parts) -> Result<(), Problem> {
    let path = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let method = if parts.method == Method::HEAD { &Method::GET } else { &parts.method };
    if ROUTES.iter().any(|(known, template)| known == method && *template == path) {
        return Ok(());
    }
    Err(riverrun_api::needs_key().into())
}

/// Where the page that asks was loaded from, as its browser says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PageOrigin(Option<String>);

impl PageOrigin {
    pub fn as_str(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl Edge {
    /// The origin of the page. A browser leaves `Origin` out when a page reads from its own server, and then says so
    /// in `Sec-Fetch-Site`. Two origins are none.
    pub(crate) fn page_origin(&self, headers: &HeaderMap) -> PageOrigin {
        let mut given = headers.get_all(ORIGIN).iter();
        let origin = match (given.next(), given.next()) {
            (Some(origin), None) => origin.to_str().ok().map(str::to_ascii_lowercase),
            (None, _) if headers.get("sec-fetch-site").is_some_and(|site| site == "same-origin") => {
                Some(self.base_url(headers).to_ascii_lowercase())
            }
            _ => None,
        };
        PageOrigin(origin)
    }

    /// True if this origin is one that some browser credential names.
    pub(super) fn is_page_origin(&self, headers: &HeaderMap) -> bool {
        let origin = self.page_origin(headers);
        origin.as_str().is_some_and(|origin| self.keys().credentials().knows_origin(origin))
    }
}

pub(super) fn wrong_origin(origin: &PageOrigin) -> Problem {
    let detail = match origin.as_str() {
        Some(_) => {
            "this credential is for pages of other origins; list this one in `origins` when it is made"
        }
        None => {
            "a browser credential is for web pages, and the request names no `Origin`; use a key elsewhere"
        }
    };
    Problem::new(ErrorCode::OriginForbidden, detail)
}

/// `scheme://host[:port]` in the form in which browsers send it; `None` if it is no origin of a web page.
pub(super) fn normal_origin(text: &str) -> Option<String> {
    let text = text.trim_end_matches('/').to_ascii_lowercase();
    let (scheme, authority) = text.split_once("://")?;
    let default_port = match scheme {
        "https" => ":443",
        "http" => ":80",
        _ => return None,
    };
    let uri: http::Uri = text.parse().ok()?;
    let parsed = uri.authority()?;
    let is_plain = parsed.as_str() == authority && !authority.contains('@') && !parsed.host().is_empty();
    let is_path_free = uri.path() == "/" && uri.query().is_none();
    if !is_plain || !is_path_free || authority.contains('*') || authority.len() > 255 {
        return None;
    }
    Some(format!("{scheme}://{}", authority.strip_suffix(default_port).unwrap_or(authority)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_kept_as_browsers_send_them() {
        for (given, kept) in [
            ("https://App.example.com", Some("https://app.example.com")),
            ("https://app.example.com/", Some("https://app.example.com")),
            ("https://app.example.com:443", Some("https://app.example.com")),
            ("http://localhost:3000", Some("http://localhost:3000")),
            ("http://[::1]:3000", Some("http://[::1]:3000")),
            ("*", None),
            ("null", None),
            ("https://*.example.com", None),
            ("https://app.example.com/path", None),
            ("https://user@app.example.com", None),
            ("file:///etc", None),
            ("https://", None),
            ("", None),
        ] {
            assert_eq!(normal_origin(given).as_deref(), kept, "{given}");
        }
    }
}
