//! Checks of what the configuration declares: keys are there, services can be reached, MCP servers answer.

use std::path::Path;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Check;
use crate::cli::agents::{mcp_server, provider};
use crate::cli::config::{Effective, Mcp, Provider, find_file};

/// A service that does not take a connection in this time is not reached.
const PATIENCE: Duration = Duration::from_secs(5);

pub async fn checks() -> Vec<Check> {
    let Some(path) = find_file(None) else { return Vec::new() };
    let effective = match Effective::load(Some(&path), std::env::vars(), &[]) {
        Ok(effective) => effective,
        Err(failure) => return vec![Check::bad("config", failure.what, "`riverrun config check`")],
    };
    let mut checks = vec![Check::good("config", format!("{} is good", path.display()))];
    let declared = effective.declared.unwrap_or_default();
    let directory = path.parent().unwrap_or(Path::new(""));
    for declaration in declared.providers.iter().filter(|provider| provider.kind != "scripted") {
        checks.push(reach(declaration, directory).await);
    }
    for declaration in &declared.mcp {
        checks.push(ask(declaration, directory).await);
    }
    checks
}

async fn reach(declaration: &Provider, directory: &Path) -> Check {
    let name = &declaration.name.text;
    if let Err(failure) = provider(declaration, directory) {
        return Check::bad("provider", failure.what, "set the variable or the file that `key` names");
    }
    let url = declaration.base_url.as_deref().unwrap_or(match declaration.kind.as_str() {
        "anthropic" => "https://api.anthropic.com",
        "gemini" => "https://generativelanguage.googleapis.com",
        _ => "https://api.openai.com",
    });
    let Some(address) = address(url) else {
        return Check::bad("provider", format!("{name}: `{url}` is no address"), "mend `base_url`");
    };
    let keyed = if declaration.key.is_some() { "its key is there" } else { "it has no key" };
    match timeout(PATIENCE, TcpStream::connect(&address)).await {
        Ok(Ok(_)) => Check::good("provider", format!("{name}: {keyed}, {address} can be reached")),
        Ok(Err(error)) => {
            Check::bad("provider", format!("{name}: {address}: {error}"), "check `base_url` and the network")
        }
        Err(_) => Check::bad("provider", format!("{name}: {address} does not answer"), "check the network"),
    }
}

/// `host:port` of a URL.
fn address(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?']).next().filter(|host| !host.is_empty())?;
    let port = if scheme == "http" { 80 } else { 443 };
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    Some(if has_port { host.to_owned() } else { format!("{host}:{port}") })
}

async fn ask(declaration: &Mcp, directory: &Path) -> Check {
    let name = &declaration.name.text;
    let server = mcp_server(declaration, directory);
    let offer = server.offer().await;
    server.stop().await;
    match offer {
        Err(error) => Check::bad("mcp", format!("{name}: {error}"), "run its command by hand, or mend `url`"),
        Ok(offer) if offer.refused.is_empty() => {
            Check::good("mcp", format!("{name} offers {} tools", offer.tools.len()))
        }
        Ok(offer) => {
            let detail =
                format!("{name} offers {} tools; not usable: {:?}", offer.tools.len(), offer.refused);
            Check::bad("mcp", detail, "mend these tools in the server; the others work")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_port() {
        let check = |url| address(url).unwrap_or_default();
        assert_eq!(check("https://api.openai.com/v1"), "api.openai.com:443");
        assert_eq!(check("http://127.0.0.1:8000/v1"), "127.0.0.1:8000");
        assert_eq!((check("http://host"), check("nonsense")), ("host:80".to_owned(), String::new()));
    }
}
