//! Rules that the sources do not follow everywhere yet. What breaks them today is listed in `xtask/exceptions`, one
//! file per package, and these lists only shrink.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};

use super::BrokenRule;
use crate::files::{File, root};
use crate::source::{cycles, is_source, names};

const FOLDER: &str = "xtask/exceptions";

/// One broken rule: what it is about and the name that breaks it, as in the line `word was_told`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Exception {
    rule: Rule,
    name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rule {
    /// A top-level module that is part of a cycle.
    Cycle,
    /// A public type whose name another public type has too.
    Type,
    /// An identifier with a banned word.
    Word,
}

impl Rule {
    const ALL: [Rule; 3] = [Rule::Cycle, Rule::Type, Rule::Word];

    fn name(self) -> &'static str {
        match self {
            Rule::Cycle => "cycle",
            Rule::Type => "type",
            Rule::Word => "word",
        }
    }

    fn advice(self, name: &str) -> String {
        match self {
            Rule::Cycle => format!("the module `{name}` is part of a cycle: move what it shares below both"),
            Rule::Type => format!("another public type has the name `{name}`: one name means one thing"),
            Rule::Word => format!("`{name}` has a banned word (see CONTRIBUTING.md): name what the thing is"),
        }
    }
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.rule.name(), self.name)
    }
}

/// Sorted exceptions by package. Two definitions of one name in one package are two exceptions.
type Lists = BTreeMap<String, Vec<Exception>>;

pub fn problems(files: &[File]) -> Result<Vec<BrokenRule>> {
    let listed = read()?;
    Ok(differences(&listed, &found(files)))
}

/// Writes the lists anew. Names may change and move between packages; no rule gets more exceptions than it had.
pub fn shrink(files: &[File]) -> Result<()> {
    let (listed, found) = (read()?, found(files));
    for rule in Rule::ALL {
        let (before, after) = (count(&listed, rule), count(&found, rule));
        ensure!(
            after <= before,
            "{} more exceptions of the rule `{}` than listed; `cargo xtask tidy` names them",
            after - before,
            rule.name()
        );
        println!("{}: {before} exceptions before, {after} now", rule.name());
    }
    write(&listed, &found)
}

fn count(lists: &Lists, rule: Rule) -> usize {
    lists.values().flatten().filter(|exception| exception.rule == rule).count()
}

fn found(files: &[File]) -> Lists {
    let sources: Vec<&File> = files.iter().filter(|file| is_source(file)).collect();
    let mut lists = Lists::new();
    let mut add = |package: &str, rule: Rule, name: &str| {
        lists.entry(package.to_owned()).or_default().push(Exception { rule, name: name.to_owned() });
    };
    for (package, cycle) in cycles::all(&sources) {
        cycle.iter().for_each(|module| add(&package, Rule::Cycle, module));
    }
    let names = names::count(&sources);
    for (name, packages) in &names.public_duplicates {
        packages.iter().for_each(|package| add(package, Rule::Type, name));
    }
    for (package, identifiers) in &names.banned_identifiers {
        identifiers.iter().for_each(|identifier| add(package, Rule::Word, identifier));
    }
    lists.values_mut().for_each(|list| list.sort());
    lists
}

fn differences(listed: &Lists, found: &Lists) -> Vec<BrokenRule> {
    let packages: BTreeSet<&String> = listed.keys().chain(found.keys()).collect();
    let none = Vec::new();
    let mut problems = Vec::new();
    for package in packages {
        let (listed, found) = (listed.get(package).unwrap_or(&none), found.get(package).unwrap_or(&none));
        for new in without(found, listed) {
            problems.push(BrokenRule::new(package, new.rule.advice(&new.name)));
        }
        let stale = without(listed, found).len();
        if stale > 0 {
            let advice = format!("{stale} exceptions are gone: run `cargo xtask tidy --shrink`");
            problems.push(BrokenRule::new(format!("{FOLDER}/{package}.txt"), advice));
        }
    }
    problems
}

/// What the first sorted list has more often than the second.
fn without<'a>(list: &'a [Exception], other: &[Exception]) -> Vec<&'a Exception> {
    let mut open: Vec<&Exception> = other.iter().collect();
    let mut extra = Vec::new();
    for exception in list {
        match open.iter().position(|other| *other == exception) {
            Some(at) => drop(open.swap_remove(at)),
            None => extra.push(exception),
        }
    }
    extra
}

fn read() -> Result<Lists> {
    let mut lists = Lists::new();
    let folder = root().join(FOLDER);
    if !folder.exists() {
        return Ok(lists);
    }
    for entry in std::fs::read_dir(&folder).context(FOLDER)? {
        let path = entry?.path();
        let package = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let mut list =
            text.lines().map(parse).collect::<Result<Vec<_>>>().with_context(|| package.clone())?;
        list.sort();
        lists.insert(package, list);
    }
    Ok(lists)
}

fn parse(line: &str) -> Result<Exception> {
    let (word, name) = line.split_once(' ').with_context(|| format!("`{line}` is no exception"))?;
    let Some(rule) = Rule::ALL.into_iter().find(|rule| rule.name() == word) else {
        bail!("there is no rule `{word}`");
    };
    Ok(Exception { rule, name: name.to_owned() })
}

fn write(before: &Lists, after: &Lists) -> Result<()> {
    std::fs::create_dir_all(root().join(FOLDER))?;
    let path = |package: &str| -> PathBuf { root().join(FOLDER).join(format!("{package}.txt")) };
    for package in before.keys().filter(|package| !after.contains_key(*package)) {
        std::fs::remove_file(path(package))?;
    }
    for (package, list) in after {
        let text: String = list.iter().map(|exception| format!("{exception}\n")).collect();
        std::fs::write(path(package), text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(lines: &[&str]) -> Lists {
        let mut list: Vec<Exception> = lines.iter().map(|line| parse(line).unwrap()).collect();
        list.sort();
        Lists::from([("server".to_owned(), list)])
    }

    fn check(listed: &[&str], found: &[&str], expected: usize) {
        let problems = differences(&lists(listed), &lists(found));
        assert_eq!(problems.len(), expected, "{listed:?} {found:?}");
    }

    #[test]
    fn new_and_stale_exceptions_are_found() {
        check(&["word was_told"], &["word was_told"], 0);
        check(&["word was_told"], &["word is_told"], 2);
        check(&["type Place"], &["type Place", "type Place"], 1);
        check(&["cycle app", "cycle edge"], &["cycle app"], 1);
    }

    #[test]
    fn sources_are_searched_for_each_rule() {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let files = [
            file("crates/x/src/a.rs", "use crate::b::B;\npub struct Twice;"),
            file("crates/x/src/b.rs", "use crate::a::A;\npub struct Twice; fn told() {}"),
        ];
        let found: Vec<String> = found(&files)["x"].iter().map(Exception::to_string).collect();
        assert_eq!(found, ["cycle a", "cycle b", "type Twice", "type Twice", "word told"]);
    }
}
