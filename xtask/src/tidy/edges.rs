//! Which crate may rest on which.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::BrokenRule;

/// The edges that are allowed. A new one needs a decision record.
const EDGES: &[(&str, &[&str])] = &[
    ("riverrun-event", &[]),
    ("riverrun-file", &[]),
    ("riverrun-fold", &["riverrun-event"]),
    ("riverrun-dialect", &["riverrun-event", "riverrun-fold"]),
    ("riverrun-log", &["riverrun-event"]),
    ("riverrun-thread-slice", &[]),
    ("riverrun-log-sqlite", &["riverrun-event", "riverrun-log", "riverrun-thread-slice"]),
    ("riverrun-secret", &["riverrun-log"]),
    ("riverrun-net", &[]),
    ("riverrun-provider", &["riverrun-event", "riverrun-net", "riverrun-secret"]),
    (
        "riverrun-tool",
        &["riverrun-event", "riverrun-file", "riverrun-log", "riverrun-net", "riverrun-secret"],
    ),
    ("riverrun-session", &["riverrun-dialect", "riverrun-event", "riverrun-fold", "riverrun-log"]),
    (
        "riverrun-runner",
        &[
            "riverrun-event",
            "riverrun-fold",
            "riverrun-log",
            "riverrun-provider",
            "riverrun-secret",
            "riverrun-session",
            "riverrun-tool",
        ],
    ),
    (
        "riverrun-server",
        &[
            "riverrun-event",
            "riverrun-fold",
            "riverrun-dialect",
            "riverrun-log",
            "riverrun-log-sqlite",
            "riverrun-runner",
            "riverrun-secret",
            "riverrun-session",
        ],
    ),
    ("riverrun-client", &["riverrun-event", "riverrun-fold", "riverrun-net"]),
    (
        "riverrun",
        &[
            "riverrun-event",
            "riverrun-fold",
            "riverrun-dialect",
            "riverrun-log",
            "riverrun-load",
            "riverrun-log-sqlite",
            "riverrun-provider",
            "riverrun-secret",
            "riverrun-tool",
            "riverrun-runner",
            "riverrun-session",
            "riverrun-server",
            "riverrun-client",
        ],
    ),
    ("riverrun-ceiling", &[]),
    ("riverrun-load", &[]),
    ("xtask", &["riverrun-event"]),
];

/// These stand outside: nothing rests on them, and they may look at everything.
const FREE: &[&str] = &["riverrun-tests"];

/// Pure crates, and what they must not rest on, near or far: a clock, chance, threads of I/O.
const PURE: &[&str] = &["riverrun-event", "riverrun-fold", "riverrun-dialect"];
const IMPURE: &[&str] =
    &["tokio", "rand", "getrandom", "fastrand", "mio", "reqwest", "hyper", "axum", "rusqlite"];

pub fn problems(metadata: &Value) -> Vec<BrokenRule> {
    let graph = Graph::new(metadata);
    let mut problems = Vec::new();
    for member in &graph.members {
        problems.extend(workspace_edges(&graph, member));
    }
    for pure in PURE {
        for (package, through) in graph.below(pure) {
            if IMPURE.contains(&package.as_str()) {
                let advice =
                    format!("`{pure}` is pure and must not rest on `{package}` (through `{through}`)");
                problems.push(BrokenRule::new(format!("{pure}/Cargo.toml"), advice));
            }
        }
    }
    problems
}

fn workspace_edges(graph: &Graph, member: &str) -> Vec<BrokenRule> {
    if FREE.contains(&member) {
        return Vec::new();
    }
    let location = format!("{member}/Cargo.toml");
    let Some((_, allowed)) = EDGES.iter().find(|(name, _)| *name == member) else {
        return vec![BrokenRule::new(
            location,
            format!("list the edges of `{member}` in xtask/src/tidy/edges.rs"),
        )];
    };
    let below = graph.edges.get(member).into_iter().flatten();
    let foreign = below.filter(|name| graph.members.contains(*name) && !allowed.contains(&name.as_str()));
    foreign.map(|name| BrokenRule::new(&location, format!("`{member}` must not rest on `{name}`"))).collect()
}

/// Packages by name, with what each needs in order to be built; what only tests need is left out.
struct Graph {
    members: BTreeSet<String>,
    edges: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    fn new(metadata: &Value) -> Self {
        let name_of = |id: &str| {
            let packages = metadata["packages"].as_array().into_iter().flatten();
            packages.filter(|it| it["id"] == id).find_map(|it| it["name"].as_str()).unwrap_or(id).to_owned()
        };
        let ids = |value: &Value| -> Vec<String> {
            value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let members = ids(&metadata["workspace_members"]).iter().map(|id| name_of(id)).collect();
        let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for node in metadata["resolve"]["nodes"].as_array().into_iter().flatten() {
            let from = name_of(node["id"].as_str().unwrap_or_default());
            let needed = |dependency: &&Value| {
                dependency["dep_kinds"].as_array().into_iter().flatten().any(|kind| kind["kind"] != "dev")
            };
            for dependency in node["deps"].as_array().into_iter().flatten().filter(needed) {
                let to = name_of(dependency["pkg"].as_str().unwrap_or_default());
                edges.entry(from.clone()).or_default().insert(to);
            }
        }
        Self { members, edges }
    }

    /// Everything that a package rests on, each with the package that brings it.
    fn below(&self, start: &str) -> Vec<(String, String)> {
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        let mut open = vec![start.to_owned()];
        while let Some(package) = open.pop() {
            for next in self.edges.get(&package).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    found.push((next.clone(), package.clone()));
                    open.push(next.clone());
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Crates with their needs: `(from, to, kind)`.
    fn graph(edges: &[(&str, &str, Option<&str>)]) -> Graph {
        let names: BTreeSet<&str> = edges.iter().flat_map(|(from, to, _)| [*from, *to]).collect();
        let members: Vec<&&str> = names.iter().filter(|name| name.starts_with("riverrun")).collect();
        let nodes: Vec<Value> = edges
            .iter()
            .map(|(from, to, kind)| json!({ "id": from, "deps": [{ "pkg": to, "dep_kinds": [{ "kind": kind }] }] }))
            .collect();
        let packages: Vec<Value> = names.iter().map(|name| json!({ "id": name, "name": name })).collect();
        Graph::new(
            &json!({ "packages": packages, "workspace_members": members, "resolve": { "nodes": nodes } }),
        )
    }

    #[test]
    fn an_edge_that_is_not_listed_is_found() {
        let graph =
            graph(&[("riverrun-fold", "riverrun-event", None), ("riverrun-fold", "riverrun-log", None)]);
        let problems = workspace_edges(&graph, "riverrun-fold");
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].advice, "`riverrun-fold` must not rest on `riverrun-log`");
    }

    #[test]
    fn tests_may_look_at_everything() {
        let graph = graph(&[("riverrun-fold", "riverrun-log", Some("dev"))]);
        assert!(workspace_edges(&graph, "riverrun-fold").is_empty());
    }

    #[test]
    fn transitive_dependencies_are_found() {
        let graph = graph(&[("riverrun-event", "near", None), ("near", "tokio", None)]);
        assert!(graph.below("riverrun-event").contains(&("tokio".to_owned(), "near".to_owned())));
    }
}
