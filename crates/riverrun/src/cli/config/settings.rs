//! Every setting, written once: the file's reader, the environment, the schema and the docs come from this table.

use std::time::Duration;

use serde::Serialize;

use crate::cli::duration;

/// One setting of `riverrun.toml`.
#[derive(Debug, PartialEq, Eq)]
pub struct Setting {
    pub section: &'static str,
    pub key: &'static str,
    pub kind: Kind,
    /// As it would be written in the environment; list items are parted by commas.
    pub default: &'static str,
    pub about: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// `ADDRESS:PORT`.
    Address,
    TextList,
    /// `15s`.
    Duration,
    /// A number of bytes, or `256KiB`.
    Size,
    Integer,
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum SettingValue {
    Text(String),
    TextList(Vec<String>),
    /// Milliseconds.
    Duration(#[serde(serialize_with = "as_text")] Duration),
    Integer(u64),
    Flag(bool),
}

macro_rules! settings {
    ($($section:literal { $($key:literal: $kind:expr, $default:literal, $about:literal;)* })*) => {
        pub const SETTINGS: &[Setting] = &[$($(
            Setting { section: $section, key: $key, kind: $kind, default: $default, about: $about },
        )*)*];
    };
}

settings! {
    "server" {
        "listen": Kind::Address, "127.0.0.1:7777", "Where to listen.";
        "data_dir": Kind::Text, "./.riverrun", "Where everything is stored.";
        "allowed_hosts": Kind::TextList, "", "Host names that are served besides loopback.";
        "allowed_origins": Kind::TextList, "", "Web origins that may call, besides the server's own.";
        "behind_proxy": Kind::Flag, "false", "Believe the forwarding headers of a proxy in front.";
        "open_metrics": Kind::Flag, "false", "Serve `/metrics` without a key, also behind a proxy or under other host names.";
        "log_format": Kind::Word(&["text", "json"]), "text", "How the server writes its own log.";
        "drain": Kind::Duration, "30s", "How long a shutdown waits for open model and tool calls, requests and streams.";
    }
    "log" {
        "retention": Kind::Duration, "30d", "How long finished sessions are kept; 0s keeps them for ever.";
        "deletions": Kind::Duration, "30d", "How long a deleted session answers `session_deleted` instead of `not_found`; 0s is never.";
    }
    "stream" {
        "heartbeat": Kind::Duration, "15s", "How often a stream says that it is alive.";
    }
    "files" {
        "read": Kind::Flag, "true", "Fetch and read files of inputs before the model is called; otherwise they are passed on to the model's service as they came.";
        "allow_hosts": Kind::TextList, "", "Hosts that files may be fetched from though they are private or without TLS.";
        "max_bytes": Kind::Size, "32MiB", "The largest file of an input that is read.";
        "max_files": Kind::Integer, "20", "Files of one turn that are read; 100 at most.";
        "max_pages": Kind::Integer, "500", "Pages of a file whose text is taken.";
        "max_text": Kind::Size, "256KiB", "Text that is taken from a file; the model is told of the rest.";
        "timeout": Kind::Duration, "30s", "How long fetching a file may take, and how long reading it.";
    }
    "limits" {
        "body_bytes": Kind::Size, "1MiB", "The largest request body.";
        "event_bytes": Kind::Size, "256KiB", "The largest event; more goes to a blob.";
        "blob_bytes": Kind::Size, "20MiB", "The largest blob.";
        "connections": Kind::Integer, "4096", "Open connections in all.";
        "connections_per_ip": Kind::Integer, "64", "Open connections of one address that is not loopback.";
        "streams_per_tenant": Kind::Integer, "256", "Open streams of one tenant; 0 is no limit.";
        "events_per_second": Kind::Integer, "0", "Ingested, imported and forked events per tenant and second; 0 is no limit.";
        "new_sessions_per_second": Kind::Integer, "100", "New sessions per tenant and second, ten seconds' worth at once; 0 is no limit.";
        "upload_bytes_per_second": Kind::Size, "32MiB", "Bytes of blobs per tenant and second, ten seconds' worth at once; 0 is no limit.";
        "sessions_per_tenant": Kind::Integer, "1000000", "Sessions of one tenant; 0 is no limit.";
        "stored_bytes_per_tenant": Kind::Size, "100GiB", "Events (before compression) and blobs of one tenant; 0 is no limit.";
        "running_turns_per_tenant": Kind::Integer, "10000", "Turns of one tenant that are at work at a time; 0 is no limit.";
        "body_bytes_in_flight": Kind::Size, "256MiB", "Bytes of incomplete request bodies and WebSocket messages in memory, in all; a tenant may use half.";
        "upload_bytes_in_flight": Kind::Size, "1GiB", "Bytes of incomplete blob uploads on the disk, in all; a tenant may use half.";
        "running_calls": Kind::Integer, "1000", "Model, tool and hook calls that run at the same time; more wait, and tenants take turns.";
        "calls_per_session": Kind::Integer, "64", "Tool calls of one session that run at the same time, and hooks.";
        "tickets_per_tenant": Kind::Integer, "1024", "Tickets of one tenant that wait for their use; one key holds at most a quarter; 0 is no limit.";
        "browser_credentials_per_tenant": Kind::Integer, "65536", "Live browser credentials of one tenant; one key holds at most a quarter; 0 is no limit.";
        "failed_auth_per_minute": Kind::Integer, "10", "Wrong keys of one address before it must wait.";
        "share_reads_per_ip": Kind::Integer, "60", "Reads of shared sessions of one address and minute; behind a proxy, that is the proxy's; 0 is no limit.";
        "share_reads_per_share": Kind::Integer, "300", "Reads by one share link and minute; 0 is no limit.";
    }
}

pub fn find(section: &str, key: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.section == section && setting.key == key)
}

pub fn sections() -> impl Iterator<Item = &'static str> {
    let mut last = "";
    SETTINGS
        .iter()
        .map(|setting| setting.section)
        .filter(move |section| std::mem::replace(&mut last, section) != *section)
}

impl Setting {
    pub fn name(&self) -> String {
        format!("{}.{}", self.section, self.key)
    }

    /// The variable that overrides the file.
    pub fn variable(&self) -> String {
        format!("RIVERRUN_{}__{}", self.section.to_uppercase(), self.key.to_uppercase())
    }

    /// Reads the setting from text, as the environment and the flags give it.
    pub fn read(&self, text: &str) -> Result<SettingValue, String> {
        let text = text.trim();
        match self.kind {
            Kind::Text if text.is_empty() => Err("must not be empty".into()),
            Kind::Text => Ok(SettingValue::Text(text.to_owned())),
            Kind::Address => match text.parse::<std::net::SocketAddr>() {
                Ok(address) => Ok(SettingValue::Text(address.to_string())),
                Err(_) => Err(format!("`{text}` is not an address such as 127.0.0.1:7777")),
            },
            Kind::TextList => {
                let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
                Ok(SettingValue::TextList(items.map(str::to_owned).collect()))
            }
            Kind::Duration => duration::parse(text).map(SettingValue::Duration),
            Kind::Size => parse_size(text).map(SettingValue::Integer),
            Kind::Integer => {
                text.parse().map(SettingValue::Integer).map_err(|_| format!("`{text}` is not a whole number"))
            }
            Kind::Flag => {
                text.parse().map(SettingValue::Flag).map_err(|_| format!("`{text}` is not true or false"))
            }
            Kind::Word(words) if words.contains(&text) => Ok(SettingValue::Text(text.to_owned())),
            Kind::Word(words) => Err(format!("`{text}` is not one of {}", words.join(", "))),
        }
    }
}

pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a size such as 65536, 256KiB or 1MiB");
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let unit = match unit {
        "" | "B" => Some(1),
        "KiB" => Some(1 << 10),
        "MiB" => Some(1 << 20),
        "GiB" => Some(1 << 30),
        _ => None,
    };
    unit.and_then(|unit| number.checked_mul(unit)).ok_or_else(wrong)
}

fn as_text<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&duration_text(*duration))
}

/// The shortest way to write a duration that reads back the same.
fn duration_text(duration: Duration) -> String {
    let millis = duration.as_millis();
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s")];
    match units.iter().find(|(unit, _)| millis > 0 && millis.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{}{name}", millis / unit),
        None if millis == 0 => "0s".to_owned(),
        None => format!("{millis}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_valid_and_every_name_is_unique() {
        let mut names: Vec<String> = SETTINGS.iter().map(Setting::name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), SETTINGS.len());
        for setting in SETTINGS {
            assert!(setting.read(setting.default).is_ok(), "{}", setting.name());
        }
        assert_eq!(sections().collect::<Vec<_>>(), ["server", "log", "stream", "files", "limits"]);
    }

    #[test]
    fn sizes_and_durations_are_written_for_people() {
        assert_eq!(parse_size("256KiB"), Ok(262_144));
        assert!(parse_size("1MB").is_err() && parse_size("").is_err() && parse_size("-1").is_err());
        for text in ["15s", "30d", "250ms", "0s", "90m"] {
            assert_eq!(duration::parse(text).map(duration_text), Ok(text.to_owned()));
        }
    }
}
