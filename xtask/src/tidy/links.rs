//! Every relative link of a page leads somewhere.

use std::collections::{BTreeMap, BTreeSet};

use super::BrokenRule;
use crate::files::{File, root};

pub fn problems(files: &[File]) -> Vec<BrokenRule> {
    let pages: Vec<&File> = files.iter().filter(|file| file.has_extension(&["md"])).collect();
    let anchors: BTreeMap<&str, BTreeSet<String>> =
        pages.iter().map(|page| (page.path.as_str(), headings(&page.text))).collect();
    let mut problems = Vec::new();
    for page in &pages {
        for (line, target) in links(&page.text) {
            if let Some(advice) = broken(&page.path, &target, &anchors) {
                problems.push(BrokenRule::new(format!("{}:{line}", page.path), advice));
            }
        }
    }
    problems
}

fn broken(page: &str, target: &str, anchors: &BTreeMap<&str, BTreeSet<String>>) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let path = if path.is_empty() { page.to_owned() } else { resolve(page, path)? };
    if !root().join(&path).exists() && !anchors.contains_key(path.as_str()) {
        return Some(format!("the link `{target}` leads to no file"));
    }
    let known = anchors.get(path.as_str())?;
    let anchor = anchor?;
    (!known.contains(anchor)).then(|| format!("the link `{target}` leads to no heading"))
}

/// The path from the root, or None if it leads out of the project.
fn resolve(page: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The lines that are prose, with their numbers; fenced code is left out.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(at, line)| {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            return None;
        }
        (!fenced).then_some((at + 1, line))
    })
}

fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        // Between single back-quotes stands code.
        let plain: String = line.split('`').step_by(2).collect::<Vec<_>>().join("x");
        let mut remaining = plain.as_str();
        while let Some((_, after)) = remaining.split_once("](") {
            let Some((target, after)) = after.split_once(')') else { break };
            let target = target.split_whitespace().next().unwrap_or_default();
            found.push((number, target.trim_matches(['<', '>']).to_owned()));
            remaining = after;
        }
    }
    found
}

/// The anchors that a page's headings make; a repeated one is numbered.
fn headings(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for (_, line) in prose(text) {
        let title = line.trim_start_matches('#');
        if title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let slug = slug(title.trim());
        let numbered = (1..).map(|n| format!("{slug}-{n}"));
        let fresh = std::iter::once(slug.clone()).chain(numbered).find(|it| !anchors.contains(it));
        anchors.extend(fresh);
    }
    anchors
}

fn slug(title: &str) -> String {
    let allowed = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    allowed.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: usize) {
        let page = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let files = [page("docs/a.md", text), page("docs/b.md", "# The other page\n")];
        assert_eq!(problems(&files).len(), expected, "{text}");
    }

    #[test]
    fn links_to_nothing_are_found() {
        check("[b](b.md) [up](../docs/b.md) [web](https://example.com/x)", 0);
        check("[b](b.md#the-other-page)", 0);
        check("[b](b.md#another)", 1);
        check("[c](c.md)", 1);
        check("# Here\n[here](#here) [there](#there)", 1);
        check("```\n[c](c.md)\n```\n`[c](c.md)`", 0);
    }
}
