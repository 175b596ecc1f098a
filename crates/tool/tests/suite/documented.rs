//! docs/tools.md does what it says.

use riverrun_event::Block;
use riverrun_tool::{CommandConfig, CommandTool, Program, ToolOutput};
use serde_json::json;

use crate::support::{call, run, text, watched};

const PAGE: &str = include_str!("../../../../docs/tools.md");

/// The only block of code in this language.
fn block(language: &str) -> &'static str {
    let (_, rest) = PAGE.split_once(&format!("```{language}\n")).expect("the page has such a block");
    rest.split_once("```").expect("the block ends").0
}

fn tool(argv: &[&str]) -> CommandTool {
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    let parameters = json!({"type": "object", "properties": {"query": {"type": "string"}}});
    let program = Program { argv, ..Program::default() };
    CommandTool::new(CommandConfig {
        name: "search".to_owned(),
        parameters,
        program,
        ..CommandConfig::default()
    })
    .unwrap()
}

fn numbered(output: &ToolOutput) -> Vec<(&str, Option<u64>, Option<&str>)> {
    let all = output.content.iter().chain(&output.block_list);
    all.map(|block: &Block| (block.tag(), block.ref_id(), block.text())).collect()
}

#[tokio::test]
async fn the_documented_program_gives_the_documented_output() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("search.py");
    std::fs::write(&script, block("python")).unwrap();
    let (call, seen) = watched(json!({"query": "tides"}));
    let output = run(tool(&["python3", script.to_str().unwrap(), "{query}"]), call).await.unwrap();
    assert_eq!(
        numbered(&output),
        [
            ("text", Some(1), Some("On tides: they follow the moon.")),
            ("html", Some(1), Some("<b>Tides</b>, 1898, on tides")),
        ]
    );
    let seen = seen.lock().unwrap();
    let partial = |at: usize| seen[at].partial.as_ref().and_then(Block::text);
    assert_eq!((seen[0].message.as_deref(), partial(0)), (Some("looking"), None));
    assert_eq!((seen[1].fraction, partial(1)), (Some(0.5), Some("Tides, 1898")));
}

#[tokio::test]
async fn an_image_in_base_64_is_an_image() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("draw.sh");
    let image = json!({"type": "image", "data": "AAAA", "mediaType": "image/gif"});
    let (draft, output) = (json!({"partial": image}), json!({"blockList": [image]}));
    std::fs::write(&script, format!("echo '::progress {draft}'\necho '{output}'\n")).unwrap();
    let (call, seen) = watched(json!({}));
    let output = run(tool(&["sh", script.to_str().unwrap()]), call).await.unwrap();
    let expected =
        json!({"type": "image", "imageUrl": {"url": "data:image/gif;base64,AAAA"}, "mediaType": "image/gif"});
    assert_eq!(serde_json::to_value(&output.block_list).unwrap(), json!([expected]));
    let partial = seen.lock().unwrap()[0].partial.clone();
    assert_eq!(serde_json::to_value(partial).unwrap(), expected);
}

#[tokio::test]
async fn agentlins_words_are_accepted_as_documented() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out.json");
    std::fs::write(&file, block("json")).unwrap();
    let output = run(tool(&["cat", file.to_str().unwrap()]), call(json!({}))).await.unwrap();
    assert_eq!(
        numbered(&output),
        [("text", Some(1), Some("They follow the moon.")), ("html", Some(1), Some("<b>Tides</b>, 1898")),]
    );
    let other = run(tool(&["echo", "{{\"content\":[],\"x\":1}}"]), call(json!({}))).await.unwrap();
    assert_eq!(text(&other), "{\"content\":[],\"x\":1}", "with other members it is text");
}
