//! The engine, the runner and the library for embedding contain no HTTP server.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::BrokenRule;
use crate::files::root;

/// The packages, and whether their default features are left out: those of `riverrun` are for its binary.
const WITHOUT_SERVER: &[(&str, bool)] =
    &[("riverrun-session", false), ("riverrun-runner", false), ("riverrun", true)];

/// Packages that accept connections.
const SERVERS: &[&str] = &["axum", "axum-core", "riverrun-server", "tower-http", "tungstenite"];

/// Packages that do so only with the feature `server`.
const OPTIONAL_SERVERS: &[&str] = &["hyper", "hyper-util"];

pub fn problems() -> Result<Vec<BrokenRule>> {
    let mut problems = Vec::new();
    for (package, bare) in WITHOUT_SERVER {
        let tree = tree(package, *bare)?;
        problems.extend(servers(&tree).into_iter().map(|found| {
            BrokenRule::new(
                *package,
                format!("`{found}` is an HTTP server: see `cargo tree -p {package} -i {found}`"),
            )
        }));
    }
    Ok(problems)
}

/// One line for each package that is linked: its name, its version and the features that are switched on.
fn tree(package: &str, bare: bool) -> Result<String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = Command::new(cargo);
    command.args([
        "tree",
        "--package",
        package,
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--format",
        "{p}|{f}",
    ]);
    if bare {
        command.arg("--no-default-features");
    }
    let output = command.current_dir(root()).output().context("cargo lists the dependencies of a package")?;
    ensure!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

fn servers(tree: &str) -> BTreeSet<&str> {
    let is_server = |line: &&str| {
        let (package, features) = line.split_once('|').unwrap_or((line, ""));
        let name = package.split(' ').next().unwrap_or_default();
        // A package that was listed before ends with `(*)`.
        let with_server = features.trim_end_matches(" (*)").split(',').any(|feature| feature == "server");
        SERVERS.contains(&name) || (OPTIONAL_SERVERS.contains(&name) && with_server)
    };
    tree.lines().filter(is_server).filter_map(|line| line.split(' ').next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_found_by_its_name_or_its_feature() {
        let tree =
            "hyper v1.12.0|client,http1\naxum v0.8.0|json\nhyper-util v0.1.0|server,tokio (*)\nbytes v1.0.0|";
        assert_eq!(Vec::from_iter(servers(tree)), ["axum", "hyper-util"]);
    }
}
