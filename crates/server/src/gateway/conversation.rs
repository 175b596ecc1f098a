//! A chat's client keeps the list of its messages itself and sends all of it. The log keeps the conversation too.
//! Here the one finds its place in the other.
//!
//! ```text
//!   client   u1  a1 │ u2            the log ends with a1: the thread goes on
//!   client   u1  a1 │ u2'           the log has u2, a2 behind a1: another thread begins, with u1 and a1 as its history
//!   client   q   a  │ u1            the log knows none of it: it is the history of what comes
//! ```
//!
//! What the client's list leaves out the model does not read; in the log it stays.

use riverrun_dialect::request::{FunctionOutput, ListedMessage};
use riverrun_event::{Item, RawJson, ThreadId, TurnId};
use riverrun_fold::{ActionState, ActionStatus, State, TurnState};
use riverrun_log::SessionKey;
use riverrun_runner::{Decision, Submit};
use serde_json::{Value, json};

use crate::app::App;
use crate::edge::Problem;
use crate::gateway::decisions::Answer;

/// Where what is new belongs.
#[derive(Debug, PartialEq)]
pub struct Place {
    /// None for a new thread.
    thread: Option<ThreadId>,
    /// The first of the earlier messages that the thread does not have.
    new_from: usize,
}

impl Place {
    pub fn is_new_thread(&self) -> bool {
        self.thread.is_none()
    }
}

/// The state of the session; an empty one if there is none. `before` is a turn that must not be in it yet.
pub async fn state_before(app: &App, key: &SessionKey, before: Option<&TurnId>) -> Result<State, Problem> {
    let Some(hub) = app.hubs().get(key).await? else { return Ok(State::new(key.session.clone())) };
    let known = match before {
        Some(turn) => app.log().turn(key, turn).await?,
        None => None,
    };
    let at = known.map_or_else(|| hub.head(), |record| record.fact.first.previous());
    Ok(app.sessions().state_at(key, at).await?)
}

/// Finds the place behind the earlier messages. `turn_of` knows the turn that a message came from; `is_edit` says that
/// what is new takes the place of something.
pub fn place(
    state: &State,
    earlier: &[ListedMessage],
    turn_of: impl Fn(&ListedMessage) -> Option<TurnId>,
    is_edit: bool,
) -> Place {
    let Some(newest) = state.turns.last() else {
        return Place { thread: Some(main()), new_from: 0 };
    };
    let known = |message: &ListedMessage| {
        let id = turn_of(message)?;
        state.turns.iter().find(|turn| turn.turn_id == id)
    };
    let last_known = earlier.iter().enumerate().rev().find_map(|(at, message)| Some((at, known(message)?)));
    match last_known {
        Some((at, turn)) if is_last_of_thread(state, turn) => {
            Place { thread: Some(turn.thread_id.clone()), new_from: at + 1 }
        }
        // Some clients send only what is new.
        None if earlier.is_empty() && !is_edit => {
            Place { thread: Some(newest.thread_id.clone()), new_from: 0 }
        }
        Some(_) | None => Place { thread: None, new_from: 0 },
    }
}

fn main() -> ThreadId {
    ThreadId::new("main").expect("a short word is an id")
}

/// A turn that was taken from the queue before it began was never part of the conversation.
pub fn is_last_of_thread(state: &State, turn: &TurnState) -> bool {
    let is_told = |other: &&TurnState| !other.status.is_terminal() || other.started_at.is_some();
    let of_thread = state.turns.iter().filter(|other| other.thread_id == turn.thread_id);
    of_thread.rev().find(is_told).is_none_or(|last| last.turn_id == turn.turn_id)
}

/// The turn that a client's message began, by the id that the client gave it; the newest if it was edited.
pub fn turn_asked_by<'a>(state: &'a State, message: &str) -> Option<&'a TurnState> {
    let is_it = |turn: &&TurnState| {
        let request: Option<Value> = turn.request.as_ref().and_then(|raw| raw.to().ok());
        request.is_some_and(|request| request["messageId"] == message)
    };
    state.turns.iter().rfind(is_it)
}

/// Puts a submit into its place. A new thread has the name of its first turn.
pub fn put(submit: &mut Submit, place: Place, earlier: &[ListedMessage], turn: &TurnId) {
    submit.thread_id = place.thread.or_else(|| ThreadId::new(turn.as_str()).ok());
    submit.history = earlier[place.new_from..].iter().flat_map(items).collect();
}

/// The items of a message. They share its id, as they did there.
fn items(message: &ListedMessage) -> Vec<Item> {
    message.items.iter().filter_map(|item| item.to_item(message.id.clone())).collect()
}

/// What `turn.submitted` keeps of the request: whose message it was.
pub fn asked(dialect: &str, message: Option<&str>) -> Option<RawJson> {
    RawJson::of(&json!({"dialect": dialect, "messageId": message?})).ok()
}

/// The answers to calls that wait for the client to run them. Outputs of other calls are known already.
pub fn answers(state: &State, outputs: &[FunctionOutput]) -> Vec<Answer> {
    let answer = |action: &ActionState| {
        let call = action.tool_call_id.as_ref()?.as_str();
        let output = outputs.iter().rfind(|output| output.call_id == call)?;
        let (decision, message) = match &output.result {
            Ok(result) => (Decision::Respond(result.clone()), None),
            Err(error) => (Decision::Reject, Some(error.clone())),
        };
        Some(Answer { action: action.action_id.to_string(), decision, message })
    };
    client_run(state).filter_map(answer).collect()
}

/// The calls that wait for the client to run them.
pub fn client_run(state: &State) -> impl Iterator<Item = &ActionState> {
    let is_client_run = |action: &&ActionState| {
        let request: Value = action.request.to().unwrap_or_default();
        action.status == ActionStatus::Pending && request["actionType"] == "client_tool"
    };
    state.actions.iter().filter(is_client_run)
}
