//! Wall-clock times as integers of milliseconds; RFC 3339 only at the edges.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Milliseconds since 1970-01-01T00:00:00Z. The clock that gives it lives elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Timestamp(i64);

/// The text is not an RFC 3339 time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an RFC 3339 date and time")]
pub struct TimestampError(String);

impl Timestamp {
    /// The time so many milliseconds after 1970-01-01 in UTC.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970-01-01 in UTC.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Reads RFC 3339; precision below a millisecond is dropped.
    pub fn parse(text: &str) -> Result<Self, TimestampError> {
        read(text.as_bytes()).map(Self).ok_or_else(|| TimestampError(text.chars().take(40).collect()))
    }

    /// Appends `2026-11-16T05:40:00.123Z`.
    pub fn write(self, out: &mut String) {
        out.push_str(std::str::from_utf8(&self.text()).expect("digits and marks are ASCII"));
    }

    /// The one form, as its bytes.
    pub(crate) fn text(self) -> [u8; 24] {
        let (days, in_day) = (self.0.div_euclid(86_400_000), self.0.rem_euclid(86_400_000));
        let (year, month, day) = civil_from_days(days);
        let mut digits = *b"0000-00-00T00:00:00.000Z";
        put(&mut digits[0..4], year.clamp(0, 9999) as u64);
        put(&mut digits[5..7], month);
        put(&mut digits[8..10], day);
        put(&mut digits[11..13], (in_day / 3_600_000) as u64);
        put(&mut digits[14..16], (in_day / 60_000 % 60) as u64);
        put(&mut digits[17..19], (in_day / 1000 % 60) as u64);
        put(&mut digits[20..23], (in_day % 1000) as u64);
        digits
    }
}

fn put(digits_out: &mut [u8], mut value: u64) {
    for digit in digits_out.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |sum, d| d.is_ascii_digit().then(|| sum * 10 + i64::from(d - b'0')))
}

fn read(text: &[u8]) -> Option<i64> {
    let head = text.get(..19)?;
    let marks = [head[4], head[7], head[13], head[16]] == *b"--::" && matches!(head[10], b'T' | b't' | b' ');
    let [year, month, day] = [number(&head[0..4])?, number(&head[5..7])?, number(&head[8..10])?];
    let [hour, minute, second] = [number(&head[11..13])?, number(&head[14..16])?, number(&head[17..19])?];
    let in_range = (1..=12).contains(&month) && (1..=days_in(year, month)).contains(&day);
    if !marks || !in_range || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let (millis, zone) = fraction(&text[19..])?;
    let days = days_from_civil(year, month, day);
    Some(((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + millis - offset(zone)? * 60_000)
}

/// The milliseconds of `.123456…` and what follows.
fn fraction(remaining: &[u8]) -> Option<(i64, &[u8])> {
    let Some(digits) = remaining.strip_prefix(b".") else { return Some((0, remaining)) };
    let length = digits.iter().take_while(|d| d.is_ascii_digit()).count();
    let millis = [100, 10, 1].iter().zip(&digits[..length]).map(|(unit, d)| unit * i64::from(d - b'0')).sum();
    (length > 0).then(|| (millis, &digits[length..]))
}

/// Minutes east of UTC.
fn offset(zone: &[u8]) -> Option<i64> {
    let sign = match zone {
        b"Z" | b"z" => return Some(0),
        [b'+', ..] => 1,
        [b'-', ..] => -1,
        _ => return None,
    };
    let [_, hour @ .., b':', tens, ones] = zone else { return None };
    let (hour, minute) = (number(hour)?, number(&[*tens, *ones])?);
    (zone.len() == 6 && hour < 24 && minute < 60).then_some(sign * (hour * 60 + minute))
}

fn days_in(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][(month - 1) as usize]
}

/// Days since 1970-01-01 of a Gregorian date, with the year taken to begin in March.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, u64, u64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (year + era * 400 + i64::from(month <= 2), month as u64, day as u64)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::with_capacity(24);
        self.write(&mut out);
        f.write_str(&out)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for Timestamp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "format": "date-time"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_rfc_3339_allows_and_writes_one_form() {
        for (text, written) in [
            ("2026-11-16T05:40:00Z", "2026-11-16T05:40:00.000Z"),
            ("2026-11-16T05:40:00.1239Z", "2026-11-16T05:40:00.123Z"),
            ("2026-11-16t07:40:00.5+02:00", "2026-11-16T05:40:00.500Z"),
            ("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"),
            ("2000-02-29T00:00:00-00:30", "2000-02-29T00:30:00.000Z"),
        ] {
            assert_eq!(Timestamp::parse(text).map(|t| t.to_string()), Ok(written.to_owned()));
        }
        for bad in [
            "",
            "now",
            "2026-13-01T00:00:00Z",
            "2025-02-29T00:00:00Z",
            "2026-11-16T05:40:00",
            "2026-11-16T05:40:00.Z",
        ] {
            assert!(Timestamp::parse(bad).is_err(), "{bad}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_millisecond_round_trips(millis in -62_135_596_800_000_i64..253_402_300_799_999) {
            let time = Timestamp::from_millis(millis);
            proptest::prop_assert_eq!(Timestamp::parse(&time.to_string()), Ok(time));
        }
    }
}
