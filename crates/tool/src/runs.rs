//! What a call sets in motion: the part of a tool's identity that its name and its schema do not tell.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::{Program, ValueSource};

/// A program, an address or a server. Empty for what is compiled in: a function is what its name says.
#[derive(Clone, PartialEq, Default)]
pub struct Runs {
    shown: Value,
    sealed: Value,
}

impl Runs {
    /// For whoever decides: the command line, the address, names of variables and headers. Never a value of one.
    pub fn shown(&self) -> Option<&Value> {
        (!self.shown.is_null()).then_some(&self.shown)
    }

    /// Everything that makes another tool of it. It is hashed and goes nowhere else: it holds what is not shown.
    pub fn sealed(&self) -> Option<&Value> {
        (!self.sealed.is_null()).then_some(&self.sealed)
    }

    pub(crate) fn program(program: &Program) -> Self {
        let mut shown = json!({"command": program.argv});
        if let Some(cwd) = &program.cwd {
            shown["cwd"] = json!(cwd.to_string_lossy());
        }
        let mut names: Vec<&String> = program.inherit.iter().chain(program.env.keys()).collect();
        names.sort_unstable();
        names.dedup();
        if !names.is_empty() {
            shown["environment"] = json!(names);
        }
        let env = shown_values(program.env.iter().map(|(name, value)| (name.as_str(), value)));
        let sealed = json!({
            "command": program.argv,
            "cwd": program.cwd.as_ref().map(|cwd| cwd.to_string_lossy()),
            "inherit": program.inherit,
            "env": env,
        });
        Self { shown, sealed }
    }

    pub(crate) fn request<'a>(
        method: Option<&str>,
        url: &str,
        headers: impl Iterator<Item = (&'a str, &'a ValueSource)> + Clone,
    ) -> Self {
        let mut shown = json!({"url": shown_url(url)});
        if let Some(method) = method {
            shown["method"] = json!(method);
        }
        let names: Vec<&str> = headers.clone().map(|(name, _)| name).collect();
        if !names.is_empty() {
            shown["headers"] = json!(names);
        }
        Self { shown, sealed: json!({"method": method, "url": url, "headers": shown_values(headers)}) }
    }

    /// A tool of a server: another server, another name there or another promise is another tool.
    pub(crate) fn of_server(self, server: &str, remote: &str, description: &str) -> Self {
        let with = |mut value: Value| {
            value["server"] = json!(server);
            value["tool"] = json!(remote);
            value
        };
        let mut sealed = with(self.sealed);
        sealed["description"] = json!(description);
        Self { shown: with(self.shown), sealed }
    }
}

impl fmt::Debug for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Runs({})", self.shown)
    }
}

/// Where each value comes from. A secret's own value is no part of it, so that a new key is not another tool.
fn shown_values<'a>(values: impl Iterator<Item = (&'a str, &'a ValueSource)>) -> Value {
    let shown_value = |(name, secret): (&str, &ValueSource)| {
        let shown_value = match secret {
            ValueSource::Plain(value) => json!({"value": value}),
            ValueSource::Env(name) => json!({"env": name}),
            ValueSource::File(path) => json!({"file": path.to_string_lossy()}),
        };
        (name.to_owned(), shown_value)
    };
    Value::Object(values.map(shown_value).collect::<Map<_, _>>())
}

/// An address without what may be a key: who calls, and what its query holds beside places for arguments.
fn shown_url(url: &str) -> String {
    let (address, query) = match url.split_once('?') {
        Some((address, query)) => (address, Some(query)),
        None => (url, None),
    };
    let mut shown = match address.split_once("://") {
        Some((scheme, remaining)) => {
            let (authority, path) = remaining.split_at(remaining.find('/').unwrap_or(remaining.len()));
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            format!("{scheme}://{host}{path}")
        }
        None => address.to_owned(),
    };
    for (shown_value, pair) in query.into_iter().flat_map(|query| query.split('&')).enumerate() {
        shown.push(if shown_value == 0 { '?' } else { '&' });
        match pair.split_once('=') {
            Some((name, value)) if !(value.starts_with('{') && value.ends_with('}')) => {
                shown.push_str(&format!("{name}=…"));
            }
            Some(_) | None => shown.push_str(pair),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_is_shown_and_every_plain_one_counts() {
        let program = |value: &str| Program {
            argv: vec!["ls".to_owned(), "{path}".to_owned()],
            cwd: Some("/srv".into()),
            inherit: vec!["EDITOR".to_owned()],
            env: [
                ("MODE".to_owned(), ValueSource::Plain(value.to_owned())),
                ("TOKEN".to_owned(), ValueSource::Env("T".to_owned())),
            ]
            .into(),
            ..Program::default()
        };
        let runs = Runs::program(&program("s3cret"));
        let shown =
            json!({"command": ["ls", "{path}"], "cwd": "/srv", "environment": ["EDITOR", "MODE", "TOKEN"]});
        assert_eq!(runs.shown(), Some(&shown));
        assert!(!format!("{runs:?}").contains("s3cret"));
        assert_ne!(runs, Runs::program(&program("other")));
        assert_eq!((Runs::default().shown(), Runs::default().sealed()), (None, None));
    }

    #[test]
    fn an_address_is_shown_without_keys() {
        for (url, shown) in [
            ("https://api.test/v1/{id}?q={q}&key=abc&deep", "https://api.test/v1/{id}?q={q}&key=…&deep"),
            ("https://me:pw@api.test?k=v", "https://api.test?k=…"),
            ("{url}", "{url}"),
        ] {
            assert_eq!(shown_url(url), shown);
        }
    }
}
