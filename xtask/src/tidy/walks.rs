//! The walks of ARCHITECTURE.md name files and functions that exist, are short, and never go back to an earlier layer.

use std::collections::BTreeSet;

use super::BrokenRule;
use crate::files::File;
use crate::walks::{self, Mention, Walk, WalkStep};

const PAGE: &str = "ARCHITECTURE.md";

/// Most files of one walk.
const MOST_FILES: usize = 25;

/// The walks that the page must have.
const TITLES: &[&str] = &["A token", "An approval", "A resume"];

/// The layers in the order in which everything passes through them, each with what its paths begin with. The longest
/// beginning decides. `server` and `session` are there twice: one part takes requests, the other hands out frames.
const LAYERS: &[(&str, &[&str])] = &[
    ("request", &["crates/server/src/"]),
    ("provider", &["crates/provider/src/"]),
    ("runner", &["crates/runner/src/"]),
    ("tool", &["crates/tool/src/"]),
    (
        "session, entry",
        &[
            "crates/session/src/sessions.rs",
            "crates/session/src/hubs/append.rs",
            "crates/session/src/subscribe/plan.rs",
        ],
    ),
    ("log", &["crates/log/src/", "crates/log-sqlite/src/"]),
    ("session, delivery", &["crates/session/src/"]),
    ("answer", &["crates/server/src/edge/stream.rs"]),
];

pub fn problems(files: &[File]) -> Vec<BrokenRule> {
    let walks = walks::read(files);
    let titles: Vec<&str> = walks.iter().map(|walk| walk.title.as_str()).collect();
    let mut problems = Vec::new();
    if titles != TITLES {
        problems.push(BrokenRule::new(PAGE, format!("it has the walks {titles:?} and not {TITLES:?}")));
    }
    problems.extend(walks.iter().flat_map(|walk| walk_problems(walk, files)));
    problems
}

fn walk_problems(walk: &Walk, files: &[File]) -> Vec<BrokenRule> {
    let mut problems = Vec::new();
    let distinct: BTreeSet<&str> = walk.steps.iter().map(|step| step.file.path.as_str()).collect();
    if distinct.is_empty() || distinct.len() > MOST_FILES {
        let advice = format!("`{}` has {} files, not 1 to {MOST_FILES}", walk.title, distinct.len());
        problems.push(BrokenRule::new(PAGE, advice));
    }
    problems.extend(walk.steps.iter().flat_map(|step| step_problems(step, files)));
    problems.extend(walk.helpers.iter().filter(|helper| find(files, &helper.path).is_none()).map(absent));
    problems.extend(way_back(&walk.steps));
    problems
}

fn step_problems(step: &WalkStep, files: &[File]) -> Vec<BrokenRule> {
    let Some(file) = find(files, &step.file.path) else { return vec![absent(&step.file)] };
    let is_defined =
        |name: &str| ["(", "<"].iter().any(|behind| file.text.contains(&format!("fn {name}{behind}")));
    let lost = step.functions.iter().filter(|name| !is_defined(name));
    lost.map(|name| problem(&step.file, format!("{} has no function `{name}`", step.file.path))).collect()
}

/// The steps behind which the walk is in an earlier layer than before.
fn way_back(steps: &[WalkStep]) -> Vec<BrokenRule> {
    let (mut problems, mut furthest) = (Vec::new(), 0);
    for step in steps {
        match layer(&step.file.path) {
            None => problems.push(problem(&step.file, format!("`{}` is in no layer", step.file.path))),
            Some(at) if at < furthest => {
                let (to, from) = (LAYERS[at].0, LAYERS[furthest].0);
                problems.push(problem(&step.file, format!("the walk goes back from `{from}` to `{to}`")));
            }
            Some(at) => furthest = at,
        }
    }
    problems
}

/// The number of the layer of a file.
fn layer(path: &str) -> Option<usize> {
    let beginnings =
        LAYERS.iter().enumerate().flat_map(|(at, (_, paths))| paths.iter().map(move |path| (at, path)));
    beginnings
        .filter(|(_, beginning)| path.starts_with(**beginning))
        .max_by_key(|(_, it)| it.len())
        .map(|(at, _)| at)
}

fn find<'a>(files: &'a [File], path: &str) -> Option<&'a File> {
    files.iter().find(|file| file.path == path)
}

fn absent(file: &Mention) -> BrokenRule {
    problem(file, format!("there is no file `{}`", file.path))
}

fn problem(at: &Mention, advice: String) -> BrokenRule {
    BrokenRule::new(format!("{PAGE}:{}", at.line), advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "crates/server/src/edge/stream.rs";

    fn check(steps: &[(&str, &str)], helpers: &[&str], expected: &[&str]) {
        let mention = |path: &str| Mention { line: 1, path: path.to_owned() };
        let step = |(path, name): &(&str, &str)| WalkStep {
            file: mention(path),
            functions: vec![(*name).to_owned()],
        };
        let walk = Walk {
            title: "A token".to_owned(),
            steps: steps.iter().map(step).collect(),
            helpers: helpers.iter().map(|path| mention(path)).collect(),
        };
        let file = |path: &str| File { path: path.to_owned(), text: "fn f<T>() {}\nfn g() {}".to_owned() };
        let files = ["crates/server/src/app.rs", "crates/log/src/lib.rs", "crates/event/src/lib.rs", STREAM]
            .map(file);
        let found: Vec<String> = walk_problems(&walk, &files).into_iter().map(|it| it.advice).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn lost_files_and_functions_are_found() {
        check(
            &[("crates/server/src/app.rs", "f"), ("crates/log/src/lib.rs", "g"), (STREAM, "f")],
            &[STREAM],
            &[],
        );
        check(&[(STREAM, "h")], &[], &["crates/server/src/edge/stream.rs has no function `h`"]);
        check(&[(STREAM, "f")], &["crates/log/src/x.rs"], &["there is no file `crates/log/src/x.rs`"]);
        check(&[], &[], &["`A token` has 0 files, not 1 to 25"]);
    }

    #[test]
    fn a_way_back_is_found() {
        check(
            &[("crates/log/src/lib.rs", "f"), ("crates/server/src/app.rs", "f"), (STREAM, "f")],
            &[],
            &["the walk goes back from `log` to `request`"],
        );
        check(&[("crates/event/src/lib.rs", "f")], &[], &["`crates/event/src/lib.rs` is in no layer"]);
    }
}
