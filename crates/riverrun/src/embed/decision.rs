//! Pauses and the decisions that end them.

use riverrun_event::{ActionId, ActionRequired, RawJson};
use riverrun_fold::{ActionState, State};
use riverrun_runner::{Decide, Decided, Decision, Revoke, Rule};
use serde_json::Value;

use super::{Error, RunStream};

/// Something that a person must decide.
#[derive(Debug, Clone, PartialEq)]
pub struct Interruption {
    /// The action to decide.
    pub action: ActionId,
    /// `tool_permission`, `question`, `client_tool`, …
    pub kind: String,
    /// The tool that is to run, if the action is about one.
    pub tool: Option<String>,
    /// Exactly what would run.
    pub arguments: Value,
    /// Names tool and arguments; a decision carries it, so that nothing else runs than what was shown.
    pub digest: Option<String>,
    /// Whose call it is: a sub-agent's shows here too.
    pub agent: Option<String>,
    /// The question, for a person.
    pub prompt: Option<String>,
    /// `approve`, `edit`, `reject`, `respond`.
    pub decisions: Vec<String>,
    /// When it ends by itself as rejected, RFC 3339.
    pub expires_at: Option<String>,
}

impl Interruption {
    pub(super) fn of(state: &State, action: &ActionState) -> Self {
        let asked: ActionRequired = action.request.to().unwrap_or_default();
        let task = state.tasks.iter().find(|task| Some(&task.task_id) == action.task_id.as_ref());
        let agent = task.filter(|task| task.depth > 0).and_then(|task| task.agent.clone());
        Self {
            action: action.action_id.clone(),
            kind: asked.action_type,
            tool: asked.tool_name,
            arguments: asked.arguments.and_then(|raw| raw.to().ok()).unwrap_or_default(),
            digest: asked.digest,
            agent: agent.or_else(|| state.agent.clone()).or_else(|| task.and_then(|task| task.agent.clone())),
            prompt: asked.prompt,
            decisions: asked.decisions.unwrap_or_default(),
            expires_at: asked.expires_at,
        }
    }
}

impl RunStream {
    /// Lets the call run. `always` holds for this tool and agent for the rest of the session.
    pub async fn approve(&self, interruption: &Interruption, always: bool) -> Result<Decided, Error> {
        self.decide(interruption, Decision::Approve, always, None).await
    }

    /// The model reads the message, or that nobody agreed, in place of a result.
    pub async fn reject(
        &self,
        interruption: &Interruption,
        always: bool,
        message: Option<&str>,
    ) -> Result<Decided, Error> {
        self.decide(interruption, Decision::Reject, always, message).await
    }

    /// Runs the call with other arguments.
    pub async fn edit(&self, interruption: &Interruption, arguments: &Value) -> Result<Decided, Error> {
        self.decide(interruption, Decision::Edit(raw(arguments)?), false, None).await
    }

    /// Answers a question, or gives the result of a tool that runs at the caller's.
    pub async fn respond(&self, interruption: &Interruption, answer: &Value) -> Result<Decided, Error> {
        self.decide(interruption, Decision::Respond(raw(answer)?), false, None).await
    }

    /// What was decided for always in the run's session, the oldest first.
    pub async fn rules(&self) -> Result<Vec<Rule>, Error> {
        Ok(self.runtime().runner().rules(self.key()).await?)
    }

    /// Takes back what was decided for always: the tool is asked about anew.
    pub async fn revoke(&self, rule: &Rule) -> Result<(), Error> {
        let revoke = Revoke { rule: rule.rule_id.clone(), revoked_by: None };
        self.runtime().runner().idempotent(None).revoke(self.key(), revoke).await?;
        Ok(())
    }

    /// The first decision wins: `Decided::won` says whether it was this one.
    async fn decide(
        &self,
        interruption: &Interruption,
        decision: Decision,
        always: bool,
        message: Option<&str>,
    ) -> Result<Decided, Error> {
        let decide = Decide {
            action: interruption.action.clone(),
            decision,
            digest: interruption.digest.clone(),
            message: message.map(str::to_owned),
            always,
            decided_by: None,
        };
        Ok(self.runtime().runner().decide(self.key(), decide).await?)
    }
}

fn raw(value: &Value) -> Result<RawJson, Error> {
    RawJson::of(value).map_err(|error| Error::State(error.to_string()))
}
