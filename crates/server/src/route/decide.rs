//! A decision about an action. The first one wins, and everybody else is told which it was.

use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use riverrun_event::{ActionId, ErrorCode, RawJson};
use riverrun_runner::{Decide, Decided, Decision, Fate, RequestKey};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::idempotency;
use crate::app::App;
use crate::edge::{
    Caller, CompactJson, PathIds, Problem, Scope, StrictQuery, decode_text, invalid, not_found,
};
use riverrun_api::RunnerCommand;
use riverrun_api::cursor_after;
use riverrun_session::Hub;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DecideBody {
    decision: Kind,
    /// Of exactly what will run, as the action tells it.
    digest: Option<String>,
    /// What runs instead, to edit.
    arguments: Option<Value>,
    /// Why, or the answer in words.
    message: Option<String>,
    /// The answer as a value, to respond.
    response: Option<Value>,
    #[serde(default)]
    always: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Approve,
    Edit,
    Reject,
    Respond,
}

impl DecideBody {
    fn decision(&self) -> Result<Decision, Problem> {
        if self.digest.is_none() && self.kind() != Kind::Reject {
            let detail =
                "it is missing: read the action, look at what it would do, and send the digest that it names";
            return Err(invalid("digest", &detail));
        }
        if self.arguments.is_some() && self.kind() != Kind::Edit {
            return Err(invalid("arguments", &"only `edit` takes other arguments"));
        }
        if self.response.is_some() && self.kind() != Kind::Respond {
            return Err(invalid("response", &"only `respond` takes a response"));
        }
        match self.kind() {
            Kind::Approve => Ok(Decision::Approve),
            Kind::Reject => Ok(Decision::Reject),
            Kind::Edit => match &self.arguments {
                Some(arguments @ Value::Object(_)) => raw("arguments", arguments).map(Decision::Edit),
                Some(_) => Err(invalid("arguments", &"they must be an object")),
                None => Err(invalid("arguments", &"they are missing: say what is to run instead")),
            },
            Kind::Respond => match (&self.response, &self.message) {
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

    const fn kind(&self) -> Kind {
        self.decision
    }
}

fn raw(field: &'static str, value: &Value) -> Result<RawJson, Problem> {
    RawJson::of(value).map_err(|error| invalid(field, &error))
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DecidedView {
    action_id: ActionId,
    /// `decided`, or `already_decided` if the same decision was made before.
    status: &'static str,
    /// The decision that holds.
    decision: String,
    source: String,
    /// False if the same decision was made before.
    won: bool,
    cursor: String,
}

pub async fn post(
    State(app): State<App>,
    caller: Caller,
    PathIds(session, action): PathIds,
    StrictQuery(()): StrictQuery<()>,
    headers: HeaderMap,
    CompactJson(text): CompactJson,
) -> Result<Response, Problem> {
    caller.require(Scope::Approve)?;
    let hub = app.hub(&caller, &session).await?;
    let route = format!("POST /v1/sessions/{}/actions/{action}", hub.session());
    let once = idempotency::begin_once(&app, &caller, &headers, &route, &text).await?;
    if let Some(again) = idempotency::repeated(&once)? {
        return Ok(again);
    }
    let view = decide(&app, &caller, &hub, &action, decode_text(&text)?, once.request()).await?;
    idempotency::answer(&once, &app, StatusCode::OK, &view).await
}

pub(crate) async fn decide(
    app: &App,
    caller: &Caller,
    hub: &Hub,
    action: &str,
    body: DecideBody,
    request: Option<RequestKey>,
) -> Result<DecidedView, Problem> {
    let action = ActionId::new(action).map_err(|_| not_found())?;
    let decision = body.decision()?;
    let decide = Decide {
        action,
        decision,
        digest: body.digest,
        message: body.message,
        always: body.always,
        decided_by: Some(caller.key_id().as_str().to_owned()),
    };
    let decided = app.runner().idempotent(request).decide(&hub.key, decide).await;
    let decided = app.answered(RunnerCommand::Decide, decided)?;
    if let Some(problem) = too_late(hub, &decided) {
        return Err(problem);
    }
    Ok(DecidedView {
        status: if decided.won { "decided" } else { "already_decided" },
        action_id: decided.action,
        decision: decided.decision,
        source: decided.source,
        won: decided.won,
        cursor: cursor_after(hub, decided.behind).to_string(),
    })
}

/// What whoever decides too late is told: the decision that holds, and who made it. None for one that holds.
pub(crate) fn too_late(hub: &Hub, decided: &Decided) -> Option<Problem> {
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
    let problem = Problem::new(code, detail)
        .with("decision", holds.clone())
        .with("source", decided.source.clone())
        .with("cursor", cursor_after(hub, decided.behind).to_string());
    Some(match &decided.decided_by {
        Some(who) => problem.with("decidedBy", who.clone()),
        None => problem,
    })
}
