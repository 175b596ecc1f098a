//! Cycles between the top-level modules of a crate.

use std::collections::{BTreeMap, BTreeSet};

use super::{code_lines, package};
use crate::files::File;

type Graph = BTreeMap<String, BTreeSet<String>>;

/// Each cycle with its package's folder: the modules that all reach each other.
pub fn all(files: &[&File]) -> Vec<(String, Vec<String>)> {
    let mut graphs = BTreeMap::<String, Graph>::new();
    for file in files {
        let Some((package, module)) = module(&file.path) else { continue };
        let used = graphs.entry(package.to_owned()).or_default().entry(module.to_owned()).or_default();
        used.extend(crate_paths(&file.text).map(str::to_owned).filter(|other| other != module));
    }
    graphs
        .iter()
        .flat_map(|(package, graph)| cycles(graph).into_iter().map(|it| (package.clone(), it)))
        .collect()
}

/// `("server", "edge")` of `crates/server/src/edge/auth.rs`.
fn module(path: &str) -> Option<(&str, &str)> {
    let (_, inside) = path.split_once("/src/")?;
    let package = package(path)?;
    let module = inside.split('/').next()?.trim_end_matches(".rs");
    (!matches!(module, "lib" | "main")).then_some((package, module))
}

/// The first words after `crate::`, outside of comments and tests.
fn crate_paths(text: &str) -> impl Iterator<Item = &str> {
    let code = code_lines(text).map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    code.flat_map(|line| line.split("crate::").skip(1)).map(|after| {
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
        &after[..end]
    })
}

fn cycles(graph: &Graph) -> Vec<Vec<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        graph.keys().map(|module| (module, reachable(graph, module))).collect();
    let mut found = BTreeSet::new();
    for (module, reaches) in &reached {
        let cycle: Vec<String> = reached
            .keys()
            .filter(|other| reaches.contains(**other) && reached[**other].contains(*module))
            .map(|other| (*other).clone())
            .collect();
        if cycle.len() > 1 {
            found.insert(cycle);
        }
    }
    found.into_iter().collect()
}

fn reachable<'a>(graph: &'a Graph, from: &String) -> BTreeSet<&'a String> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        // Names that are no modules, such as re-exported types, have no entry.
        for (next, _) in graph.get(module).into_iter().flatten().filter_map(|next| graph.get_key_value(next))
        {
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_that_reach_each_other_are_a_cycle() {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let files = [
            file("crates/x/src/a.rs", "use crate::b::{B};"),
            file("crates/x/src/b/mod.rs", "use crate::c::C; use crate::Helper;"),
            file("crates/x/src/c.rs", "fn f() { crate::a::g() } // crate::d"),
            file("crates/x/src/d.rs", "use crate::a::A;"),
        ];
        let found = all(&files.iter().collect::<Vec<_>>());
        assert_eq!(found, [("x".to_owned(), ["a", "b", "c"].map(str::to_owned).to_vec())]);
    }
}
