//! Files of inputs: read before the model is called, shown to it in its request.

use std::collections::HashMap;

use riverrun_event::{ErrorInfo, EventType, FileProcessing, Part, TaskId};
use riverrun_fold::{Status, TurnFile};
use riverrun_log::BlobId;
use riverrun_provider::{HistoryEntry, accepts_file};

use crate::actor::effects::Effects;
use crate::actor::model::history::SessionHistory;
use crate::actor::session::HostedSession;
use crate::drive::{EffectKey, FileEnd, FileReadings, Launch};
use crate::event_batch::EventBatch;
use crate::file::{self, Attached, attached, file_id};

impl Effects {
    /// Has the files read that came with the input and were not read yet. False if there are none: then the model can
    /// be called. A new owner reads those again whose end is not in the log; reading changes nothing.
    pub(crate) fn read_files(
        &mut self,
        session: &HostedSession,
        task: &TaskId,
        batch: &mut EventBatch,
    ) -> bool {
        let files = session.unread_files(task);
        let Some(scope) = session.view.task(task).map(|(_, view)| view.scope.clone()) else { return false };
        if files.is_empty() {
            return false;
        }
        let known: Vec<String> = session.known_ids(task);
        let is_known = |file: &Attached| known.contains(&file.id);
        let count = number(known.len() + files.iter().filter(|file| !is_known(file)).count());
        let fresh: Vec<Attached> = files.iter().filter(|file| !is_known(file)).cloned().collect();
        for (at, file) in fresh.iter().enumerate() {
            let facts = announced(file, known.len() + at, count);
            batch.push(EventType::FileProcessingStarted, &scope, &facts);
        }
        let most = session.shared.options.files.files;
        let position = |file: &Attached| {
            let ids = known.iter().chain(fresh.iter().map(|file| &file.id));
            ids.into_iter().position(|id| *id == file.id).unwrap_or(usize::MAX)
        };
        let (readable, refused): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| position(file) < most);
        for file in refused {
            let error = Some(error_info("too_many_files", format!("a turn reads {most} files at most")));
            let facts = FileProcessing { file_id: file.id, error, ..FileProcessing::default() };
            batch.push(EventType::FileProcessingFailed, &scope, &facts);
        }
        if !readable.is_empty() {
            let readings = session.file_readings(task, readable);
            self.launch_later(EffectKey::Files(task.clone()), Launch::Files(Box::new(readings)));
        }
        true
    }
}

impl HostedSession {
    /// The files of the task's turn that the log knows, in the order in which they were announced.
    fn known_ids(&self, task: &TaskId) -> Vec<String> {
        let turn = self.view.task(task).map(|(turn, _)| &turn.turn);
        let known = self.state.turns.iter().find(|known| Some(&known.turn_id) == turn);
        known.into_iter().flat_map(|turn| &turn.files).map(|file| file.file_id.clone()).collect()
    }

    fn file_readings(&self, task: &TaskId, files: Vec<Attached>) -> FileReadings {
        let persona = self.persona(task);
        let models = persona.as_ref().map_or(0, |persona| persona.spec.models.len());
        let dialects = (0..models).filter_map(|at| persona.as_ref()?.model(&self.registry, at));
        FileReadings {
            files,
            dialects: dialects.map(|(provider, _)| provider.speaks()).collect(),
            options: self.shared.options.files.clone(),
            log: self.shared.journal.log().clone(),
            key: self.key.clone(),
            slots: self.shared.file_slots.clone(),
        }
    }

    /// The files that the model is about to read and nobody has read. A caller who speaks to the service in its own
    /// words is passed on as it is.
    fn unread_files(&self, task: &TaskId) -> Vec<Attached> {
        let Some((turn, view)) = self.view.task(task) else { return Vec::new() };
        if !self.shared.options.files.read || view.parent.is_some() {
            return Vec::new();
        }
        let Some(known) = self.state.turns.iter().find(|known| known.turn_id == turn.turn) else {
            return Vec::new();
        };
        let steers = view.steers.iter().skip(view.steers_read).map(|steer| &steer.input);
        let mut files = attached(known, steers);
        let is_read = |file: &Attached| {
            known.files.iter().any(|known| known.file_id == file.id && known.status.is_terminal())
        };
        files.retain(|file| !is_read(file));
        // The state holds facts of so many.
        let room = 100_usize.saturating_sub(known.files.len());
        let mut fresh = 0;
        files.retain(|file| {
            let is_known = known.files.iter().any(|known| known.file_id == file.id);
            fresh += usize::from(!is_known);
            is_known || fresh <= room
        });
        if files.is_empty() || self.is_verbatim(task) { Vec::new() } else { files }
    }

    fn is_verbatim(&self, task: &TaskId) -> bool {
        let Some(persona) = self.persona(task) else { return true };
        let Some((provider, _)) = persona.model(&self.registry, 0) else { return true };
        let dialect = persona.settings.dialect.as_deref();
        persona.is_gateway && persona.settings.verbatim.is_some() && dialect == provider.speaks()
    }

    /// One file was read, or could not be.
    pub(crate) fn file_ended(&self, task: &TaskId, end: &FileEnd, batch: &mut EventBatch) {
        let Some((_, view)) = self.view.task(task) else { return };
        match end.is_read {
            true => batch.push(EventType::FileProcessingCompleted, &view.scope, &end.facts),
            false => batch.push(EventType::FileProcessingFailed, &view.scope, &end.facts),
        }
    }

    /// The work ends while files are read.
    pub(crate) fn close_files(&self, task: &TaskId, code: &str, batch: &mut EventBatch) {
        let Some((turn, view)) = self.view.task(task).filter(|(_, view)| view.parent.is_none()) else {
            return;
        };
        let known = self.state.turns.iter().find(|known| known.turn_id == turn.turn);
        let open = known.into_iter().flat_map(|turn| &turn.files).filter(|file| !file.status.is_terminal());
        for file in open {
            let error = Some(error_info(code, "the work ended while the file was read"));
            let facts = FileProcessing { file_id: file.file_id.clone(), error, ..FileProcessing::default() };
            batch.push(EventType::FileProcessingFailed, &view.scope, &facts);
        }
    }

    async fn shown_file(&self, part: &Part, known: &TurnFile, dialect: Option<&str>) -> Option<Part> {
        let media_type = known.media_type.as_deref().unwrap_or_default();
        match known.status {
            Status::Failed => {
                let error = known.error.as_ref().map_or("nobody knows why", |error| &error.message);
                Some(file::note(known, error))
            }
            Status::Completed if accepts_file(dialect, media_type) => file::native(part, known, media_type),
            Status::Completed => Some(match self.file_text(known).await {
                Some(text) => file::wrapped(known, &text),
                None if known.output_ref.is_some() => file::note(known, "its text is no longer stored"),
                None => file::note(known, &format!("this model takes no files of type {media_type}")),
            }),
            _ => None,
        }
    }

    async fn file_text(&self, known: &TurnFile) -> Option<String> {
        let reference = BlobId::parse(known.output_ref.as_ref()?.as_str())?;
        let blob = self.shared.journal.log().blob(&self.key.tenant, &reference).await.ok().flatten()?;
        String::from_utf8(blob.bytes.to_vec()).ok()
    }
}

impl SessionHistory {
    /// Puts in place of each file what the model's service can read of it, as it was found when the file came.
    pub(crate) async fn show_files(
        &self,
        session: &HostedSession,
        task: &TaskId,
        dialect: Option<&str>,
        history: &mut [HistoryEntry],
    ) {
        let known = self.known_files(session, task);
        if known.is_empty() {
            return;
        }
        let parts = history.iter_mut().flat_map(|entry| match entry {
            HistoryEntry::User { parts } => parts.iter_mut(),
            _ => [].iter_mut(),
        });
        for part in parts {
            let Some(file) = file_id(part).and_then(|id| known.get(&id)) else { continue };
            if let Some(shown) = session.shown_file(part, file, dialect).await {
                *part = shown;
            }
        }
    }

    /// What is known of files, the present turn's last: an address may have another content since.
    fn known_files(&self, session: &HostedSession, task: &TaskId) -> HashMap<String, TurnFile> {
        let present = session.view.task(task).map(|(turn, _)| turn.turn.clone());
        let is_present = |turn: &&riverrun_fold::TurnState| Some(&turn.turn_id) == present.as_ref();
        let sealed = self.sealed.values().map(|sealed| &sealed.turn);
        let past = session.state.turns.iter().filter(|turn| !is_present(turn));
        let turns = sealed.chain(past).chain(session.state.turns.iter().filter(is_present));
        turns.flat_map(|turn| &turn.files).map(|file| (file.file_id.clone(), file.clone())).collect()
    }
}

fn announced(file: &Attached, index: usize, count: Option<u32>) -> FileProcessing {
    FileProcessing {
        file_id: file.id.clone(),
        index: number(index),
        count,
        source: Some(file.source.as_str().to_owned()),
        name: file.name.clone(),
        url: file.url.clone(),
        ..FileProcessing::default()
    }
}

fn error_info(code: &str, message: impl Into<String>) -> ErrorInfo {
    ErrorInfo {
        message: message.into(),
        code: Some(code.to_owned()),
        category: Some("file".to_owned()),
        ..ErrorInfo::default()
    }
}

fn number(count: usize) -> Option<u32> {
    u32::try_from(count).ok()
}
