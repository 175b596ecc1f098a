//! What a decision must fulfil before it counts.

use riverrun_event::{ActionId, ActionRequired, ActionResolved, RawJson};
use riverrun_fold::ActionState;
use serde_json::Value;

use crate::actor::approvals::decisions::word;
use crate::actor::session::HostedSession;
use crate::approve::digest;
use crate::schema::find_misfit;
use crate::{CommandError, Decide, Decision};

/// What an edit may hold, with its message. An event may have 256 KiB, and there are words beside it; what was taken
/// out of an event would not be what was decided upon.
const LARGEST_EDIT: usize = 248 << 10;

impl HostedSession {
    /// True if the action says that it is about a hosted task, and the runner did not ask.
    pub(crate) fn is_pretended(&self, action: &ActionState) -> bool {
        let turn = action.turn_id.as_ref().and_then(|turn| self.view.turns.get(turn));
        let of_task = action.task_id.as_ref().and_then(|task| self.view.task(task)).map(|(turn, _)| turn);
        let is_hosted = [turn, of_task].into_iter().flatten().any(|turn| turn.ours);
        is_hosted && !self.is_hosted(&action.action_id)
    }

    /// True if the runner asked, in a turn that it runs.
    pub(crate) fn is_hosted(&self, action: &ActionId) -> bool {
        let hosted = self.view.turns.values().filter(|turn| turn.ours);
        let mut calls = hosted.flat_map(|turn| &turn.tasks).flat_map(|task| &task.calls);
        calls.any(|call| call.action.as_ref().is_some_and(|known| known.action == *action))
    }

    pub(crate) fn resolution(
        &self,
        decide: &Decide,
        action: &ActionState,
    ) -> Result<ActionResolved, CommandError> {
        let asked = action.request.to::<ActionRequired>().unwrap_or_default();
        let decision = word(&decide.decision);
        let possible = asked.decisions.clone().unwrap_or_default();
        if !possible.is_empty() && !possible.iter().any(|known| known == decision) {
            let (action, decision) = (decide.action.to_string(), decision.to_owned());
            return Err(CommandError::DecisionNotPossible {
                action,
                decision,
                possible: possible.join(", "),
            });
        }
        let names_it = match (&decide.digest, &asked.digest) {
            (Some(digest), Some(asked)) => digest == asked,
            (None, Some(_)) => matches!(decide.decision, Decision::Reject),
            (_, None) => true,
        };
        if !names_it {
            return Err(CommandError::DigestMismatch);
        }
        self.still_the_tool(decide, action, &asked)?;
        let (arguments, response, digest) = match &decide.decision {
            Decision::Approve | Decision::Reject => (None, None, asked.digest),
            Decision::Respond(answer) => (Some(answer.clone()), Some(answer.clone()), asked.digest),
            Decision::Edit(edited) => {
                let size = edited.get().len() + decide.message.as_ref().map_or(0, String::len);
                if size > LARGEST_EDIT {
                    return Err(CommandError::ArgumentsTooLarge { size, limit: LARGEST_EDIT });
                }
                (Some(edited.clone()), None, self.edited_digest(action, edited)?)
            }
        };
        Ok(ActionResolved {
            decision: decision.to_owned(),
            source: Some("person".to_owned()),
            decided_by: decide.decided_by.clone(),
            message: decide.message.clone(),
            arguments,
            response,
            always: decide.always.then_some(true),
            digest,
        })
    }

    /// Consent to what was shown is none to what took its place since.
    pub(crate) fn still_the_tool(
        &self,
        decide: &Decide,
        action: &ActionState,
        asked: &ActionRequired,
    ) -> Result<(), CommandError> {
        let lets_run = matches!(decide.decision, Decision::Approve | Decision::Edit(_));
        let arguments = asked.arguments.as_ref().and_then(|raw| raw.to::<Value>().ok());
        let (true, Some(asked), Some(arguments)) = (lets_run, &asked.digest, arguments) else {
            return Ok(());
        };
        let now = self.with_tool(action, |tool| (digest(tool, &arguments), tool.name.clone()));
        match now {
            Some((now, name)) if now != *asked => Err(CommandError::ToolChanged(name)),
            Some(_) | None => Ok(()),
        }
    }

    /// The digest of the call with other arguments, which must fit the tool too.
    pub(crate) fn edited_digest(
        &self,
        action: &ActionState,
        arguments: &RawJson,
    ) -> Result<Option<String>, CommandError> {
        let at = |field: &str, detail: String| CommandError::Invalid { field: field.to_owned(), detail };
        let invalid = |detail: String| at("arguments", detail);
        let value: Value = arguments.to().map_err(|error| invalid(error.to_string()))?;
        crate::exact::check(arguments.get()).map_err(invalid)?;
        if !self.is_hosted(&action.action_id) {
            // Somebody else runs the tool, and knows what fits it.
            return Ok(None);
        }
        let found = self.with_tool(action, |definition| {
            find_misfit(&definition.parameters, &value).map(|()| digest(definition, &value))
        });
        let fits = found.ok_or_else(|| invalid("the tool is not there any more".to_owned()))?;
        let path = |pointer: Option<String>| pointer.unwrap_or_default().replace('/', ".");
        fits.map(Some).map_err(|misfit| at(&format!("arguments{}", path(misfit.instance_path)), misfit.fault))
    }

    pub(crate) fn with_tool<T>(
        &self,
        action: &ActionState,
        look: impl FnOnce(&riverrun_tool::ToolDefinition) -> T,
    ) -> Option<T> {
        let task = action.task_id.as_ref().filter(|_| self.is_hosted(&action.action_id))?;
        let (_, view) = self.view.task(task)?;
        let call = view.call(action.tool_call_id.as_ref()?.as_str())?;
        self.persona(task)?.tooling(&call.name)?.definition(&call.name).as_ref().map(look)
    }
}
