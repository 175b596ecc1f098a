//! Where a service is.

use http::{HeaderValue, Uri};

/// A checked base URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    tls: bool,
    host: String,
    port: u16,
    /// The path before the API's own, without a slash at its end.
    prefix: String,
}

impl Endpoint {
    pub fn parse(url: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("base_url `{}` {why}", shown(url));
        if !url.bytes().all(|byte| byte.is_ascii_graphic()) || url.contains('\\') {
            return Err(wrong("holds a character that no address has"));
        }
        let uri: Uri = url.parse().map_err(|_| wrong("is not an address; write https://HOST/PATH"))?;
        let tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            Some(_) | None => return Err(wrong("must start with https:// or http://")),
        };
        let authority = uri.authority().ok_or_else(|| wrong("names no host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong("holds a user or password; give the key by `key`"));
        }
        if uri.query().is_some() || url.contains('#') {
            return Err(wrong("holds ? or #; give the path alone"));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() {
            return Err(wrong("names no host"));
        }
        let port = match authority.port() {
            Some(port) => port.as_u16(),
            None if authority.as_str().ends_with(':') => return Err(wrong("has an empty port")),
            None => {
                if tls {
                    443
                } else {
                    80
                }
            }
        };
        Ok(Self { tls, host, port, prefix: uri.path().trim_end_matches('/').to_owned() })
    }

    pub fn is_tls(&self) -> bool {
        self.tls
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn target(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }

    pub fn host_header(&self) -> HeaderValue {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let usual = if self.tls { 443 } else { 80 };
        let text = if self.port == usual { host } else { format!("{host}:{}", self.port) };
        HeaderValue::from_str(&text).expect("the host was read from a parsed address")
    }
}

/// An address without what may be a password in it.
fn shown(url: &str) -> String {
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => format!("{}://…{}", &url[..scheme], &url[at..]),
        _ => url.chars().take(200).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_host_port_and_path() {
        let local = Endpoint::parse("http://[::1]:8080/v1/").unwrap();
        assert_eq!((local.host(), local.port(), local.target("/x")), ("::1", 8080, "/v1/x".to_owned()));
        assert_eq!(local.host_header(), "[::1]:8080");
        assert_eq!(Endpoint::parse("https://api.example.com").unwrap().host_header(), "api.example.com");
    }

    #[test]
    fn a_wrong_address_is_told_without_its_password() {
        let check = |url: &str, expected: &str| {
            let error = Endpoint::parse(url).unwrap_err();
            assert!(error.contains(expected), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        };
        check("https://me:hunter2@example.com", "holds a user or password");
        check("https://ok.example\\@127.0.0.1/", "a character that no address has");
        check("file:///etc/passwd", "is not an address; write https://");
        check("gopher://x", "must start with https://");
        check("example.com/v1", "is not an address");
        check("example.com", "must start with https://");
        check("https://example.com/v1?key=1", "holds ? or #");
        check("", "is not an address");
    }
}
