//! What the server's own runner tells in `blocks`: vectors with the frames of a case for each kind of reader.

use std::path::Path;

use riverrun_dialect::blocks::{Display, DisplayMode, history};
use riverrun_dialect::{Approvals, Dialect, Languages, ReaderOptions};
use serde_json::Value;

use crate::log::{Delivered, Log, root};

/// A reader, by the middle of its file's name: `frames.vi.ndjson`.
fn reader(name: &str) -> (ReaderOptions, Option<DisplayMode>) {
    let mut options = ReaderOptions { all_views: true, ..ReaderOptions::default() };
    let mut mode = None;
    match name {
        "" => {}
        // A reader without a socket, whose frames pass no `Display`.
        "as_asked" => options.all_views = false,
        "separate" => options.approvals = Approvals::Separate,
        "chat" => mode = Some(DisplayMode::Chat),
        language => options.languages = Languages::accepted(language),
    }
    (options, mode)
}

fn shown(frames: &[Delivered], mode: Option<DisplayMode>) -> String {
    let mut display = Display::new(mode);
    let lines = frames.iter().filter_map(|frame| display.pass(&frame.text));
    lines.map(|line| line + "\n").collect()
}

fn check(case: &Path) {
    let log = Log::read(&case.join("events.ndjson"));
    let turn = log.turns().first().copied();
    for entry in std::fs::read_dir(case).expect("a case is a folder") {
        let path = entry.expect("a folder is readable").path();
        let file = path.file_name().expect("it is a file").to_string_lossy().into_owned();
        let Some(name) = file.strip_prefix("frames").and_then(|rest| rest.strip_suffix(".ndjson")) else {
            continue;
        };
        let (options, mode) = reader(name.trim_start_matches('.'));
        let options = ReaderOptions { turn, ..options };
        let whole = log.tail_with(Dialect::Blocks, 0, options);
        let actual = shown(&whole, mode);
        if std::env::var_os("RIVERRUN_BLESS").is_some() {
            std::fs::write(&path, &actual).expect("a vector can be written");
        }
        let expected = std::fs::read_to_string(&path).expect("a vector can be read");
        assert_eq!(actual, expected, "{}: RIVERRUN_BLESS=1 writes it anew", path.display());
        for after in 0..=log.len() {
            let rest: Vec<_> = whole.iter().filter(|frame| frame.sequence > after as u64).cloned().collect();
            let tail = log.tail_with(Dialect::Blocks, after, options);
            assert_eq!(tail, rest, "{}: cut after event {after}", path.display());
            // A reader that comes in the middle sees the same as one that saw the beginning.
            assert!(actual.ends_with(&shown(&tail, mode)), "{}: cut after event {after}", path.display());
        }
    }
}

#[test]
fn the_vectors_of_hosted_turns() {
    let folder = root().join("spec/vectors/dialect/blocks-hosted");
    let mut cases = 0;
    for entry in std::fs::read_dir(&folder).expect("the vectors are there") {
        check(&entry.expect("a folder is readable").path());
        cases += 1;
    }
    assert!(cases >= 8, "{cases} cases");
}

#[test]
fn a_pending_request_is_in_the_history_as_in_its_block() {
    let log = Log::read(&root().join("spec/vectors/dialect/blocks-hosted/approvals_pending/events.ndjson"));
    for approvals in [Approvals::Together, Approvals::Separate] {
        let options = ReaderOptions { approvals, ..ReaderOptions::default() };
        let told: Value = serde_json::from_str(&history(log.state(log.len()), options)).expect("it is JSON");
        let frames = log.tail_with(Dialect::Blocks, 0, options);
        let blocks = frames.iter().map(|frame| serde_json::from_str::<Value>(&frame.text).expect("JSON"));
        let asked: Vec<Value> = blocks
            .map(|frame| frame["content_block"].clone())
            .filter(|block| block["type"] == "approval_request")
            .collect();
        let waiting = asked.iter().find(|block| **block == told["pending_approval"]);
        let actions = waiting.expect("the block that was sent")["actions"].as_array().map(Vec::len);
        assert_eq!(actions, Some(if approvals == Approvals::Together { 2 } else { 1 }));
    }
}
