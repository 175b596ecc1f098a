use riverrun_event::{ActionId, ErrorCode, RawJson};
use riverrun_runner::{Decide, Decided, Decision, Fate};
use riverrun_session::Hub;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::context::cursor_after;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, RunnerCommand, invalid, not_found, schema};

pub struct DecideAction;

/// Decide about an action.
///
/// The first decision wins. 409 `decided_by_other` names the decision that was first, 410 `action_expired` says that
/// nobody decided in time, 409 `run_terminal` that the run ended, 409 `digest_mismatch` that something else would run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DecideActionRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The action.
    #[schemars(schema_with = "schema::id")]
    action_id: String,
    decision: DecisionKind,
    /// The digest of exactly what will run, from the action. Required by all but `reject`.
    digest: Option<String>,
    /// What runs instead, for `edit`.
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    arguments: Option<Value>,
    /// The reason, or the answer in words.
    message: Option<String>,
    /// The answer as a value, for `respond`.
    response: Option<Value>,
    /// The decision holds for this tool and agent from now on.
    #[serde(default)]
    always: bool,
}

/// What is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum DecisionKind {
    Approve,
    Edit,
    Reject,
    Respond,
}

/// The decision that holds.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Decided")]
pub struct DecidedAction {
    action_id: ActionId,
    /// `already_decided` if the same decision was made before.
    #[schemars(extend("enum" = ["decided", "already_decided"]))]
    status: &'static str,
    /// The decision that holds.
    decision: String,
    source: String,
    /// False if the same decision was made before.
    won: bool,
    #[schemars(schema_with = "schema::cursor")]
    cursor: String,
}

impl Operation for DecideAction {
    const ABOUT: About = About {
        name: "action.decide",
        aliases: &["respond_action"],
        id: "decideAction",
        group: OperationGroup::Actions,
        method: HttpMethod::Post,
        path: "/v1/sessions/{session}/actions/{action}",
        scope: KeyScope::Approve,
        pages: true,
        repeats: Repeats::AnswerStored,
        statuses: &[(200, "The decision holds, now or since it was made before.")],
        errors: &[
            ErrorCode::NotFound,
            ErrorCode::DecidedByOther,
            ErrorCode::ActionExpired,
            ErrorCode::RunTerminal,
            ErrorCode::DigestMismatch,
        ],
        http_names: &[],
    };
    type Request = DecideActionRequest;
    type Response = DecidedAction;

    async fn run(context: &RequestContext, request: DecideActionRequest) -> Result<DecidedAction, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let services = context.services();
        let action = ActionId::new(&request.action_id).map_err(|_| not_found())?;
        let decide = Decide {
            action,
            decision: request.decision()?,
            digest: request.digest,
            message: request.message,
            always: request.always,
            decided_by: Some(context.identity().key_id().as_str().to_owned()),
        };
        let decided = services.runner().idempotent(context.request_key()).decide(&hub.key, decide).await;
        let decided = services.answered(RunnerCommand::Decide, decided)?;
        match outdated_decision(&hub, &decided) {
            Some(error) => Err(error),
            None => Ok(DecidedAction::new(&hub, decided)),
        }
    }
}

impl DecidedAction {
    fn new(hub: &Hub, decided: Decided) -> Self {
        Self {
            status: if decided.won { "decided" } else { "already_decided" },
            cursor: cursor_after(hub, decided.behind).to_string(),
            action_id: decided.action,
            decision: decided.decision,
            source: decided.source,
            won: decided.won,
        }
    }
}

impl DecideActionRequest {
    fn decision(&self) -> Result<Decision, ApiError> {
        if self.digest.is_none() && self.decision != DecisionKind::Reject {
            let detail =
                "it is missing: read the action, look at what it would do, and send the digest that it names";
            return Err(invalid("digest", &detail));
        }
        if self.arguments.is_some() && self.decision != DecisionKind::Edit {
            return Err(invalid("arguments", &"only `edit` takes other arguments"));
        }
        if self.response.is_some() && self.decision != DecisionKind::Respond {
            return Err(invalid("response", &"only `respond` takes a response"));
        }
        match self.decision {
            DecisionKind::Approve => Ok(Decision::Approve),
            DecisionKind::Reject => Ok(Decision::Reject),
            DecisionKind::Edit => match &self.arguments {
                Some(arguments @ Value::Object(_)) => raw("arguments", arguments).map(Decision::Edit),
                Some(_) => Err(invalid("arguments", &"they must be an object")),
                None => Err(invalid("arguments", &"they are missing: say what is to run instead")),
            },
            DecisionKind::Respond => match (&self.response, &self.message) {
                (Some(response), _) => raw("response", response).map(Decision::Respond),
                (None, Some(message)) => {
                    raw("message", &Value::from(message.as_str())).map(Decision::Respond)
                }
                (None, None) => {
                    Err(invalid("response", &"it is missing: give the answer in `response` or `message`"))
                }
            },
        }
    }
}

fn raw(field: &'static str, value: &Value) -> Result<RawJson, ApiError> {
    RawJson::of(value).map_err(|error| invalid(field, &error))
}

/// The error for a decision that came too late: it names the decision that holds, and who made it. None for one that
/// holds.
pub fn outdated_decision(hub: &Hub, decided: &Decided) -> Option<ApiError> {
    let holds = &decided.decision;
    let (code, detail) = match (decided.fate(), &decided.decided_by) {
        (Fate::Won | Fate::AlreadyDecided, _) => return None,
        (Fate::Expired, _) => (ErrorCode::ActionExpired, format!("nobody decided in time; `{holds}` holds")),
        (Fate::RunEnded, _) => {
            (ErrorCode::RunTerminal, "the run ended before anybody decided; nothing runs any more".to_owned())
        }
        (Fate::DecidedByOther, Some(who)) => {
            (ErrorCode::DecidedByOther, format!("another decision was first: `{who}` decided `{holds}`"))
        }
        (Fate::DecidedByOther, None) => {
            (ErrorCode::DecidedByOther, format!("another decision was first; `{holds}` holds"))
        }
    };
    let error = ApiError::new(code, detail)
        .with("decision", holds.clone())
        .with("source", decided.source.clone())
        .with("cursor", cursor_after(hub, decided.behind).to_string());
    Some(match &decided.decided_by {
        Some(who) => error.with("decidedBy", who.clone()),
        None => error,
    })
}
