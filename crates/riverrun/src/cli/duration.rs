//! Durations as people write them: `90s`, `15m`, `1h`, `7d`.

use std::time::Duration;

/// Reads a number and a unit.
pub fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a duration such as 500ms, 15s, 10m, 1h or 7d");
    let split = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let millis = match unit {
        "ms" => Some(1),
        "s" => Some(1000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        _ => None,
    };
    millis.and_then(|unit| number.checked_mul(unit)).map(Duration::from_millis).ok_or_else(wrong)
}

/// Now, in milliseconds since 1970.
pub fn now_millis() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// How long ago, in one short word: `12s`, `5m`, `3h`, `2d`.
pub fn ago(millis: i64) -> String {
    let seconds = millis.max(0) / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_a_number_and_a_unit() {
        assert_eq!(parse("15s"), Ok(Duration::from_secs(15)));
        assert_eq!(parse("7d"), Ok(Duration::from_secs(604_800)));
        for bad in ["", "s", "10", "1.5h", "-1s", "1 h", "99999999999999999d"] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_age_is_one_word() {
        assert_eq!([ago(500), ago(61_000), ago(7_200_000), ago(200_000_000)], ["0s", "1m", "2h", "2d"]);
    }
}
