//! Where a server is.

use std::fmt;

use http::Uri;

/// A server's address, taken apart once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    host: String,
    port: u16,
    /// The path before `/v1`, without a slash at its end; empty for most servers.
    prefix: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    #[error("`{0}` is not a URL such as http://127.0.0.1:7777")]
    Malformed(String),
    #[error(
        "`{0}` needs TLS, which this client does not speak; give the http:// address of the server or of a local TLS proxy"
    )]
    Tls(String),
    #[error("`{0}` holds a key or a query; give the key apart (RIVERRUN_KEY)")]
    Secret(String),
}

impl Endpoint {
    pub fn parse(url: &str) -> Result<Self, EndpointError> {
        let malformed = || EndpointError::Malformed(url.to_owned());
        let uri: Uri = url.trim().parse().map_err(|_| malformed())?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => return Err(EndpointError::Tls(url.to_owned())),
            Some(_) | None => return Err(malformed()),
        }
        let authority = uri.authority().ok_or_else(malformed)?;
        if authority.as_str().contains('@') || uri.query().is_some() {
            let shown = format!("http://{}:…", authority.host());
            return Err(EndpointError::Secret(shown));
        }
        let host = authority.host().to_owned();
        if host.is_empty() {
            return Err(malformed());
        }
        let prefix = uri.path().trim_end_matches('/').to_owned();
        Ok(Self { host, port: authority.port_u16().unwrap_or(80), prefix })
    }

    /// The host as sockets want it: an IPv6 address without its brackets.
    pub fn host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn host_header(&self) -> String {
        if self.port == 80 { self.host.clone() } else { format!("{}:{}", self.host, self.port) }
    }

    pub(crate) fn path(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}:{}{}", self.host, self.port, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart_once() {
        let check =
            |url: &str| Endpoint::parse(url).map(|e| (e.host().to_owned(), e.port(), e.path("/livez")));
        assert_eq!(check("http://127.0.0.1:7777"), Ok(("127.0.0.1".into(), 7777, "/livez".into())));
        assert_eq!(check("http://[::1]:7777/"), Ok(("::1".into(), 7777, "/livez".into())));
        assert_eq!(check("http://host/ai/"), Ok(("host".into(), 80, "/ai/livez".into())));
    }

    #[test]
    fn what_cannot_be_reached_is_refused_with_the_reason() {
        assert_eq!(Endpoint::parse("https://x"), Err(EndpointError::Tls("https://x".into())));
        assert_eq!(Endpoint::parse("127.0.0.1:7777"), Err(EndpointError::Malformed("127.0.0.1:7777".into())));
        assert!(matches!(Endpoint::parse("http://user:pw@x/"), Err(EndpointError::Secret(_))));
        assert!(matches!(Endpoint::parse("http://x/?key=1"), Err(EndpointError::Secret(_))));
    }
}
