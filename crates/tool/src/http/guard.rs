//! Where requests may go.
//!
//! One parser reads the address for the check and for the request, names are resolved once, and the connection goes
//! to an address that was checked: a name cannot change its mind in between.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use http::Uri;

/// Only public addresses over https, and what the operator named beside them.
#[derive(Debug, Clone, Default)]
pub struct Outbound {
    /// `host` or `host:port` that may be reached wherever it is, and without https.
    pub allow: Vec<String>,
}

/// An address that passed the first check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub host: String,
    pub port: u16,
    pub is_tls: bool,
    is_allowed: bool,
}

/// Why an address is never reached, whatever its name stands for. It has the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreachable {
    NotPublic(String),
    NotSecure(String),
}

/// The refusals tell nothing of what was found behind a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Blocked {
    #[error("the address is not a usable http or https URL")]
    NotAUrl,
    #[error("the address of `{0}` must begin with https://, unless `allow_hosts` names `{0}`")]
    NotSecure(String),
    #[error("`{0}` may not be reached from here")]
    NotPublic(String),
    #[error("the name `{0}` cannot be resolved")]
    Unresolved(String),
}

impl Outbound {
    /// What can be said before the first call: no name is resolved. None also for what is no address at all.
    pub fn never_reaches(&self, url: &str) -> Option<Unreachable> {
        // Behind the host there may be places for arguments.
        let (scheme, rest) = url.split_once("://")?;
        let host = rest.split(['/', '?', '#', '{']).next()?;
        let (is_allowed, host) = match self.check(&format!("{scheme}://{host}/").parse().ok()?) {
            Ok(target) => (target.is_allowed, target.host),
            Err(Blocked::NotSecure(host)) => (false, host),
            Err(_) => return None,
        };
        let is_inside = host == "localhost" || host.parse().is_ok_and(|address: IpAddr| !is_public(address));
        match (is_allowed, is_inside) {
            (true, _) => None,
            (false, true) => Some(Unreachable::NotPublic(host)),
            (false, false) => (scheme == "http").then_some(Unreachable::NotSecure(host)),
        }
    }

    /// True for an address whose host the operator named.
    pub fn allows(&self, url: &str) -> bool {
        url.parse().is_ok_and(|uri| self.check(&uri).is_ok_and(|target| target.is_allowed))
    }

    pub(crate) fn check(&self, uri: &Uri) -> Result<Target, Blocked> {
        let authority = uri.authority().ok_or(Blocked::NotAUrl)?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        let is_tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            Some(_) | None => return Err(Blocked::NotAUrl),
        };
        // A user name before the host is only ever used to mislead.
        if host.is_empty() || authority.as_str().contains('@') {
            return Err(Blocked::NotAUrl);
        }
        let port = authority.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let with_port = format!("{host}:{port}");
        let is_allowed = self.allow.iter().any(|allowed| *allowed == host || *allowed == with_port);
        if !is_tls && !is_allowed {
            return Err(Blocked::NotSecure(host));
        }
        Ok(Target { host, port, is_tls, is_allowed })
    }

    /// The addresses that may be connected to. One that may not spoils them all.
    pub(crate) async fn resolve(&self, target: &Target) -> Result<Vec<SocketAddr>, Blocked> {
        let unresolved = || Blocked::Unresolved(target.host.clone());
        let found = tokio::net::lookup_host((target.host.as_str(), target.port)).await;
        let found: Vec<SocketAddr> = found.map_err(|_| unresolved())?.collect();
        if found.is_empty() {
            return Err(unresolved());
        }
        if !target.is_allowed && !found.iter().all(|address| is_public(address.ip())) {
            return Err(Blocked::NotPublic(target.host.clone()));
        }
        Ok(found)
    }
}

/// Why nobody should be sent to this address, for a server that does not fetch it itself: names are not resolved, so
/// that only what the address says counts.
pub fn is_blocked(url: &str) -> Option<String> {
    let blocked = |blocked: Blocked| Some(blocked.to_string());
    let Ok(uri) = url.parse::<Uri>() else { return blocked(Blocked::NotAUrl) };
    let host = uri.authority().map(|authority| authority.host().trim_matches(['[', ']'])).unwrap_or_default();
    // Without https an address may be read on its way, which is its owner's matter here.
    let checked = Outbound { allow: vec![host.to_ascii_lowercase()] }.check(&uri);
    let host = match checked {
        Ok(target) => target.host,
        Err(error) => return blocked(error),
    };
    let name = host.trim_end_matches('.');
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_local = matches!(last, "localhost" | "local" | "internal");
    // A host that ends in a number is an address, however it is written.
    let is_number = last.starts_with(|c: char| c.is_ascii_digit());
    match name.parse::<IpAddr>() {
        Ok(address) if is_public(address) => None,
        Err(_) if !is_local && !is_number => None,
        Ok(_) | Err(_) => blocked(Blocked::NotPublic(host)),
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || a == 0
        || a >= 224
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (b == 18 || b == 19));
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match (a, b, c, d, e, f) {
        // An IPv4 address in other clothes: mapped, translated, tunnelled.
        (0, 0, 0, 0, 0, 0xffff) | (0x64, 0xff9b, 0, 0, 0, 0) => v4(g, h),
        (0x2002, high, low, _, _, _) => v4(high, low),
        // Teredo, benchmarks and documentation.
        (0x2001, 0 | 2 | 0xdb8, ..) => false,
        // All that is handed out to the public begins with the bits 001.
        (first, ..) => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_judged_by_what_they_say() {
        for url in [
            "http://169.254.169.254/",
            "http://127.0.0.1/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::1]:80/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://127.1/",
            "https://localhost/",
            "https://metadata.google.internal./",
            "https://ok.example\\@127.0.0.1/",
            "https://ok@127.0.0.1/",
            "file:///etc/passwd",
            "gopher://example.com/",
            "javascript:alert(1)",
            "/relative",
            "",
        ] {
            assert!(is_blocked(url).is_some(), "{url}");
        }
        for url in
            ["https://example.com/a.png", "http://example.com/", "https://8.8.8.8/", "https://1.example/"]
        {
            assert_eq!(is_blocked(url), None, "{url}");
        }
    }

    async fn check(allow: &[&str], url: &str) -> Result<(), Blocked> {
        let outbound = Outbound { allow: allow.iter().map(|host| (*host).to_owned()).collect() };
        let uri: Uri = url.parse().map_err(|_| Blocked::NotAUrl)?;
        let target = outbound.check(&uri)?;
        outbound.resolve(&target).await.map(drop)
    }

    #[tokio::test]
    async fn nothing_inside_is_reached() {
        let inside = [
            "https://127.0.0.1/",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://0/",
            "https://10.1.2.3/",
            "https://169.254.169.254/latest",
            "https://100.64.0.1/",
            "https://192.168.0.1/",
            "https://[::1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://[64:ff9b::7f00:1]/",
            "https://[2002:7f00:1::]/",
            "https://[fe80::1]/",
            "https://[fc00::1]/",
            "https://[::]/",
            "https://[::127.0.0.1]/",
            "https://[2001:0:1::1]/",
            "https://localhost/",
            "https://255.255.255.255/",
            "https://224.0.0.1/",
        ];
        for url in inside {
            let found = check(&[], url).await;
            let is_refused =
                matches!(found, Err(Blocked::NotPublic(_) | Blocked::Unresolved(_) | Blocked::NotAUrl));
            assert!(is_refused, "{url}: {found:?}");
        }
        assert_eq!(
            check(&[], "https://[::ffff:169.254.169.254]/").await,
            Err(Blocked::NotPublic("::ffff:169.254.169.254".into()))
        );
    }

    #[tokio::test]
    async fn only_plain_https_addresses_are_taken() {
        for url in [
            "file:///etc/passwd",
            "gopher://a/",
            "/path",
            "https://ok.example\\@127.0.0.1/",
            "https://ok.example@127.0.0.1/",
            "https://",
            "data:,x",
            "ftp://8.8.8.8/",
        ] {
            assert_eq!(check(&["127.0.0.1"], url).await, Err(Blocked::NotAUrl), "{url}");
        }
        assert_eq!(check(&[], "http://8.8.8.8/").await, Err(Blocked::NotSecure("8.8.8.8".into())));
        assert_eq!(check(&[], "https://8.8.8.8/").await, Ok(()));
        assert_eq!(check(&[], "https://[2606:4700::1111]/").await, Ok(()));
        assert_eq!(check(&[], "https://[::ffff:8.8.8.8]/").await, Ok(()));
    }

    #[tokio::test]
    async fn what_the_operator_named_is_reached() {
        assert_eq!(check(&["127.0.0.1:25001"], "http://127.0.0.1:25001/x").await, Ok(()));
        assert_eq!(check(&["127.0.0.1"], "http://127.0.0.1:25001/x").await, Ok(()));
        assert!(check(&["127.0.0.1:25001"], "http://127.0.0.1:25002/x").await.is_err());
    }
}
