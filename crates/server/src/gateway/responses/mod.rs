//! OpenAI's Responses: created, followed, looked at, cancelled.

pub(super) mod conversations;
pub(super) mod socket;

use axum::extract::{Path, Request, State};
use axum::response::Response;
use http::HeaderMap;
use riverrun_api::ApiError;
use riverrun_dialect::request::{InputItem, ModelCall, RequestFailure};
use riverrun_dialect::responses::{ItemPageQuery, Order};
use riverrun_dialect::{Dialect, WholeAnswer, responses};
use riverrun_event::{SessionId, TurnId};
use riverrun_runner::{CancelMode, CommandError, Decision};

use crate::app::App;
use crate::edge::{Caller, Params, Problem, Scope};
use crate::gateway::branch;
use crate::gateway::decisions::{self, decide_all};
use crate::gateway::turn::{Seen, Started, find, finished, ids, project, start, state, stream, told};
use crate::gateway::{Asking, Refusal, enter, first_frames, json, model_call};
use conversations::conversation;

const DIALECT: Dialect = Dialect::Responses;

pub async fn create(State(app): State<App>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Write, request, async |asking| begin(&app, asking).await).await
}

async fn begin(app: &App, asking: Asking) -> Result<Response, Refusal> {
    let call = responses::request::decode(&asking.body)?;
    let caller = &asking.caller;
    let named = ids(caller, DIALECT.name(), &asking.headers)?;
    let started = submit(app, caller, &call, named).await?;
    match (call.stream, call.background) {
        (true, false) if model_call::is_service(app, &call.model) => {
            first_frames::stream_or_refuse(app, caller, &started, DIALECT).await
        }
        (true, _) => Ok(stream(app, caller, &started, DIALECT, Seen::default()).await?),
        (false, true) => object(app, &started).await,
        (false, false) => {
            let state = finished(app, caller, &started).await?;
            refuse_empty(app, &started, &state).await?;
            object(app, &started).await
        }
    }
}

/// A call that failed before it said anything is refused as the service refused it.
async fn refuse_empty(app: &App, started: &Started, state: &riverrun_fold::State) -> Result<(), Refusal> {
    let turn = state.turns.iter().find(|turn| turn.turn_id == started.turn);
    let Some(error) = turn.and_then(|turn| turn.error.as_ref()) else { return Ok(()) };
    let said = |task: &riverrun_fold::TaskState| {
        task.turn_id.as_ref() == Some(&started.turn) && !task.output.is_empty()
    };
    if state.tasks.iter().any(said) {
        return Ok(());
    }
    // Chat Completions answer failures with errors; there the wait is known too.
    Err(match told(app, started, Dialect::Chat).await? {
        WholeAnswer::Failed(failure) => failure.into(),
        WholeAnswer::None | WholeAnswer::Open(_) | WholeAnswer::Whole(_) => {
            responses::error::failure_of(error).into()
        }
    })
}

/// Makes the turn of a call, behind the response before it if it names one. A call that ends with
/// decisions makes none: the response that waited for them goes on.
pub(super) async fn submit(
    app: &App,
    caller: &Caller,
    call: &ModelCall,
    named: Option<(SessionId, TurnId)>,
) -> Result<Started, Refusal> {
    // What a service asked is the service's to hear.
    let decided = if model_call::is_spoken(app, &call.model, DIALECT) { Vec::new() } else { decided(call) };
    if !decided.is_empty() {
        return decide(app, caller, call, decided).await;
    }
    let mut submit = model_call::routed(app, call, DIALECT, &HeaderMap::new())?;
    submit.turn_id = named.as_ref().map(|(_, turn)| turn.clone());
    if let Some(id) = &call.conversation {
        let hub = conversation(app, caller, id).await?;
        let (started, _) = start(app, caller, Some(hub.session().clone()), submit).await?;
        return Ok(started);
    }
    let Some(previous) = &call.previous else {
        let (started, _) = start(app, caller, named.map(|(session, _)| session), submit).await?;
        return Ok(started);
    };
    let before = response(app, caller, previous).await.map_err(|refusal| unknown(refusal, previous))?;
    // Of two calls behind the same response only one can be the next of its session.
    let _one_by_one = before.hub.branching.lock().await;
    let session = branch::session_behind(app, caller, &before, named).await?;
    let (started, _) = start(app, caller, Some(session), submit).await?;
    Ok(started)
}

/// The decisions that a call ends with; those before them are history.
fn decided(call: &ModelCall) -> Vec<decisions::Answer> {
    let of = |item: &InputItem| match item {
        InputItem::Decision { action_id, approve, reason } => Some(decisions::Answer {
            action: action_id.clone(),
            decision: if *approve { Decision::Approve } else { Decision::Reject },
            message: reason.clone(),
        }),
        _ => None,
    };
    call.input.iter().rev().map_while(of).collect()
}

async fn decide(
    app: &App,
    caller: &Caller,
    call: &ModelCall,
    answers: Vec<decisions::Answer>,
) -> Result<Started, Refusal> {
    let hub = match (&call.conversation, &call.previous) {
        (Some(id), _) => conversation(app, caller, id).await?,
        (None, Some(previous)) => {
            response(app, caller, previous).await.map_err(|refusal| unknown(refusal, previous))?.hub
        }
        (None, None) => {
            let message = "an `mcp_approval_response` needs `previous_response_id`: the response that asked";
            let failure = RequestFailure::new(400, "missing_required_parameter", message);
            return Err(failure.param("previous_response_id").into());
        }
    };
    let turn = decide_all(app, caller, &hub.key, answers).await?.turn;
    Ok(Started { hub, turn })
}

pub async fn retrieve(State(app): State<App>, Path(id): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |asking| {
        let started = response(&app, &asking.caller, &id).await?;
        let names = ["stream", "starting_after", "include", "include[]", "include_obfuscation"];
        let params = Params::parse(asking.query.as_deref(), &names)?;
        if params.flag("stream")? != Some(true) {
            return object(&app, &started).await;
        }
        let after: Option<u64> = params.parsed("starting_after")?;
        if let Some(after) = after {
            refuse_ahead(&app, &started, after).await?;
        }
        let seen = Seen { frames: after.map(|number| number.saturating_add(1)), ..Seen::default() };
        Ok(stream(&app, &asking.caller, &started, DIALECT, seen).await?)
    })
    .await
}

/// A number that no event has yet: the reader would wait for what it says it has, and then hear no end.
async fn refuse_ahead(app: &App, started: &Started, after: u64) -> Result<(), Refusal> {
    let mut count = 0;
    project(app, started, DIALECT, |_, frames| count += frames.len() as u64).await?;
    if after < count {
        return Ok(());
    }
    let message = match count.checked_sub(1) {
        Some(last) => format!("`starting_after` is {after}, but the last event of this response is {last}"),
        None => format!("`starting_after` is {after}, but this response has no events yet"),
    };
    Err(RequestFailure::new(400, "invalid_value", message).param("starting_after").into())
}

pub async fn cancel(State(app): State<App>, Path(id): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Write, request, async |asking| {
        let started = response(&app, &asking.caller, &id).await?;
        let key = &started.hub.key;
        let cancelled = app.runner().cancel(key, &started.turn, CancelMode::Immediate, None).await;
        match cancelled {
            // A response that has ended is answered as it is.
            Ok(_) | Err(CommandError::TurnEnded { .. }) => {}
            Err(error) => return Err(ApiError::from(&error).into()),
        }
        finished(&app, &asking.caller, &started).await?;
        object(&app, &started).await
    })
    .await
}

/// Deletes the session of a response; it is refused while others rest on it.
pub async fn delete(State(app): State<App>, Path(id): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Write, request, async |asking| {
        let started = response(&app, &asking.caller, &id).await?;
        let now = state(&app, &started).await?;
        if now.turns.len() as u64 + now.sealed_turns > 1 {
            let session = started.hub.session();
            let message = format!(
                "this response stands in a conversation with others, which rest on it; delete the whole \
                 conversation with `DELETE /v1/sessions/{session}`"
            );
            return Err(RequestFailure::new(409, "conflict", message).param("id").into());
        }
        crate::route::remove(&app, &asking.caller, started.hub.session().as_str()).await?;
        Ok(json(format!("{{\"id\":\"{id}\",\"object\":\"response\",\"deleted\":true}}")))
    })
    .await
}

pub async fn input_items(State(app): State<App>, Path(id): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |asking| {
        let started = response(&app, &asking.caller, &id).await?;
        let params =
            Params::parse(asking.query.as_deref(), &["limit", "order", "after", "include", "include[]"])?;
        let page = page(&params)?;
        let hub = &started.hub;
        let turn =
            app.sessions().turn_at(&hub.key, hub.head(), &started.turn).await?.ok_or_else(|| absent(&id))?;
        Ok(json(responses::input_items(&turn, &page)?))
    })
    .await
}

pub(super) fn page(params: &Params) -> Result<ItemPageQuery, Refusal> {
    let order = match params.get("order") {
        None | Some("desc") => Order::NewestFirst,
        Some("asc") => Order::OldestFirst,
        Some(_) => {
            let failure = RequestFailure::new(400, "invalid_value", "`order` must be `asc` or `desc`");
            return Err(failure.param("order").into());
        }
    };
    let limit = params.limit("limit", ItemPageQuery::DEFAULT, ItemPageQuery::MOST)?;
    Ok(ItemPageQuery { limit, order, after: params.get("after").map(str::to_owned) })
}

/// What OpenAI has and this server has not, said by its name: a client takes 405 for a wrong address.
pub async fn not_provided(State(app): State<App>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    enter(&app, DIALECT, Scope::Read, request, async |_| {
        let message = format!("`POST {path}` is not provided by this server");
        Err(RequestFailure::new(501, "not_provided", message).into())
    })
    .await
}

/// The response as it stands.
async fn object(app: &App, started: &Started) -> Result<Response, Refusal> {
    match told(app, started, DIALECT).await? {
        WholeAnswer::Whole(body) | WholeAnswer::Open(body) => Ok(json(body)),
        WholeAnswer::Failed(failure) => Err(failure.into()),
        WholeAnswer::None => Err(absent(&responses::response_id(&started.turn))),
    }
}

pub(super) async fn response(app: &App, caller: &Caller, id: &str) -> Result<Started, Refusal> {
    let turn: TurnId = responses::turn_of(id).ok_or_else(|| absent(id))?;
    match find(app, caller, &turn).await {
        Ok(started) => Ok(started),
        Err(problem) if problem.status() == 404 => Err(absent(id)),
        Err(problem) => Err(problem.into()),
    }
}

fn absent(id: &str) -> Refusal {
    let id: String = id.chars().take(80).filter(|c| !c.is_control()).collect();
    RequestFailure::new(404, "not_found", format!("Response with id '{id}' not found.")).param("id").into()
}

fn unknown(refusal: Refusal, id: &str) -> Refusal {
    match refusal {
        Refusal::Failure(failure) if failure.status == 404 => {
            let message = format!("Previous response with id '{id}' not found.");
            let failure = RequestFailure::new(400, "previous_response_not_found", message);
            failure.param("previous_response_id").into()
        }
        other => other,
    }
}

impl From<CommandError> for Refusal {
    fn from(error: CommandError) -> Self {
        let problem = Problem::from(&error);
        problem.into()
    }
}
