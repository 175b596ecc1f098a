//! Questions to people. Actions that were required at once are one request with several actions.

use riverrun_event::question::{may_run, run_and_answer};
use riverrun_event::{ActionRequired, ActionResolved, Sequence};
use riverrun_fold::{ActionState, ActionStatus, State};
use serde_json::{Value, json};

use super::texts::Texts;
use crate::Approvals;

/// The actions of one request, in the order of the calls.
#[derive(Debug, Clone)]
pub struct ApprovalGroup<'a> {
    pub actions: Vec<&'a ActionState>,
    /// How many there will be.
    size: usize,
}

impl<'a> ApprovalGroup<'a> {
    /// The request that an action belongs to.
    pub(super) fn of(state: &'a State, at: usize, approvals: Approvals) -> Self {
        let action = &state.actions[at];
        let asked = required(action);
        let batch = asked.batch_index.zip(asked.batch_size).filter(|_| approvals == Approvals::Together);
        let Some((index, size)) = batch.filter(|(index, size)| index < size) else {
            return Self { actions: vec![action], size: 1 };
        };
        // The same batch may have been asked about more than once: the members of this request stand around it.
        let member = |other: &&'a ActionState, wanted: u32| {
            let it = required(other);
            it.batch_id == asked.batch_id
                && it.action_type == asked.action_type
                && other.turn_id == action.turn_id
                && it.batch_index == Some(wanted)
                && it.batch_size == Some(size)
        };
        let mut actions = vec![action];
        let mut before = state.actions[..at].iter().rev();
        for wanted in (0..index).rev() {
            actions.extend(before.find(|other| member(other, wanted)));
        }
        actions.reverse();
        let mut behind = state.actions[at + 1..].iter();
        for wanted in index + 1..size {
            match behind.find(|other| member(other, wanted)) {
                Some(other) => actions.push(other),
                None => break,
            }
        }
        Self { actions, size: size as usize }
    }

    /// The request with this key: `{session}_{n}`, where n is the sequence of its first action.
    pub fn with_key(state: &'a State, key: &str, approvals: Approvals) -> Option<Self> {
        let session = state.session_id.as_ref().map_or("", |id| id.as_str());
        let number = key.strip_prefix(session)?.strip_prefix('_')?.parse().ok()?;
        let sequence = Sequence::new(number)?;
        let at = state.actions.iter().position(|action| action.sequence == sequence)?;
        Some(Self::of(state, at, approvals)).filter(|group| group.first().sequence == sequence)
    }

    pub(super) fn first(&self) -> &'a ActionState {
        self.actions[0]
    }

    /// True if all actions of the request are known.
    pub(super) fn is_whole(&self) -> bool {
        self.actions.len() == self.size
    }

    pub(super) fn is_decided(&self) -> bool {
        self.is_whole() && self.actions.iter().all(|action| action.status != ActionStatus::Pending)
    }

    /// It never changes and is the session's own.
    pub(super) fn key(&self, session: &str) -> String {
        format!("{session}_{}", self.first().sequence.get())
    }

    /// Both documented forms: `actions` with everything in the start, `action_requests` as in the delta.
    pub(super) fn request(&self, session: &str, texts: &Texts) -> Value {
        let (mut actions, mut reviews, mut timeout) = (Vec::new(), Vec::new(), None);
        for action in &self.actions {
            let request = required(action);
            let args: Value =
                request.arguments.as_ref().and_then(|raw| raw.to().ok()).unwrap_or_else(|| json!({}));
            let name = request.tool_name.as_deref().unwrap_or(&request.action_type);
            let call = action.tool_call_id.as_ref().map(|id| id.as_str());
            let mut asked = json!({"name": name, "args": args, "tool_use_id": call});
            if let Some(prompt) = &request.prompt {
                let (description, reason) = described(prompt, name, &args, texts);
                asked["description"] = json!(description);
                if let Some(reason) = reason {
                    asked["reason"] = json!(reason);
                }
            }
            let allowed =
                request.decisions.unwrap_or_else(|| vec!["approve".to_owned(), "reject".to_owned()]);
            let seconds = request.timeout_seconds.unwrap_or(300);
            reviews.push(json!({
                "action_name": name, "allowed_decisions": allowed, "require_approval": true, "timeout": seconds,
            }));
            timeout = Some(timeout.map_or(seconds, |known: u64| known.min(seconds)));
            actions.push(asked);
        }
        json!({
            "type": "approval_request", "approval_key": self.key(session), "message": texts.text("approval"),
            "actions": actions, "action_requests": actions, "review_configs": reviews,
            "timeout_seconds": timeout,
        })
    }

    /// What was decided, in the order of the actions.
    pub(super) fn decisions(&self, texts: &Texts) -> Vec<Value> {
        let resolved = self.actions.iter().filter(|action| action.status == ActionStatus::Resolved);
        resolved.map(|action| decision(action, texts)).collect()
    }
}

/// What a person reads of an action, and why somebody is asked. A question of the application is shown as it is, one of
/// the server's own in the reader's language.
fn described(prompt: &str, tool: &str, args: &Value, texts: &Texts) -> (String, Option<String>) {
    let filled = |text| texts.filled(text, &json!({"label": texts.label(tool, &args.to_string())}));
    if let Some(reason) = prompt.strip_prefix(&may_run(tool)) {
        let reason = reason.trim_start();
        return (filled("call_approval"), (!reason.is_empty()).then(|| reason.to_owned()));
    }
    match prompt == run_and_answer(tool) {
        true => (filled("client_call"), None),
        false => (prompt.to_owned(), None),
    }
}

fn required(action: &ActionState) -> ActionRequired {
    action.request.to().unwrap_or_default()
}

fn decision(action: &ActionState, texts: &Texts) -> Value {
    let resolved: ActionResolved =
        action.resolution.as_ref().and_then(|raw| raw.to().ok()).unwrap_or_default();
    let mut decision = json!({"type": resolved.decision});
    if resolved.source.as_deref() == Some("timeout") {
        decision["message"] = json!(texts.text("approval_timeout"));
    } else if let Some(message) = resolved.message {
        decision["message"] = json!(message);
    }
    let edited = resolved.arguments.filter(|_| decision["type"] == "edit");
    if let Some(args) = edited.and_then(|raw| raw.to::<Value>().ok()) {
        decision["edited_action"] = json!({"name": required(action).tool_name, "args": args});
    }
    if let Some(call) = &action.tool_call_id {
        decision["tool_use_id"] = json!(call.as_str());
    }
    decision
}
