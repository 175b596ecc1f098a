//! The page on scripts says what is so.

use futures_util::StreamExt;
use riverrun_event::Part;

use super::*;
use crate::{HistoryEntry, ToolSpec};

const GUIDE: &str = include_str!("../../../../docs/reference/scripts.md");

/// The scenarios on the page, each with the name of a file that it could stand in.
fn examples() -> Vec<(String, &'static str)> {
    let mut found = Vec::new();
    for form in ["toml", "json"] {
        let fence = format!("\n```{form} scenario\n");
        let text = GUIDE.split(&fence).skip(1).map(|block| block.split("\n```").next().unwrap());
        found.extend(text.enumerate().map(|(number, text)| (format!("example-{number}.{form}"), text)));
    }
    found
}

/// The first cell of each row that names something.
fn named(section: &str) -> Vec<&'static str> {
    let text = GUIDE.split(&format!("\n## {section}\n")).nth(1).unwrap();
    let rows = text.split("\n## ").next().unwrap().lines();
    rows.filter_map(|row| row.strip_prefix("| `")?.split('`').next()).collect()
}

#[tokio::test(start_paused = true)]
async fn every_example_on_the_page_can_be_read_and_answers() {
    let examples = examples();
    assert!(examples.len() >= 5, "{examples:?}");
    for (file, text) in &examples {
        let scenario = Scenario::parse(file, text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let user = HistoryEntry::User { parts: vec![Part::plain("Tell me about the weather")] };
        let search = ToolSpec {
            name: "search".to_owned(),
            description: String::new(),
            parameters: serde_json::json!({}),
            strict: false,
        };
        let request = ModelRequest {
            model: "example".to_owned(),
            history: vec![user],
            tools: vec![search],
            ..ModelRequest::default()
        };
        let scripted = Scripted::new().with("example", scenario);
        let events: Vec<_> = scripted.call(request, CancellationToken::new()).collect().await;
        let is_answer = |event: &ModelEvent| match event {
            ModelEvent::Failed(error) => error.category != Category::InvalidRequest,
            ModelEvent::Completed { .. } => true,
            _ => false,
        };
        assert!(events.last().is_some_and(is_answer), "{file}: {events:?}");
    }
}

#[test]
fn the_page_lists_the_built_in_scenarios_as_they_are() {
    let rows: Vec<&str> = GUIDE.split("## Built-in scenarios").nth(1).unwrap().lines().collect();
    for (name, text) in BUILT_IN {
        let scenario = Scenario::parse(&format!("{name}.toml"), text).unwrap();
        let parameters: Vec<String> = scenario.parameters.keys().map(|name| format!("`{name}`")).collect();
        let parameters = match parameters.is_empty() {
            true => " ".to_owned(),
            false => format!(" {} ", parameters.join(", ")),
        };
        let row = format!("| `{name}` |{parameters}| {} |", scenario.about);
        assert!(rows.contains(&row.as_str()), "scripts.md has no row {row}");
    }
    assert_eq!(named("Built-in scenarios").len(), BUILT_IN.len());
}

/// Serde names the members that it knows when it meets one that it does not.
#[test]
fn the_page_names_every_key() {
    let known = |text: &str| {
        let error = Scenario::parse("x.toml", text).unwrap_err().message;
        let list = error.split_once("expected one of ").or(error.split_once("available keys: "));
        let (_, list) = list.unwrap_or_else(|| panic!("{error}"));
        list.split(", ").map(|word| word.trim().trim_matches('`').to_owned()).collect::<Vec<_>>()
    };
    let step = |body: &str| format!("[[step]]\n{body}");
    for (section, text) in [
        ("A scenario", "none = 1".to_owned()),
        ("A scenario", step("none = 1\nplay = []")),
        ("When", step("when = { none = 1 }\nplay = []")),
        ("Play", step("play = [{ none = 1 }]")),
    ] {
        for key in known(&text) {
            assert!(named(section).contains(&key.as_str()), "scripts.md does not tell of `{key}`");
        }
    }
    for (what, fields) in [
        ("text", "pieces = [], none = 1"),
        ("reasoning", "pieces = [], none = 1"),
        ("call", "name = \"x\", arguments = [], none = 1"),
        ("rate_limit", "kind = \"x\", none = 1"),
        ("fail", "category = \"quota\", message = \"x\", none = 1"),
    ] {
        let row = GUIDE.lines().find(|line| line.starts_with(&format!("| `{what}` |"))).unwrap();
        for key in known(&step(&format!("play = [{{ {what} = {{ {fields} }} }}]"))) {
            // Text has no parts; the form is shared with reasoning.
            if (what, key.as_str()) == ("text", "part") || what == "reasoning" && key != "part" {
                continue;
            }
            assert!(row.contains(&format!("`{key}`")), "{row} does not tell of `{key}`");
        }
    }
    for category in Category::ALL {
        assert!(GUIDE.contains(&format!("`{}`", category.as_str())), "{}", category.as_str());
    }
}
