//! Every word for why a turn failed is explained.

use std::path::Path;

/// The codes that the sources give to failures.
fn codes(place: &Path, found: &mut Vec<String>) {
    if place.is_dir() {
        for entry in std::fs::read_dir(place).unwrap() {
            codes(&entry.unwrap().path(), found);
        }
        return;
    }
    let source = std::fs::read_to_string(place).unwrap();
    // A call names its code on the same line; the function itself has none there.
    let failed = source.split("fail_task(").skip(1).filter_map(|rest| literal(rest.lines().next()?));
    let is_plan = place.parent().is_some_and(|folder| folder.ends_with("plan"));
    let planned =
        source.split("code: \"").skip(1).filter(|_| is_plan).filter_map(|rest| rest.split('"').next());
    found.extend(failed.chain(planned.map(str::to_owned)));
}

fn literal(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('"')?;
    rest.split_once('"').map(|(word, _)| word.to_owned())
}

#[test]
fn every_code_of_a_failed_turn_has_its_section() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    codes(&sources, &mut found);
    assert!(found.contains(&"answer_cut".to_owned()) && found.len() > 10, "{found:?}");
    // These are chosen by what the model's service said.
    let chosen = ["content_filter", "context_too_long", "model_failed"];
    found.extend(chosen.map(str::to_owned));
    let guide = include_str!("../../../../docs/errors.md");
    // The same words as in the refusal of a submit: an agent that is gone, a turn id that a producer has used.
    let refusals = ["unknown_agent", "turn_exists"];
    for code in found.iter().filter(|code| !refusals.contains(&code.as_str())) {
        assert!(guide.contains(&format!("\n### {code}\n")), "docs/errors.md has no section `{code}`");
    }
}
