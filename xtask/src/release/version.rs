//! The version of the project, and the files that name it.

use std::fmt;

use anyhow::{Context, Result, bail, ensure};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    major: u64,
    minor: u64,
    patch: u64,
}

impl Version {
    pub fn parse(text: &str) -> Result<Self> {
        let numbers: Option<Vec<u64>> = text.split('.').map(|part| part.parse().ok()).collect();
        let Some([major, minor, patch]) = numbers.as_deref() else {
            bail!("`{text}` is not a version such as 1.2.3");
        };
        Ok(Self { major: *major, minor: *minor, patch: *patch })
    }

    /// The version that `word` names: `major`, `minor`, `patch`, or a later version.
    pub fn next(self, word: &str) -> Result<Self> {
        let Self { major, minor, patch } = self;
        let next = match word {
            "major" => Self { major: major + 1, minor: 0, patch: 0 },
            "minor" => Self { major, minor: minor + 1, patch: 0 },
            "patch" => Self { major, minor, patch: patch + 1 },
            version => Self::parse(version)?,
        };
        ensure!(next > self, "{next} is not later than the current version {self}");
        Ok(next)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The files that name the version: how their path ends, the line, and how often it occurs. `*` stands for the version.
const FILES: &[(&str, &str, usize)] = &[
    ("Cargo.toml", "version = \"*\"", 1),
    ("clients/python/pyproject.toml", "version = \"*\"", 1),
    ("clients/typescript/package.json", "\"version\": \"*\",", 1),
    ("clients/typescript/package-lock.json", "\"version\": \"*\",", 2),
];

/// The description of the API, and the part of it that is written by hand: found by their names, wherever they are.
const OPENAPI: [&str; 2] = ["openapi.json", "by_hand.json"];
const OPENAPI_LINE: &str = "\"version\": \"*\"";

/// The rule for a file that names the version; None for any other file.
fn rule(path: &str) -> Option<(&'static str, usize)> {
    let listed = FILES.iter().find(|(listed, _, _)| *listed == path);
    let is_openapi = path.rsplit('/').next().is_some_and(|name| OPENAPI.contains(&name));
    let openapi = is_openapi.then_some((OPENAPI_LINE, 1));
    listed.map(|(_, line, count)| (*line, *count)).or(openapi)
}

/// True for a file that [`bump`] changes.
pub fn names_version(path: &str) -> bool {
    rule(path).is_some()
}

/// The text with the next version. Dependencies have versions too: only the first lines of a manifest are ours.
pub fn bump(path: &str, text: &str, from: Version, to: Version) -> Result<String> {
    let (line, count) = rule(path).with_context(|| format!("{path} names no version"))?;
    let with = |version: Version| line.replace('*', &version.to_string());
    let found = text.matches(&with(from)).count();
    ensure!(found >= count, "{path} has `{}` {found} times and not {count} times", with(from));
    Ok(text.replacen(&with(from), &with(to), count))
}

/// The version of the workspace.
pub fn current(manifest: &str) -> Result<Version> {
    let manifest: toml::Table = toml::from_str(manifest).context("Cargo.toml")?;
    let package = manifest.get("workspace").and_then(|workspace| workspace.get("package"));
    let version = package.and_then(|package| package.get("version")).and_then(toml::Value::as_str);
    Version::parse(version.context("Cargo.toml has no workspace.package.version")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    #[test]
    fn a_release_is_later_than_the_one_before() {
        let next = |word: &str| version("0.9.10").next(word).map(|next| next.to_string());
        assert_eq!(
            ["major", "minor", "patch", "0.10.0"].map(|word| next(word).unwrap()),
            ["1.0.0", "0.10.0", "0.9.11", "0.10.0"]
        );
        for word in ["0.9.10", "0.9.9", "1.0", "1.0.0-rc1", "v1.0.0", ""] {
            assert!(next(word).is_err(), "{word}");
        }
    }

    #[test]
    fn only_our_own_version_changes() {
        let (from, to) = (version("0.2.0"), version("0.3.0"));
        let text = "[workspace.package]\nversion = \"0.2.0\"\n[workspace.dependencies]\na = { version = \"0.2.0\" }\n";
        let bumped = bump("Cargo.toml", text, from, to).unwrap();
        assert_eq!(bumped, text.replacen("0.2.0", "0.3.0", 1));
        assert_eq!(current(&bumped).unwrap(), to);
        assert!(bump("Cargo.toml", &bumped, from, to).unwrap().contains("{ version = \"0.3.0\" }"));
        assert!(bump("clients/typescript/package-lock.json", "\"version\": \"0.2.0\",", from, to).is_err());
    }

    #[test]
    fn every_file_of_the_list_names_the_version_now() {
        let read = |path: &str| std::fs::read_to_string(crate::files::root().join(path)).unwrap();
        let now = current(&read("Cargo.toml")).unwrap();
        for (path, _, _) in FILES {
            assert!(bump(path, &read(path), now, now).is_ok(), "{path}");
        }
    }
}
