//! The events of a model service's own stream, in the log beside what they say.

use riverrun_event::{EventType, SentText, TaskId};
use riverrun_provider::ModelEvent;
use serde_json::Value;

use crate::actor::Actor;
use crate::actor::model::ModelCalls;
use crate::actor::session::HostedSession;
use crate::event_batch::EventBatch;

impl HostedSession {
    /// True if the service's own events of this task's calls are recorded: what the turn's reader may be shown.
    pub(crate) fn records_events(&self, task: &TaskId) -> bool {
        self.view.task(task).is_some_and(|(turn, _)| turn.root == *task)
    }
}

impl ModelCalls {
    /// Records an event of the service as it came.
    pub(crate) fn original(
        &mut self,
        session: &HostedSession,
        task: &TaskId,
        event: &Value,
        batch: &mut EventBatch,
    ) {
        let Some(stream) = self.streams.get_mut(task) else { return };
        let Some((_, view)) = session.view.task(task) else { return };
        stream.records_events = true;
        let known = self.service_streams.entry(task.clone()).or_default();
        for payload in known.record(event) {
            batch.push(EventType::ModelRaw, &view.step_scope(), &payload);
        }
    }
}

impl Actor {
    /// Writes a text, and how the service's events carried it.
    pub(crate) fn sent(
        &mut self,
        task: &TaskId,
        text: ModelEvent,
        events: Vec<SentText>,
        batch: &mut EventBatch,
    ) {
        if let Some(stream) = self.model.streams.get_mut(task) {
            stream.carriers = Some(events);
        }
        self.model_event(task, text, batch);
        if let Some(stream) = self.model.streams.get_mut(task) {
            stream.carriers = None;
        }
    }
}
