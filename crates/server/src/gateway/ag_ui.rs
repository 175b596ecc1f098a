//! AG-UI: a run is started, or goes on with the answers to its interrupts and the results of the client's tools.

use axum::extract::{Request, State};
use axum::response::Response;
use riverrun_dialect::ag_ui::request::{RunAgentInput, decode};
use riverrun_dialect::request::{InputItem, ListedMessage};
use riverrun_dialect::{Dialect, ag_ui};
use riverrun_event::{RawJson, TurnId};
use riverrun_log::SessionKey;
use riverrun_runner::{Busy, Settings, Submit};
use serde_json::{Map, Value};

use super::chat_agent::{chosen, session_of};
use super::conversation::{self, state_before};
use super::decisions::{Answer, decide_all, decision};
use super::turn::{Seen, Started, start_with, stream, stream_from};
use super::{Asking, Refusal, enter, model_call};
use crate::app::App;
use crate::derived_ids::derived;
use crate::edge::{Scope, not_found};
use crate::route::NewSessionBody;
use riverrun_session::CatchUp;

const DIALECT: Dialect = Dialect::AgUi;

pub async fn run(State(app): State<App>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Write, request, async |asking| serve(&app, asking).await).await
}

async fn serve(app: &App, asking: Asking) -> Result<Response, Refusal> {
    let input = decode(&asking.body)?;
    let caller = &asking.caller;
    let key = SessionKey::new(caller.tenant().clone(), session_of(&input.thread_id));
    caller.require_session(&key.session)?;
    let turn = TurnId::new(&input.run_id)
        .unwrap_or_else(|_| derived(caller, &[DIALECT.name(), &input.thread_id, &input.run_id]).1);
    let state = state_before(app, &key, Some(&turn)).await?;
    let known = ag_ui::known(&state);
    let decided = answers(&state, &input);
    let resumed = match decided.is_empty() {
        false => Some(decide_all(app, caller, &key, decided).await?),
        true => None,
    };
    let is_going_on = !input.resume.is_empty() || !input.asks_anew();
    if let Some(resumed) = resumed.filter(|_| is_going_on) {
        let hub = app.hubs().get(&key).await?.ok_or_else(not_found)?;
        let place = resumed.place(&hub);
        return Ok(stream_from(app, caller, &Started { hub, turn: resumed.turn }, DIALECT, place).await?);
    }
    // The results came before: whoever sends them again gets the run as it stands.
    if let (false, Some(turn)) = (input.asks_anew(), answered(&input, &known)) {
        let hub = app.hubs().get(&key).await?.ok_or_else(not_found)?;
        let seen = Seen { catch_up: CatchUp::Snapshot, ..Seen::default() };
        return Ok(stream(app, caller, &Started { hub, turn }, DIALECT, seen).await?);
    }
    let mut submit = submit(app, &input, turn.clone());
    // Who asks anew while the application owes a result has moved on.
    if conversation::client_run(&state).next().is_some() {
        submit.busy = Busy::Interrupt;
    }
    let earlier = input.earlier();
    let place = conversation::place(&state, &earlier, |message| turn_of(&known, message), false);
    conversation::put(&mut submit, place, &earlier, &turn);
    let new =
        NewSessionBody { session_id: Some(key.session), metadata: metadata(&input), ..Default::default() };
    let (started, _) = start_with(app, caller, new, submit).await?;
    Ok(stream(app, caller, &started, DIALECT, Seen::default()).await?)
}

/// Answers to interrupts, and results of calls that waited for the client.
fn answers(state: &riverrun_fold::State, input: &RunAgentInput) -> Vec<Answer> {
    let resumed = input.resume.iter().map(|resume| Answer {
        action: resume.interrupt_id.clone(),
        decision: decision(&resume.decision(), resume.payload.as_ref()),
        message: None,
    });
    let mut answers: Vec<Answer> = resumed.collect();
    for answer in conversation::answers(state, &input.outputs()) {
        if answers.iter().all(|known| known.action != answer.action) {
            answers.push(answer);
        }
    }
    answers
}

/// The turn whose call the last message answers.
fn answered(input: &RunAgentInput, known: &[(String, TurnId)]) -> Option<TurnId> {
    let call = input.answered_call()?;
    known.iter().rfind(|(id, _)| id == call).map(|(_, turn)| turn.clone())
}

/// By its id; a result by its call, because the client named it.
fn turn_of(known: &[(String, TurnId)], message: &ListedMessage) -> Option<TurnId> {
    let call = message.items.first().and_then(|item| match item {
        InputItem::ToolResult { call_id, .. } => Some(call_id),
        _ => None,
    });
    let is_it = |id: &String| *id == message.id || Some(id) == call;
    known.iter().rfind(|(id, _)| is_it(id)).map(|(_, turn)| turn.clone())
}

/// The state that the application brings is what a new session shares; an empty one says nothing.
fn metadata(input: &RunAgentInput) -> Option<Map<String, Value>> {
    let state: Value = input.state.as_ref()?.to().ok()?;
    let is_empty = state.is_null() || state.as_object().is_some_and(Map::is_empty);
    (!is_empty).then(|| Map::from_iter([("state".to_owned(), state)]))
}

fn submit(app: &App, input: &RunAgentInput, turn: TurnId) -> Submit {
    let props: Map<String, Value> =
        input.forwarded_props.as_ref().and_then(|raw| raw.to().ok()).unwrap_or_default();
    let props: Vec<(String, RawJson)> =
        props.iter().filter_map(|(name, value)| Some((name.clone(), RawJson::of(value).ok()?))).collect();
    let member = |name: &str| props.iter().find(|(known, _)| known == name).map(|(_, raw)| raw);
    let tools = &input.tools;
    Submit {
        turn_id: Some(turn),
        agent: chosen(app, member),
        input: input.asks_anew().then(|| input.turn_input()),
        settings: Some(Settings {
            instructions: input.instructions(),
            tools: tools.iter().map(model_call::tool).collect(),
            client_tools: (!tools.is_empty()).then(|| "wait".to_owned()),
            ..Settings::default()
        }),
        request: conversation::asked(DIALECT.name(), input.input_id()),
        source: Some(DIALECT.name().to_owned()),
        ..Submit::default()
    }
}
