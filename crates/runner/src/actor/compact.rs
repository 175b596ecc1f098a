//! Long conversations: older turns give way to a summary, and the log says where.

use riverrun_event::{BlobRef, Compaction, ErrorInfo, EventType, Input, TaskId, ThreadId, TurnId};
use riverrun_provider::ModelRequest;
use serde_json::Value;

use super::Actor;
use crate::drive::{EffectKey, Launch, Summary, SummaryCall};
use crate::history;
use crate::page::Page;

const ASK: &str = "Write a summary of the conversation above for yourself: what was asked, what was found, what was \
    decided, what is still open. Keep names, numbers and references exact. Answer with the summary alone.";

impl Actor {
    /// True if older turns are being summarised first; the model is called after that.
    pub(super) async fn compact(&mut self, task: &TaskId, page: &mut Page) -> bool {
        let Some((turn, view)) = self.view.task(task) else { return false };
        let (turn_id, thread, place) = (turn.turn.clone(), turn.thread.clone(), view.model);
        let (is_root, scope) = (view.parent.is_none(), view.scope.clone());
        let Some(persona) = self.persona(task).filter(|_| is_root) else { return false };
        let Some(limit) = persona.spec.compact_at_tokens else { return false };
        if !self.compacted.insert(task.clone()) {
            return false;
        }
        let mut past = Vec::new();
        self.past(&thread, &turn_id, &mut past).await;
        let before = history::tokens(&past);
        let turns = self.past_turns(&thread, &turn_id);
        let Some((provider, model)) = persona.model(&self.core.registry, place) else { return false };
        if before <= limit || turns.is_empty() {
            return false;
        }
        history::user(&Input::Text(ASK.to_owned()), &mut past);
        let request = ModelRequest { model, history: history::pair(past), ..ModelRequest::default() };
        let (log, key) = (self.core.journal.log().clone(), self.key.clone());
        let call = SummaryCall { provider: provider.clone(), request, log, key };
        let started = Compaction {
            trigger: Some("tokens".to_owned()),
            affected_turns: Some(turns),
            tokens_before: Some(before),
            ..Compaction::default()
        };
        page.push(EventType::ContextCompactionStarted, &scope, &started);
        self.launches.push((EffectKey::Summary(task.clone()), Launch::Summary(Box::new(call))));
        true
    }

    /// Every turn that the model would read, those of an earlier summary included.
    pub(super) fn past_turns(&self, thread: &ThreadId, before: &TurnId) -> Vec<String> {
        let mut turns: Vec<String> = self.older_turns(thread).iter().map(ToString::to_string).collect();
        let ended =
            self.state.turns.iter().filter(|turn| turn.thread_id == *thread && turn.status.is_terminal());
        turns.extend(ended.filter(|turn| turn.turn_id != *before).map(|turn| turn.turn_id.to_string()));
        turns
    }

    /// The summary is there, or the conversation goes on without one.
    pub(super) fn compacted(&mut self, task: &TaskId, made: Result<Summary, String>, page: &mut Page) {
        let Some((turn, view)) = self.view.task(task) else { return };
        let affected_turns = Some(self.past_turns(&turn.thread, &turn.turn));
        match made {
            Ok(summary) => {
                let completed = Compaction {
                    trigger: Some("tokens".to_owned()),
                    affected_turns,
                    summary_ref: Some(BlobRef::Bare(summary.reference)),
                    tokens_after: Some((summary.size as u64).div_ceil(4)),
                    ..Compaction::default()
                };
                page.push(EventType::ContextCompactionCompleted, &view.scope, &completed);
            }
            Err(message) => {
                let error =
                    Some(ErrorInfo { message, code: Some("no_summary".to_owned()), ..ErrorInfo::default() });
                let failed = Compaction { error, affected_turns, ..Compaction::default() };
                page.push(EventType::ContextCompactionFailed, &view.scope, &failed);
            }
        }
    }

    /// What the newest summary covers and where it is.
    pub(super) fn told_summary(&self) -> Value {
        let family = self.state.ledger.family("context");
        let told = family.and_then(|family| {
            family.entries.iter().rev().find(|entry| entry.kind == "context.compaction.completed")
        });
        told.and_then(|entry| entry.payload.as_ref()?.to::<Value>().ok()).unwrap_or_default()
    }

    pub(super) async fn summary_text(&self, told: &Value) -> Option<String> {
        let reference = riverrun_log::BlobRef::parse(told["summaryRef"].as_str()?)?;
        let blob = self.core.journal.log().blob(&self.key.tenant, &reference).await.ok().flatten()?;
        String::from_utf8(blob.bytes.to_vec()).ok()
    }
}
