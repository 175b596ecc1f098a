//! The block that shows the files of a message: announced together, read one by one.

use std::collections::HashSet;

use riverrun_fold::{Status, TurnFile, TurnState};
use serde_json::{Value, json};

use super::texts::Texts;

/// What the reader of a turn knows of its files.
#[derive(Debug, Clone, Default)]
pub(super) struct FilesBlock {
    /// The number of the block that is open.
    pub(super) index: Option<usize>,
    /// Files whose end was shown.
    ended: HashSet<String>,
    is_closed: bool,
}

/// What follows for a reader once a file of its turn changed.
pub(super) enum FilesStep {
    /// The block begins with all files.
    Start(Value),
    /// One of them was read, or not.
    File(Value),
    /// The block ends.
    End(Value),
}

impl FilesBlock {
    /// The frames that are due now. `is_over`: nothing more comes of the turn.
    pub(super) fn steps(&mut self, turn: &TurnState, texts: &Texts, is_over: bool) -> Vec<FilesStep> {
        let files: Vec<&TurnFile> = of_message(turn).collect();
        let mut steps = Vec::new();
        if self.is_closed || files.is_empty() {
            return steps;
        }
        if self.index.is_none() {
            // All of them are announced before the first is read.
            if !is_announced(turn) && !is_over {
                return steps;
            }
            self.ended = ended(&files).map(|file| file.file_id.clone()).collect();
            steps.push(FilesStep::Start(block(&files, "processing")));
        }
        for file in ended(&files) {
            if self.ended.insert(file.file_id.clone()) {
                let index = files.iter().position(|known| known.file_id == file.file_id);
                let mut shown = shown(file);
                shown["index"] = json!(index);
                steps.push(FilesStep::File(json!({
                    "type": "file_processing_delta", "status": "processing", "file": shown,
                })));
            }
        }
        if is_over || files.iter().all(|file| file.status.is_terminal()) {
            self.is_closed = true;
            steps.push(FilesStep::End(last_delta(&files, texts)));
        }
        steps
    }
}

/// The current block, for a history. None for a turn whose message brought no files that were read.
pub(super) fn files_of(turn: &TurnState, texts: &Texts) -> Option<Value> {
    let files: Vec<&TurnFile> = of_message(turn).collect();
    if files.is_empty() {
        return None;
    }
    let is_over = turn.status.is_terminal() || files.iter().all(|file| file.status.is_terminal());
    if !is_over {
        return Some(block(&files, "processing"));
    }
    let mut block = block(&files, outcome(&files));
    block["message"] = json!(message(&files, texts));
    Some(block)
}

/// The files that came with the user's message itself.
fn of_message(turn: &TurnState) -> impl Iterator<Item = &TurnFile> {
    turn.files.iter().filter(|file| file.source.as_deref().is_none_or(|source| source == "input"))
}

fn is_announced(turn: &TurnState) -> bool {
    let count = turn.files.iter().filter_map(|file| file.count).max().unwrap_or(0);
    turn.files.len() >= usize::try_from(count).unwrap_or(usize::MAX)
}

fn ended<'a>(files: &'a [&'a TurnFile]) -> impl Iterator<Item = &'a TurnFile> {
    files.iter().copied().filter(|file| file.status.is_terminal())
}

fn block(files: &[&TurnFile], status: &str) -> Value {
    let shown: Vec<Value> = files.iter().map(|file| shown(file)).collect();
    json!({"type": "file_processing", "status": status, "files": shown})
}

fn last_delta(files: &[&TurnFile], texts: &Texts) -> Value {
    let shown: Vec<Value> = files.iter().map(|file| shown(file)).collect();
    json!({
        "type": "file_processing_delta", "status": outcome(files), "message": message(files, texts),
        "files": shown,
    })
}

fn outcome(files: &[&TurnFile]) -> &'static str {
    let is_read = |file: &&TurnFile| file.status == Status::Completed;
    if files.iter().any(is_read) { "completed" } else { "failed" }
}

fn message(files: &[&TurnFile], texts: &Texts) -> String {
    let failed = files.iter().filter(|file| file.status != Status::Completed).count();
    let name = match (failed, files.len()) {
        (0, 1) => "file_processed",
        (0, _) => "files_processed",
        (1, 1) => "file_failed",
        _ => "files_failed",
    };
    texts.filled(name, &json!({"count": files.len(), "failed": failed}))
}

fn shown(file: &TurnFile) -> Value {
    let status = match file.status {
        Status::Completed => "completed",
        Status::Failed => "failed",
        _ => "processing",
    };
    let mut shown = json!({
        "url": file.url, "name": file.name, "media_type": file.media_type, "size": file.size,
        "pages": file.pages, "status": status,
    });
    if let Some(error) = &file.error {
        shown["error"] = json!({"code": error.code, "message": error.message});
    }
    shown
}
