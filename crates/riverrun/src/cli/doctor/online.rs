//! Checks that ask a running server.

use riverrun_client::operations::ListSessionsRequest;
use riverrun_client::{Client, Error, Health};
use riverrun_event::Timestamp;

use super::Check;
use crate::cli::Context;
use crate::cli::duration;

/// A server whose clock is further off than this will expire tickets and actions at odd times.
const MAX_SKEW_MILLIS: i64 = 5_000;

pub async fn checks(context: &Context) -> Vec<Check> {
    let client = match context.connect.client() {
        Ok(client) => client,
        Err(failure) => return vec![Check::bad("url", failure.what, failure.hint.unwrap_or_default())],
    };
    let health = match client.livez().await {
        Ok(health) => health,
        Err(error) => {
            let fix = "start it with `riverrun serve`, or name another with --url or RIVERRUN_URL";
            return vec![Check::bad("server", error.to_string(), fix)];
        }
    };
    let mut checks = vec![alive(&client, &health), clock(&health)];
    checks.push(ready(&client).await);
    checks.push(key(&client, context).await);
    checks
}

fn alive(client: &Client, health: &Health) -> Check {
    let detail = format!("{} answers", client.endpoint());
    if (200..300).contains(&health.status) {
        return Check::good("server", detail);
    }
    Check::bad("server", format!("{detail} {}", health.status), "is this a riverrun server? check --url")
}

async fn ready(client: &Client) -> Check {
    match client.readyz().await {
        Ok(health) if (200..300).contains(&health.status) => Check::good("ready", "it takes work"),
        Ok(health) => {
            Check::bad("ready", health.body, "read the server's log; a full disk and a failed store end here")
        }
        Err(error) => Check::bad("ready", error.to_string(), "try again"),
    }
}

fn clock(health: &Health) -> Check {
    let server = health.date.as_deref().and_then(http_date);
    match server.map(|server| duration::now_millis() - server) {
        None => Check::skipped("clock", "the server does not tell its time"),
        // The header counts whole seconds.
        Some(skew) if skew.abs() <= MAX_SKEW_MILLIS + 1000 => Check::good("clock", "both clocks agree"),
        Some(skew) => Check::bad(
            "clock",
            format!("the clocks differ by {} s", skew / 1000),
            "synchronise both machines (NTP)",
        ),
    }
}

async fn key(client: &Client, context: &Context) -> Check {
    let fix = "set RIVERRUN_KEY, or --key-file DIR/admin.key of the server's data directory";
    if let Ok(None) = context.connect.key() {
        return Check::bad("key", "no key was found", fix);
    }
    match client.list_sessions(&ListSessionsRequest { limit: Some(1), ..ListSessionsRequest::new() }).await {
        Ok(_) => Check::good("key", "it opens the sessions"),
        Err(Error::Problem(problem)) if matches!(problem.status, 401 | 403) => {
            Check::bad("key", problem.detail, fix)
        }
        Err(error) => Check::bad("key", error.to_string(), "try again"),
    }
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`, the one form that servers send, in milliseconds since 1970.
fn http_date(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut words = text.split_ascii_whitespace().skip(1);
    let (day, month, year, time) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    Timestamp::parse(&format!("{year}-{month:02}-{day}T{time}Z")).ok().map(Timestamp::millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_of_a_server_is_read() {
        assert_eq!(http_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777_000));
        assert_eq!(http_date("yesterday"), None);
    }
}
