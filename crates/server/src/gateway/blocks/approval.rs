//! Decisions about the actions of one request.

use riverrun_dialect::blocks::ApprovalGroup;
use riverrun_dialect::blocks::client::{ClientDecision, ClientDecisionKind};
use riverrun_dialect::blocks::server::APPROVAL_ALREADY_RESOLVED;
use riverrun_event::RawJson;
use riverrun_fold::{ActionState, ActionStatus};
use riverrun_runner::{Decide, Fate};

use super::desk::Desk;
use super::fault::Fault;
use crate::edge::{Caller, Scope};
use crate::route::too_late;
use riverrun_api::RunnerCommand;

impl Desk {
    pub(super) async fn approve(
        &mut self,
        caller: &Caller,
        session: &str,
        approval_key: &str,
        decisions: &[ClientDecision],
    ) -> Result<(), Fault> {
        caller.require(Scope::Approve)?;
        let hub = self.app.hub(caller, session).await?;
        let state = self.app.sessions().state_at(&hub.key, hub.head()).await?;
        let group = ApprovalGroup::with_key(&state, approval_key, self.approvals).ok_or_else(|| {
            Fault::new("APPROVAL_NOT_FOUND", format!("there is no question `{}`", shown(approval_key)))
        })?;
        let resolved = |why: &str| Fault::new(APPROVAL_ALREADY_RESOLVED, why);
        // All are read before the first is carried out: a list that is wrong decides nothing.
        let matched = matched(&group.actions, decisions)?;
        let mut decides = Vec::with_capacity(matched.len());
        for (action, decision) in matched {
            decides.push((action.status, decide(caller, action, decision)?));
        }
        let has_open = decides.iter().any(|(status, _)| *status == ActionStatus::Pending);
        let mut late = None;
        for (status, decide) in decides {
            // Somebody else may have decided some of them in the meantime.
            if has_open && status != ActionStatus::Pending {
                continue;
            }
            let decided = self.app.runner().decide(&hub.key, decide).await;
            let decided = self.app.answered(RunnerCommand::Decide, decided)?;
            // A second answer is told so in the words of this dialect, even if it is the same.
            let fault = match (decided.fate(), too_late(&hub, &decided)) {
                (Fate::Won, _) => continue,
                (Fate::Expired | Fate::RunEnded, Some(problem)) => problem.into(),
                (_, Some(problem)) => resolved(problem.detail()),
                (_, None) => resolved("this question was answered already"),
            };
            late.get_or_insert(fault);
        }
        late.map_or(Ok(()), Err)
    }
}

/// Each action with its decision: by the call that it names, else by position. There must be one for each; those that
/// name their calls may leave out actions that somebody decided already.
fn matched<'a>(
    actions: &[&'a ActionState],
    decisions: &'a [ClientDecision],
) -> Result<Vec<(&'a ActionState, &'a ClientDecision)>, Fault> {
    let named = decisions.iter().filter(|decision| decision.tool_use_id.is_some()).count();
    if named == 0 && decisions.len() == actions.len() {
        return Ok(actions.iter().copied().zip(decisions).collect());
    }
    if named == 0 || named != decisions.len() {
        return Err(mismatch(actions.len(), decisions.len()));
    }
    let call = |action: &ActionState| action.tool_call_id.as_ref().map(|id| id.as_str().to_owned());
    let mut found = Vec::with_capacity(actions.len());
    for action in actions {
        let mut its = decisions.iter().filter(|decision| decision.tool_use_id == call(action));
        match (its.next(), its.next()) {
            (Some(decision), None) => found.push((*action, decision)),
            (None, _) if action.status != ActionStatus::Pending && actions.len() > 1 => {}
            _ => return Err(mismatch(actions.len(), decisions.len())),
        }
    }
    if found.len() == decisions.len() { Ok(found) } else { Err(mismatch(actions.len(), decisions.len())) }
}

fn mismatch(actions: usize, decisions: usize) -> Fault {
    let message = format!(
        "the request has {actions} action(s) and `decisions` has {decisions} that fit: send one decision for each \
         action, in their order, or each with the `tool_use_id` of its action"
    );
    Fault::new("INVALID_DECISIONS", message)
}

fn decide(caller: &Caller, action: &ActionState, decision: &ClientDecision) -> Result<Decide, Fault> {
    let request: serde_json::Value = action.request.to().unwrap_or_default();
    let message = decision.message.clone();
    let tool = request["toolName"].as_str();
    if let Some(named) = decision.name.as_deref().filter(|named| tool.is_some_and(|tool| tool != *named)) {
        let message = format!(
            "`edited_action.name` is `{}`, and the question is about `{}`: an edit changes the arguments, not the \
             tool; reject the call instead",
            shown(named),
            tool.unwrap_or_default()
        );
        return Err(Fault::new("INVALID_DECISIONS", message));
    }
    Ok(Decide {
        action: action.action_id.clone(),
        decision: match decision.kind {
            ClientDecisionKind::Approve => riverrun_runner::Decision::Approve,
            ClientDecisionKind::Reject => riverrun_runner::Decision::Reject,
            ClientDecisionKind::Edit => {
                riverrun_runner::Decision::Edit(decision.arguments.clone().unwrap_or_default())
            }
            ClientDecisionKind::Respond => {
                let answer = RawJson::of(&message.clone().unwrap_or_default()).unwrap_or_default();
                riverrun_runner::Decision::Respond(answer)
            }
        },
        // A client of this protocol has no word for the digest: it decides what it was shown.
        digest: request["digest"].as_str().map(str::to_owned),
        message,
        always: false,
        decided_by: Some(caller.key_id().to_string()),
    })
}

fn shown(text: &str) -> String {
    text.chars().take(80).filter(|c| !c.is_control()).collect()
}
