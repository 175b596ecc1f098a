//! Runs `spec/vectors/reference`. `RIVERRUN_BLESS=1` writes what comes out; the numbers that matter stand below, too.

use std::path::PathBuf;

use riverrun_event::{Annotation, Block, Item, ToolResultItem};
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Output {
    content: Vec<Block>,
    block_list: Vec<Block>,
}

/// A task: results of its own tools, then its children, then its message.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Task {
    results: Vec<Output>,
    children: Vec<Task>,
    message: Vec<Block>,
    keep_all: bool,
}

/// A text in pieces, with the numbers that can be cited.
#[derive(Deserialize)]
struct Cite {
    pool: u64,
    pieces: Vec<String>,
}

fn play(task: &Task) -> (Pool, Value) {
    let mut pool = Pool::default();
    let number = |output: &Output| pool.number(output.content.clone(), output.block_list.clone());
    let numbered: Vec<Numbered> = task.results.iter().map(number).collect();
    restores_the_same(&pool, &numbered);
    let mut result = json!({ "results": numbered.iter().map(numbered_json).collect::<Vec<_>>() });
    let mut children = Vec::new();
    for child in &task.children {
        let (child_pool, mut inside) = play(child);
        let keep = if child.keep_all { Keep::All } else { Keep::Cited };
        let adopted = pool.adopt(&child_pool, &child.message, keep);
        inside["adopted"] = json!({
            "content": adopted.content, "blockList": adopted.block_list,
            "numbers": adopted.numbers, "unknown": adopted.unknown,
        });
        children.push(inside);
    }
    if !children.is_empty() {
        result["children"] = Value::from(children);
    }
    (pool, result)
}

fn numbered_json(numbered: &Numbered) -> Value {
    let problems: Vec<String> = numbered.problems.iter().map(ToString::to_string).collect();
    json!({ "content": numbered.content, "blockList": numbered.block_list, "problems": problems })
}

fn restores_the_same(pool: &Pool, numbered: &[Numbered]) {
    let item = |numbered: &Numbered| {
        let content = Some(numbered.content.clone());
        let block_list = Some(numbered.block_list.clone());
        Item::ToolResult(ToolResultItem { content, block_list, ..ToolResultItem::default() })
    };
    let items: Vec<Item> = numbered.iter().map(item).collect();
    let mut restored = Pool::restore(Wrapper::Item, &items);
    assert_eq!(restored.groups().collect::<Vec<_>>(), pool.groups().collect::<Vec<_>>());
    let again = |numbered: &Numbered| restored.number(numbered.content.clone(), numbered.block_list.clone());
    let again: Vec<Vec<Block>> = numbered.iter().map(again).map(|numbered| numbered.content).collect();
    let before: Vec<Vec<Block>> = numbered.iter().map(|numbered| numbered.content.clone()).collect();
    assert_eq!(again, before, "numbering again changes nothing");
}

fn pool_of(count: u64) -> Pool {
    let mut pool = Pool::default();
    for number in 1..=count {
        let part = vec![Block::plain(format!("part {number}"))];
        pool.number(part.clone(), part);
    }
    pool
}

fn cite(cite: &Cite) -> Value {
    let pool = pool_of(cite.pool);
    let mut citations = Citations::default();
    let (mut annotations, mut unknown) = (Vec::new(), Vec::new());
    for piece in &cite.pieces {
        let found = citations.push(piece, &pool);
        annotations.extend(found.annotations);
        unknown.extend(found.unknown.iter().map(|marker| marker.number));
    }
    let text = citations.text();
    assert_eq!(annotate(text, &pool).annotations, annotations, "pieces make no difference");
    let cited: Vec<String> = annotations.iter().map(|annotation| stretch(text, annotation)).collect();
    let history = without_citations(text, &pool);
    json!({ "annotations": annotations, "cited": cited, "unknown": unknown, "history": history })
}

fn stretch(text: &str, annotation: &Annotation) -> String {
    let Annotation::ReferenceToBlock(reference) = annotation else { panic!("a reference") };
    let (start, end) = (reference.start_index as usize, reference.end_index as usize);
    text.chars().skip(start).take(end - start).collect()
}

fn check(vector: &Value) -> Value {
    match (vector.get("task"), vector.get("cite")) {
        (Some(task), None) => play(&serde_json::from_value(task.clone()).unwrap()).1,
        (None, Some(text)) => cite(&serde_json::from_value(text.clone()).unwrap()),
        (task, cite) => panic!("a vector has a `task` or a `cite`: {task:?} {cite:?}"),
    }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/reference")
}

#[test]
fn every_vector_comes_out_as_written() {
    let bless = std::env::var_os("RIVERRUN_BLESS").is_some();
    let mut count = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let mut vector: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let out = check(&vector);
        if bless {
            vector["expected"] = out;
            std::fs::write(&path, format!("{vector:#}\n")).unwrap();
        } else {
            assert_eq!(out, vector["expected"], "{}", path.display());
        }
        count += 1;
    }
    assert!(count >= 15, "only {count} vectors in {}", folder().display());
}

/// Counted by hand.
#[test]
fn offsets_are_code_points() {
    let expected = [
        ("cite_sample", vec![(1, 56, 60)]),
        ("cite_vietnamese", vec![(1, 8, 12), (2, 27, 31)]),
        ("cite_chinese", vec![(1, 6, 10)]),
        ("cite_emoji_and_combining_marks", vec![(1, 7, 11), (2, 14, 18)]),
        ("cite_split_marker", vec![(12, 4, 9)]),
    ];
    for (case, places) in expected {
        let text = std::fs::read_to_string(folder().join(format!("{case}.json"))).unwrap();
        let vector: Value = serde_json::from_str(&text).unwrap();
        let result = check(&vector);
        let range = |annotation: &Value| {
            let number = |name: &str| annotation[name].as_u64().unwrap();
            (number("referenceId"), number("startIndex"), number("endIndex"))
        };
        let found: Vec<_> = result["annotations"].as_array().unwrap().iter().map(range).collect();
        assert_eq!(found, places, "{case}");
    }
}

#[test]
fn both_wrappers_carry_the_number() {
    let part = vec![Block::plain("x")];
    let texts = |wrapper: Wrapper| {
        let numbered = Pool::new(wrapper).number(part.clone(), part.clone());
        numbered.content.iter().map(|part| part.text().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(texts(Wrapper::Item), ["<referencable-item>\nID: 1", "x", "</referencable-item>"]);
    assert_eq!(texts(Wrapper::Result), ["<referencable-result>\nID: 1\n", "x", "</referencable-result>"]);
}

#[test]
fn a_provider_s_annotation_moves_with_the_text() {
    let mut child = Pool::default();
    let part = vec![Block::plain("c")];
    child.number(part.clone(), part);
    let mut parent = pool_of(11);
    let message = json!([{"type": "text", "text": "a[^1] b", "annotations": [
        {"type": "url_citation", "startIndex": 0, "endIndex": 1},
        {"type": "url_citation", "startIndex": 6, "endIndex": 7},
        {"type": "reference_to_block", "referenceId": 1, "startIndex": 1, "endIndex": 5},
    ]}]);
    let message: Vec<Block> = serde_json::from_value(message).unwrap();
    let adopted = parent.adopt(&child, &message, Keep::Cited);
    let shown = serde_json::to_value(adopted.block_list.last().unwrap()).unwrap();
    let expected = json!({"type": "text", "text": "a[^12] b", "annotations": [
        {"type": "reference_to_block", "referenceId": 12, "startIndex": 1, "endIndex": 6},
        {"type": "url_citation", "startIndex": 0, "endIndex": 1},
        {"type": "url_citation", "startIndex": 7, "endIndex": 8},
    ]});
    assert_eq!(shown, expected);
}
