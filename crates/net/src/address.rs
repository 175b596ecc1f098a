//! Where a server is.

use std::fmt;

use http::{HeaderValue, Uri};

/// The host, the port, and whether the connection is TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAddress {
    host: String,
    port: u16,
    is_tls: bool,
}

impl ServerAddress {
    /// The address that a URL names. `None` if its scheme is not `http` or `https`, if it has no host, or if a user
    /// name comes before the host: that is only ever used to mislead.
    pub fn of(uri: &Uri) -> Option<Self> {
        let is_tls = match uri.scheme_str()? {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let authority = uri.authority()?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        if host.is_empty() || authority.as_str().contains('@') {
            return None;
        }
        let port = authority.port_u16().unwrap_or(default_port(is_tls));
        Some(Self { host, port, is_tls })
    }

    /// The host as sockets want it: an IPv6 address without its brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, also if the URL leaves it out.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// True for `https`.
    pub fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// The value of the `Host` header: without the port if it is the scheme's own.
    pub fn host_header(&self) -> HeaderValue {
        let host = self.bracketed_host();
        let text =
            if self.port == default_port(self.is_tls) { host } else { format!("{host}:{}", self.port) };
        HeaderValue::from_str(&text).expect("the host was read from a parsed address")
    }

    fn bracketed_host(&self) -> String {
        if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() }
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls { "https" } else { "http" };
        write!(f, "{scheme}://{}:{}", self.bracketed_host(), self.port)
    }
}

const fn default_port(is_tls: bool) -> u16 {
    if is_tls { 443 } else { 80 }
}

/// A checked base URL: a server, and the path before the paths of its API.
///
/// ```
/// use riverrun_net::BaseUrl;
///
/// let base = BaseUrl::parse("https://gateway.example/ai/")?;
/// assert_eq!(base.target("/v1/models"), "/ai/v1/models");
/// assert_eq!(base.address().port(), 443);
/// # Ok::<(), riverrun_net::BaseUrlError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl {
    address: ServerAddress,
    /// Without a slash at its end; empty for most servers.
    prefix: String,
}

/// What is wrong with a base URL, as the end of a sentence that begins with the URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BaseUrlError {
    /// A space, a backslash, a control character or one that is not ASCII.
    #[error("holds a character that no address has")]
    Character,
    /// The text is no URL.
    #[error("is not an address; write https://HOST/PATH")]
    Malformed,
    /// The scheme is absent or is neither `http` nor `https`.
    #[error("must start with https:// or http://")]
    Scheme,
    /// There is nothing between the scheme and the path.
    #[error("names no host")]
    NoHost,
    /// `user:password@` comes before the host.
    #[error("holds a user or password; give the key by `key`")]
    Credentials,
    /// A query or a fragment comes after the path.
    #[error("holds ? or #; give the path alone")]
    Query,
    /// The host ends with a colon.
    #[error("has an empty port")]
    EmptyPort,
}

impl BaseUrl {
    /// Reads and checks a URL without credentials, query and fragment.
    pub fn parse(url: &str) -> Result<Self, BaseUrlError> {
        if !url.bytes().all(|byte| byte.is_ascii_graphic()) || url.contains('\\') {
            return Err(BaseUrlError::Character);
        }
        let uri: Uri = url.parse().map_err(|_| BaseUrlError::Malformed)?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(BaseUrlError::Scheme);
        }
        let authority = uri.authority().ok_or(BaseUrlError::NoHost)?.as_str();
        if authority.contains('@') {
            return Err(BaseUrlError::Credentials);
        }
        if uri.query().is_some() || url.contains('#') {
            return Err(BaseUrlError::Query);
        }
        if authority.ends_with(':') {
            return Err(BaseUrlError::EmptyPort);
        }
        let address = ServerAddress::of(&uri).ok_or(BaseUrlError::NoHost)?;
        Ok(Self { address, prefix: uri.path().trim_end_matches('/').to_owned() })
    }

    /// The server.
    pub fn address(&self) -> &ServerAddress {
        &self.address
    }

    /// What a request line names for a path of the API.
    pub fn target(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.address, self.prefix)
    }
}

/// A URL for an error text, without what may be a password or a key in it.
pub fn redacted_url(url: &str) -> String {
    let shown = match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => format!("{}://…{}", &url[..scheme], &url[at..]),
        _ => url.to_owned(),
    };
    let shown = match shown.split_once('?') {
        Some((path, _)) => format!("{path}?…"),
        None => shown,
    };
    shown.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_server_and_path() {
        let check = |url: &str| {
            let base = BaseUrl::parse(url).expect(url);
            let address = base.address();
            let host_header = address.host_header().to_str().expect("text").to_owned();
            (address.host().to_owned(), address.port(), host_header, base.target("/x"))
        };
        let expected = |host: &str, port, header: &str, target: &str| {
            (host.to_owned(), port, header.to_owned(), target.to_owned())
        };
        assert_eq!(check("http://127.0.0.1:7777"), expected("127.0.0.1", 7777, "127.0.0.1:7777", "/x"));
        assert_eq!(check("http://[::1]:8080/v1/"), expected("::1", 8080, "[::1]:8080", "/v1/x"));
        assert_eq!(check("http://[::1]/"), expected("::1", 80, "[::1]", "/x"));
        assert_eq!(check("https://API.example"), expected("api.example", 443, "api.example", "/x"));
        assert_eq!(
            check("https://api.example:80/ai"),
            expected("api.example", 80, "api.example:80", "/ai/x")
        );
    }

    #[test]
    fn a_url_is_shown_with_its_port() {
        let shown = |url| BaseUrl::parse(url).map(|base| base.to_string());
        assert_eq!(shown("https://host/ai/"), Ok("https://host:443/ai".to_owned()));
        assert_eq!(shown("http://[::1]"), Ok("http://[::1]:80".to_owned()));
    }

    #[test]
    fn a_wrong_url_is_refused_with_the_reason() {
        for (url, error) in [
            ("https://me:hunter2@example.com", BaseUrlError::Credentials),
            ("https://ok.example\\@127.0.0.1/", BaseUrlError::Character),
            ("https://example.com/a b", BaseUrlError::Character),
            ("file:///etc/passwd", BaseUrlError::Malformed),
            ("example.com/v1", BaseUrlError::Malformed),
            ("", BaseUrlError::Malformed),
            ("gopher://x", BaseUrlError::Scheme),
            ("example.com", BaseUrlError::Scheme),
            ("https://example.com/v1?key=1", BaseUrlError::Query),
            ("https://example.com/v1#key", BaseUrlError::Query),
            ("http://example.com:/", BaseUrlError::EmptyPort),
        ] {
            assert_eq!(BaseUrl::parse(url), Err(error), "{url}");
        }
    }

    #[test]
    fn an_error_shows_no_password_and_no_key() {
        assert_eq!(redacted_url("https://me:hunter2@example.com/a"), "https://…@example.com/a");
        assert_eq!(redacted_url("https://example.com/a?key=1"), "https://example.com/a?…");
        assert_eq!(redacted_url(&"x".repeat(300)).len(), 200);
    }
}
