//! The walks of ARCHITECTURE.md: how a token, an approval and a resume go through the files.

use crate::files::File;

const PAGE: &str = "ARCHITECTURE.md";
const SECTION: &str = "## Three walks";
const HELPERS: &str = "Called on the way";

/// One walk: the files in the order of the page.
#[derive(Debug, PartialEq, Eq)]
pub struct Walk {
    pub title: String,
    pub steps: Vec<WalkStep>,
    /// Files with functions that are called and return.
    pub helpers: Vec<Mention>,
}

/// A row of the table: a file, and the functions to look for in it.
#[derive(Debug, PartialEq, Eq)]
pub struct WalkStep {
    pub file: Mention,
    pub functions: Vec<String>,
}

/// A path, and the line of the page that names it.
#[derive(Debug, PartialEq, Eq)]
pub struct Mention {
    pub line: usize,
    pub path: String,
}

/// The walks of the page; none if it has no such section.
pub fn read(files: &[File]) -> Vec<Walk> {
    let page = files.iter().find(|file| file.path == PAGE);
    page.map(|page| parse(&page.text)).unwrap_or_default()
}

fn parse(text: &str) -> Vec<Walk> {
    let lines = text.lines().enumerate().skip_while(|(_, line)| *line != SECTION).skip(1);
    let mut walks: Vec<Walk> = Vec::new();
    for (at, line) in lines.take_while(|(_, line)| !line.starts_with("## ")) {
        if let Some(title) = line.strip_prefix("### ") {
            walks.push(Walk { title: title.to_owned(), steps: Vec::new(), helpers: Vec::new() });
        }
        let Some(walk) = walks.last_mut() else { continue };
        let mention = |path: &str| Mention { line: at + 1, path: path.to_owned() };
        if line.starts_with(HELPERS) {
            walk.helpers.extend(quoted(line).filter(|word| is_path(word)).map(mention));
        } else if let Some(step) = step(line, mention) {
            walk.steps.push(step);
        }
    }
    walks
}

/// `| 1 | file | functions | what happens |`
fn step(line: &str, mention: impl Fn(&str) -> Mention) -> Option<WalkStep> {
    let cells: Vec<&str> = line.strip_prefix('|')?.split('|').collect();
    let [_, file, functions, ..] = cells.as_slice() else { return None };
    let file = mention(quoted(file).find(|word| is_path(word))?);
    Some(WalkStep { file, functions: quoted(functions).map(str::to_owned).collect() })
}

fn is_path(word: &str) -> bool {
    word.starts_with("crates/") && word.ends_with(".rs")
}

/// The words between backticks.
pub fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_the_section_are_read() {
        let text = "## Before\n| 1 | `crates/x/src/a.rs` | `f` |\n## Three walks\n### A token\n\n| | file | functions |\n\
                    |---|---|---|\n| 1 | `crates/x/src/a.rs` | `f`, `g` | why `h` |\n\nCalled on the way: `crates/x/src/b.rs`, \
                    `Type`.\n\n## After\n| 1 | `crates/x/src/c.rs` | `f` |\n";
        let mention = |line, path: &str| Mention { line, path: path.to_owned() };
        let step = WalkStep {
            file: mention(8, "crates/x/src/a.rs"),
            functions: ["f", "g"].map(str::to_owned).to_vec(),
        };
        let helpers = vec![mention(10, "crates/x/src/b.rs")];
        assert_eq!(parse(text), [Walk { title: "A token".to_owned(), steps: vec![step], helpers }]);
    }
}
