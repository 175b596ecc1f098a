//! Files of a turn's input.

use riverrun_event::FileProcessing;

use super::Step;
use crate::change::Change;
use crate::file::{MOST_FILES, TurnFile};
use crate::status::Status;

impl Step<'_> {
    /// A file that is announced again begins anew. One that was never announced is taken as it is.
    pub(super) fn file(&mut self, status: Status, reported: &FileProcessing) {
        let turn = self.event.scope.turn_id.as_ref().and_then(|turn| self.find_turn(turn));
        let Some(turn) = turn else { return self.ledger() };
        let files = &mut self.state.turns[turn].files;
        let known = files.iter().position(|known| known.file_id == reported.file_id);
        match known {
            Some(at) => {
                let before = std::mem::take(&mut files[at]);
                files[at] = merged(before, status, reported);
            }
            None if files.len() < MOST_FILES => {
                files.push(merged(TurnFile::default(), status, reported));
            }
            None => return self.ledger(),
        }
        self.change(Change::Turn { turn });
    }
}

fn merged(before: TurnFile, status: Status, reported: &FileProcessing) -> TurnFile {
    // What an earlier reading found says nothing about the one that begins.
    let known = if status == Status::Running { TurnFile::default() } else { before };
    TurnFile {
        file_id: reported.file_id.clone(),
        status,
        count: reported.count.or(known.count),
        source: reported.source.clone().or(known.source),
        name: reported.name.clone().or(known.name),
        url: reported.url.clone().or(known.url),
        media_type: reported.media_type.clone().or(known.media_type),
        size: reported.size.or(known.size),
        pages: reported.pages.or(known.pages),
        handling: reported.handling.clone().or(known.handling),
        output_ref: reported.output_ref.clone().or(known.output_ref),
        truncated: reported.truncated.or(known.truncated),
        error: reported.error.clone(),
    }
}
