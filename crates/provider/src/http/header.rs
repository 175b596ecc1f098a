//! What the headers of an answer say about waiting and limits.

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use riverrun_event::Timestamp;

use crate::RateLimit;

/// Longer waits are no advice.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 3600);

/// `retry-after-ms`, or `retry-after` in seconds or as a date.
pub fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let by_ms = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok()).map(|ms| ms / 1000.0);
    let by_seconds = || text("retry-after").and_then(|text| text.parse::<f64>().ok());
    let wait = match by_ms.or_else(by_seconds) {
        Some(seconds) => Duration::try_from_secs_f64(seconds).ok()?,
        None => httpdate::parse_http_date(text("retry-after")?).ok()?.duration_since(now).unwrap_or_default(),
    };
    Some(wait.min(LONGEST_WAIT))
}

/// One entry for each kind of limit that the service counts.
pub fn rate_limits(headers: &HeaderMap, now: SystemTime) -> Vec<RateLimit> {
    const OPENAI: &[&str] = &["requests", "tokens"];
    const ANTHROPIC: &[&str] = &["requests", "tokens", "input-tokens", "output-tokens"];
    let openai = OPENAI.iter().map(|kind| {
        let names = ["limit", "remaining", "reset"].map(|what| format!("x-ratelimit-{what}-{kind}"));
        rate_limit(headers, kind, &names, now)
    });
    let anthropic = ANTHROPIC.iter().map(|kind| {
        let names = ["limit", "remaining", "reset"].map(|what| format!("anthropic-ratelimit-{kind}-{what}"));
        rate_limit(headers, kind, &names, now)
    });
    openai.chain(anthropic).flatten().collect()
}

fn rate_limit(headers: &HeaderMap, kind: &str, names: &[String; 3], now: SystemTime) -> Option<RateLimit> {
    let text = |name: &String| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let number = |name: &String| text(name).and_then(|text| text.parse().ok());
    let [limit, remaining, reset] = names;
    let found = RateLimit {
        kind: kind.to_owned(),
        limit: number(limit),
        remaining: number(remaining),
        resets_in: text(reset).and_then(|text| span(text).or_else(|| until(text, now))),
    };
    (found.limit.is_some() || found.remaining.is_some()).then_some(found)
}

/// `1s`, `6m0s`, `20ms`, `1h2m3.5s`.
fn span(text: &str) -> Option<Duration> {
    let mut total = 0.0;
    let mut remaining = text;
    while !remaining.is_empty() {
        let digits = remaining.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = remaining[..digits].parse().ok()?;
        let unit = remaining[digits..]
            .find(|c: char| c.is_ascii_digit())
            .map_or(remaining.len(), |end| digits + end);
        total += number
            * match &remaining[digits..unit] {
                "ms" => 0.001,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                "d" => 86_400.0,
                _ => return None,
            };
        remaining = &remaining[unit..];
    }
    Duration::try_from_secs_f64(total).ok().filter(|_| !text.is_empty())
}

/// A moment, as the time until then.
fn until(text: &str, now: SystemTime) -> Option<Duration> {
    let moment = u64::try_from(Timestamp::parse(text).ok()?.millis()).ok()?;
    let now = now.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(Duration::from_millis(moment).saturating_sub(now))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(list: &[(&'static str, &'static str)]) -> HeaderMap {
        list.iter()
            .map(|(name, value)| (http::HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    fn noon() -> SystemTime {
        // 2026-01-01T12:00:00Z
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_268_800)
    }

    #[test]
    fn retry_after_is_read_in_all_its_forms() {
        let check = |name, value, expected: Option<f64>| {
            let found = retry_after(&headers(&[(name, value)]), noon());
            assert_eq!(found, expected.map(Duration::from_secs_f64), "{name}: {value}");
        };
        check("retry-after", "7", Some(7.0));
        check("retry-after", "1.5", Some(1.5));
        check("retry-after-ms", "250", Some(0.25));
        check("retry-after", "Thu, 01 Jan 2026 12:00:30 GMT", Some(30.0));
        check("retry-after", "Thu, 01 Jan 2026 11:00:00 GMT", Some(0.0));
        check("retry-after", "999999999", Some(86_400.0));
        check("retry-after", "-1", None);
        check("retry-after", "soon", None);
    }

    #[test]
    fn limits_of_both_families_are_read() {
        let found = rate_limits(
            &headers(&[
                ("x-ratelimit-limit-requests", "60"),
                ("x-ratelimit-remaining-requests", "59"),
                ("x-ratelimit-reset-requests", "6m0.5s"),
                ("anthropic-ratelimit-input-tokens-remaining", "1000"),
                ("anthropic-ratelimit-input-tokens-reset", "2026-01-01T12:01:00Z"),
            ]),
            noon(),
        );
        let expected = [
            RateLimit {
                kind: "requests".to_owned(),
                limit: Some(60),
                remaining: Some(59),
                resets_in: Some(Duration::from_millis(360_500)),
            },
            RateLimit {
                kind: "input-tokens".to_owned(),
                limit: None,
                remaining: Some(1000),
                resets_in: Some(Duration::from_secs(60)),
            },
        ];
        assert_eq!(found, expected);
    }
}
