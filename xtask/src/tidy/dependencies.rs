//! Licences, sources and versions of the dependencies, as `deny.toml` allows them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

use super::BrokenRule;
use crate::files::root;

const POLICY: &str = "deny.toml";

#[derive(Deserialize)]
struct Policy {
    licenses: Licenses,
    bans: Bans,
    sources: Sources,
}

#[derive(Deserialize)]
struct Licenses {
    allow: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Bans {
    skip: BTreeSet<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    allow_registry: BTreeSet<String>,
}

/// A package that is not ours.
struct Dependency<'a> {
    name: &'a str,
    version: &'a str,
    license: &'a str,
    source: &'a str,
}

pub fn problems(metadata: &Value) -> Result<Vec<BrokenRule>> {
    let text = std::fs::read_to_string(root().join(POLICY)).context(POLICY)?;
    let policy: Policy = toml::from_str(&text).context(POLICY)?;
    Ok(violations(&policy, &dependencies(metadata)))
}

fn violations(policy: &Policy, dependencies: &[Dependency<'_>]) -> Vec<BrokenRule> {
    let mut problems = Vec::new();
    let mut report = |dependency: &Dependency<'_>, advice: String| {
        problems.push(BrokenRule::new(format!("{} {}", dependency.name, dependency.version), advice));
    };
    for dependency in dependencies {
        if !is_allowed(&policy.licenses.allow, dependency.license) {
            report(dependency, format!("the licence `{}` is not in {POLICY}", dependency.license));
        }
        let registry = dependency.source.strip_prefix("registry+").unwrap_or(dependency.source);
        if !policy.sources.allow_registry.contains(registry) {
            report(dependency, format!("the source `{}` is not in {POLICY}", dependency.source));
        }
    }
    problems.extend(duplicates(&policy.bans.skip, dependencies));
    problems
}

fn is_allowed(allowed: &BTreeSet<String>, license: &str) -> bool {
    // Old manifests separate alternatives with a slash.
    let expression = spdx::Expression::parse_mode(license, spdx::ParseMode::LAX);
    expression.is_ok_and(|expression| {
        expression.evaluate(|requirement| {
            requirement.license.id().is_some_and(|license| allowed.contains(license.name))
        })
    })
}

/// A package in several versions, of which all but the newest must be skipped; and skips without such a package.
fn duplicates(skip: &BTreeSet<String>, dependencies: &[Dependency<'_>]) -> Vec<BrokenRule> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for dependency in dependencies {
        versions.entry(dependency.name).or_default().push(dependency.version);
    }
    let (mut problems, mut needed) = (Vec::new(), BTreeSet::new());
    for (name, mut known) in versions {
        known.sort_by_key(|version| {
            version.split('.').map(|part| part.parse().unwrap_or(0)).collect::<Vec<u64>>()
        });
        for old in &known[..known.len() - 1] {
            let entry = skip.iter().find(|entry| {
                let prefix = entry.strip_prefix(name).and_then(|entry| entry.strip_prefix('@'));
                prefix.is_some_and(|prefix| *old == prefix || old.starts_with(&format!("{prefix}.")))
            });
            match entry {
                Some(entry) => needed.extend([entry.as_str()]),
                None => problems.push(BrokenRule::new(
                    format!("{name} {old}"),
                    format!(
                        "{name} {} is there too: use one, or skip `{name}@{old}` in {POLICY}",
                        known[known.len() - 1]
                    ),
                )),
            }
        }
    }
    let stale = skip.iter().filter(|entry| !needed.contains(entry.as_str()));
    problems.extend(
        stale.map(|entry| BrokenRule::new(POLICY, format!("`{entry}` is no duplicate any more: remove it"))),
    );
    problems
}

fn dependencies(metadata: &Value) -> Vec<Dependency<'_>> {
    let ids = |value: &'_ Value| -> BTreeSet<String> {
        let ids = value.as_array().into_iter().flatten();
        ids.filter_map(|it| it.as_str().or_else(|| it["id"].as_str())).map(str::to_owned).collect()
    };
    let (ours, used) = (ids(&metadata["workspace_members"]), ids(&metadata["resolve"]["nodes"]));
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let foreign = packages
        .filter(|package| package["id"].as_str().is_some_and(|id| used.contains(id) && !ours.contains(id)));
    foreign
        .map(|package| Dependency {
            name: package["name"].as_str().unwrap_or_default(),
            version: package["version"].as_str().unwrap_or_default(),
            license: package["license"].as_str().unwrap_or_default(),
            source: package["source"].as_str().unwrap_or_default(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: &str = "https://github.com/rust-lang/crates.io-index";

    fn check(packages: &[(&str, &str, &str)], skip: &[&str], expected: &[&str]) {
        let policy = Policy {
            licenses: Licenses { allow: ["MIT", "Apache-2.0"].map(str::to_owned).into() },
            bans: Bans { skip: skip.iter().map(|entry| (*entry).to_owned()).collect() },
            sources: Sources { allow_registry: [INDEX.to_owned()].into() },
        };
        let source = format!("registry+{INDEX}");
        let dependencies: Vec<Dependency<'_>> = packages
            .iter()
            .map(|(name, version, license)| Dependency { name, version, license, source: &source })
            .collect();
        let found: Vec<String> =
            violations(&policy, &dependencies).iter().map(|problem| problem.location.clone()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn licences_and_duplicates_outside_the_policy_are_found() {
        check(&[("a", "1.0.0", "MIT OR GPL-3.0-only"), ("b", "1.0.0", "MIT/Apache-2.0")], &[], &[]);
        check(&[("a", "1.0.0", "GPL-3.0-only")], &[], &["a 1.0.0"]);
        check(&[("a", "1.0.0", "MIT AND GPL-3.0-only")], &[], &["a 1.0.0"]);
        check(&[("a", "1.0.0", "")], &[], &["a 1.0.0"]);
        check(&[("a", "0.9.1", "MIT"), ("a", "0.10.2", "MIT")], &[], &["a 0.9.1"]);
        check(&[("a", "0.9.1", "MIT"), ("a", "0.10.2", "MIT")], &["a@0.9"], &[]);
        check(&[("a", "0.10.2", "MIT")], &["a@0.9"], &[POLICY]);
    }

    #[test]
    fn a_foreign_source_is_found() {
        let policy = "[licenses]\nallow = [\"MIT\"]\n[bans]\nskip = []\n[sources]\nallow-registry = []";
        let git =
            Dependency { name: "a", version: "1.0.0", license: "MIT", source: "git+https://example.com/a" };
        assert_eq!(violations(&toml::from_str(policy).unwrap(), &[git]).len(), 1);
    }
}
