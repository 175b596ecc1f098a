//! Files of a turn's input.

use riverrun_event::FileProcessing;

use super::Step;
use crate::change::Change;
use crate::file::{MOST_FILES, TurnFile};
use crate::state::Status;

impl Step<'_> {
    /// A file that is announced again begins anew. One that was never announced is taken as it is.
    pub(super) fn file(&mut self, status: Status, told: &FileProcessing) {
        let turn = self.event.scope.turn_id.as_ref().and_then(|turn| self.find_turn(turn));
        let Some(turn) = turn else { return self.ledger() };
        let files = &mut self.state.turns[turn].files;
        let known = files.iter().position(|known| known.file_id == told.file_id);
        match known {
            Some(at) => {
                let before = std::mem::take(&mut files[at]);
                files[at] = merged(before, status, told);
            }
            None if files.len() < MOST_FILES => {
                files.push(merged(TurnFile::default(), status, told));
            }
            None => return self.ledger(),
        }
        self.change(Change::Turn { turn });
    }
}

fn merged(before: TurnFile, status: Status, told: &FileProcessing) -> TurnFile {
    // What an earlier reading found says nothing about the one that begins.
    let known = if status == Status::Running { TurnFile::default() } else { before };
    TurnFile {
        file_id: told.file_id.clone(),
        status,
        count: told.count.or(known.count),
        source: told.source.clone().or(known.source),
        name: told.name.clone().or(known.name),
        url: told.url.clone().or(known.url),
        media_type: told.media_type.clone().or(known.media_type),
        size: told.size.or(known.size),
        pages: told.pages.or(known.pages),
        handling: told.handling.clone().or(known.handling),
        output_ref: told.output_ref.clone().or(known.output_ref),
        truncated: told.truncated.or(known.truncated),
        error: told.error.clone(),
    }
}
