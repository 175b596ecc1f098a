//! Where requests may go.
//!
//! One parser reads the address for the check and for the request, names are resolved once, and the connection goes
//! to an address that was checked: a name that resolves differently a moment later changes nothing.

mod public;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, SocketAddr};

use http::Uri;

use crate::address::ServerAddress;
use public::is_public;

/// Lets connections go to public addresses over https, and to the hosts that the operator named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddressGuard {
    /// `host` or `host:port` that may be reached although it is private or without https.
    pub allow: Vec<String>,
}

/// Why an address is never reached, whatever its name resolves to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreachable {
    /// The host is this machine or in a private network.
    NotPublic(String),
    /// The URL of the host begins with `http://`.
    NotSecure(String),
}

/// Why a connection is refused. The texts do not reveal what a name resolves to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlockedAddress {
    /// Not `http` or `https`, no host, or a user name before the host.
    #[error("the address is not a usable http or https URL")]
    NotAUrl,
    /// Only hosts that are named may be reached without https.
    #[error("the address of `{0}` must begin with https://, unless `allow_hosts` names `{0}`")]
    NotSecure(String),
    /// At least one address behind the name is not public.
    #[error("`{0}` may not be reached from here")]
    NotPublic(String),
    /// Nothing is known behind the name.
    #[error("the name `{0}` cannot be resolved")]
    Unresolved(String),
}

impl AddressGuard {
    /// What is known before the first call, without resolving a name. `None` also for what is no URL at all.
    pub fn never_reaches(&self, url: &str) -> Option<Unreachable> {
        // Behind the host there may be placeholders for arguments.
        let (scheme, after) = url.split_once("://")?;
        let host = after.split(['/', '?', '#', '{']).next()?;
        let address = ServerAddress::of(&format!("{scheme}://{host}/").parse().ok()?)?;
        if self.names(&address) {
            return None;
        }
        let host = address.host().to_owned();
        let is_inside = host == "localhost" || host.parse().is_ok_and(|address: IpAddr| !is_public(address));
        match (is_inside, address.is_tls()) {
            (true, _) => Some(Unreachable::NotPublic(host)),
            (false, false) => Some(Unreachable::NotSecure(host)),
            (false, true) => None,
        }
    }

    /// True for a URL whose host the operator named.
    pub fn allows(&self, url: &str) -> bool {
        let address = url.parse().ok().and_then(|uri| ServerAddress::of(&uri));
        address.is_some_and(|address| self.names(&address))
    }

    /// The socket addresses that may be connected to. One that may not be refuses them all.
    pub async fn resolve(&self, to: &ServerAddress) -> Result<Vec<SocketAddr>, BlockedAddress> {
        let (host, is_named) = (to.host(), self.names(to));
        if !to.is_tls() && !is_named {
            return Err(BlockedAddress::NotSecure(host.to_owned()));
        }
        let unresolved = || BlockedAddress::Unresolved(host.to_owned());
        let found = tokio::net::lookup_host((host, to.port())).await;
        let found: Vec<SocketAddr> = found.map_err(|_| unresolved())?.collect();
        if found.is_empty() {
            return Err(unresolved());
        }
        if !is_named && !found.iter().all(|address| is_public(address.ip())) {
            return Err(BlockedAddress::NotPublic(host.to_owned()));
        }
        Ok(found)
    }

    fn names(&self, address: &ServerAddress) -> bool {
        let with_port = format!("{}:{}", address.host(), address.port());
        self.allow.iter().any(|allowed| *allowed == address.host() || *allowed == with_port)
    }
}

/// Why nobody should be sent to this address, for a server that does not fetch it itself: names are not resolved, so
/// only the URL counts. Without https is allowed: that concerns the owner of the URL.
pub fn is_blocked(url: &str) -> Option<String> {
    let blocked = |blocked: BlockedAddress| Some(blocked.to_string());
    let address = url.parse::<Uri>().ok().and_then(|uri| ServerAddress::of(&uri));
    let Some(address) = address else { return blocked(BlockedAddress::NotAUrl) };
    let host = address.host();
    let name = host.trim_end_matches('.');
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_local = matches!(last, "localhost" | "local" | "internal");
    // A host that ends in a number is an address, however it is written.
    let is_number = last.starts_with(|c: char| c.is_ascii_digit());
    match name.parse::<IpAddr>() {
        Ok(address) if is_public(address) => None,
        Err(_) if !is_local && !is_number => None,
        Ok(_) | Err(_) => blocked(BlockedAddress::NotPublic(host.to_owned())),
    }
}
