//! OpenAI's Conversations: a session under another name. Its items are what its turns were asked and answered.
//!
//! Items that somebody adds are a turn which brings them along and says nothing: the next model call reads them.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::response::Response;
use riverrun_dialect::request::{InputItem, RequestFailure};
use riverrun_dialect::responses::conversation::{self, conversation_id, session_of};
use riverrun_dialect::responses::request::{ConversationInput, decode_given};
use riverrun_dialect::responses::{ListedItem, Order, list};
use riverrun_dialect::{Dialect, ReaderOptions, WholeAnswer};
use riverrun_event::{EventScope, EventType, ThreadId, TurnCompleted, TurnId, TurnStarted, TurnSubmitted};
use riverrun_fold::TurnState;
use riverrun_log::SessionRecord;
use serde_json::{Map, Value};

use crate::app::App;
use crate::edge::{Caller, Params, Problem, Scope as Right, not_found};
use crate::gateway::responses::page;
use crate::gateway::{Asking, Refusal, enter, json};
use crate::route::{
    NewSessionBody, change_metadata, check_addresses, create, metadata_of, random_id, remove,
};
use riverrun_session::{Batch, Hub, draft_of};

const DIALECT: Dialect = Dialect::Responses;
/// What the agent and its clients share is theirs, and no word about the conversation.
const SHARED: &str = "state";
/// How many turns are told at once.
const TURNS: usize = 50;

pub async fn post(State(app): State<App>, request: Request) -> Response {
    enter(&app, DIALECT, Right::Write, request, async |asking| {
        let given = decode_given(&asking.body)?;
        check_addresses(app.services(), None, &riverrun_dialect::request::items(&given.items))?;
        let metadata = members(&given);
        let new = NewSessionBody { metadata, ..NewSessionBody::default() };
        let (record, _) = create(&app, &asking.caller, new).await?;
        if !given.items.is_empty() {
            let hub = app.hub(&asking.caller, record.key.session.as_str()).await?;
            keep(&app, &hub, &given.items).await?;
        }
        Ok(json(object(&record)))
    })
    .await
}

pub async fn get(State(app): State<App>, Path(id): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Right::Read, request, async |asking| {
        let hub = conversation(&app, &asking.caller, &id).await?;
        Ok(json(object(&app.log().session(&hub.key).await?.ok_or_else(not_found)?)))
    })
    .await
}

/// Other metadata takes the place of what there was.
pub async fn update(State(app): State<App>, Path(id): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Right::Write, request, async |asking| {
        let given = decode_given(&asking.body)?;
        let hub = conversation(&app, &asking.caller, &id).await?;
        let record = change_metadata(&app, &hub, |known| {
            known.retain(|name, _| name == SHARED);
            known.extend(members(&given).unwrap_or_default());
        });
        Ok(json(object(&record.await?)))
    })
    .await
}

pub async fn delete(State(app): State<App>, Path(id): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Right::Write, request, async |asking| {
        let hub = conversation(&app, &asking.caller, &id).await?;
        remove(&app, &asking.caller, hub.session().as_str()).await?;
        let id = conversation_id(hub.session());
        Ok(json(format!("{{\"id\":\"{id}\",\"object\":\"conversation.deleted\",\"deleted\":true}}")))
    })
    .await
}

pub async fn items(State(app): State<App>, Path(id): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Right::Read, request, async |asking| {
        let hub = conversation(&app, &asking.caller, &id).await?;
        let names = ["limit", "order", "after", "include", "include[]"];
        let page = page(&Params::parse(asking.query.as_deref(), &names)?)?;
        let (mut shown, mut behind) = (Vec::new(), page.after.is_none());
        walk(&app, &hub, page.order, |item| {
            match behind {
                true => shown.push(item),
                false => behind = page.after.as_ref() == Some(&item.id),
            }
            shown.len() > page.limit
        })
        .await?;
        if !behind {
            let message = "`after` names no item of this conversation";
            return Err(RequestFailure::new(400, "invalid_value", message).param("after").into());
        }
        let has_more = shown.len() > page.limit;
        shown.truncate(page.limit);
        Ok(json(list(&shown, has_more)))
    })
    .await
}

pub async fn add_items(State(app): State<App>, Path(id): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Right::Write, request, async |asking| {
        let given = decode_given(&asking.body)?;
        if given.items.is_empty() {
            return Err(RequestFailure::new(400, "empty_array", "`items` must have at least one")
                .param("items")
                .into());
        }
        let hub = conversation(&app, &asking.caller, &id).await?;
        let turn = keep(&app, &hub, &given.items).await?;
        let turn = app.sessions().turn_at(&hub.key, hub.head(), &turn).await?.ok_or_else(not_found)?;
        Ok(json(list(&conversation::items(&turn, "{}"), false)))
    })
    .await
}

pub async fn item(
    State(app): State<App>,
    Path((id, wanted)): Path<(String, String)>,
    request: Request,
) -> Response {
    enter(&app, DIALECT, Right::Read, request, async |asking| {
        let hub = conversation(&app, &asking.caller, &id).await?;
        let mut found = None;
        walk(&app, &hub, Order::NewestFirst, |item| {
            if item.id == wanted {
                found = Some(item.json);
            }
            found.is_some()
        })
        .await?;
        found.map(json).ok_or_else(|| {
            let shown: String = wanted.chars().take(80).filter(|c| !c.is_control()).collect();
            RequestFailure::new(404, "not_found", format!("Item with id '{shown}' not found."))
                .param("item_id")
                .into()
        })
    })
    .await
}

/// What was said stays in the log.
pub async fn delete_item(State(app): State<App>, request: Request) -> Response {
    enter(&app, DIALECT, Right::Write, request, async |_: Asking| {
        let message = "items cannot be deleted: they stay in the log of the conversation; delete all of it with \
                       `DELETE /v1/conversations/{id}`";
        Err(RequestFailure::new(501, "not_provided", message).into())
    })
    .await
}

/// The session of a conversation.
pub(super) async fn conversation(app: &App, caller: &Caller, id: &str) -> Result<Arc<Hub>, Refusal> {
    let absent = || -> Refusal {
        let shown: String = id.chars().take(80).filter(|c| !c.is_control()).collect();
        let message = format!("Conversation with id '{shown}' not found.");
        RequestFailure::new(404, "not_found", message).param("conversation").into()
    };
    let session = session_of(id).ok_or_else(absent)?;
    match app.hub(caller, session.as_str()).await {
        Ok(hub) => Ok(hub),
        Err(problem) if problem.status() == 404 => Err(absent()),
        Err(problem) => Err(problem.into()),
    }
}

fn members(given: &ConversationInput) -> Option<Map<String, Value>> {
    given.metadata.as_ref().and_then(|raw| raw.to().ok())
}

fn object(record: &SessionRecord) -> String {
    let mut metadata = metadata_of(record);
    metadata.remove(SHARED);
    let metadata = Value::Object(metadata).to_string();
    conversation::conversation(&record.key.session, record.created_at.millis() / 1000, &metadata)
}

/// Puts items into the log: a turn that was asked nothing and has ended.
async fn keep(app: &App, hub: &Hub, items: &[InputItem]) -> Result<TurnId, Problem> {
    let history = riverrun_dialect::request::items(items);
    check_addresses(app.services(), None, &history)?;
    let turn = TurnId::from_bytes(random_id(app)?);
    let scope = EventScope {
        turn_id: Some(turn.clone()),
        thread_id: Some(ThreadId::new("main").expect("a short word is an id")),
        ..EventScope::default()
    };
    let submitted = TurnSubmitted {
        history: Some(history),
        source: Some(DIALECT.name().to_owned()),
        status: Some("accepted".to_owned()),
        ..TurnSubmitted::default()
    };
    let events = vec![
        draft_of(EventType::TurnSubmitted, &scope, &submitted)?,
        draft_of(EventType::TurnStarted, &scope, &TurnStarted::default())?,
        draft_of(EventType::TurnCompleted, &scope, &TurnCompleted::default())?,
    ];
    app.append(hub, &Batch { events, ..Batch::default() }).await?;
    Ok(turn)
}

/// Hands out the items of all turns that have ended, in order, until `take` has enough.
async fn walk(
    app: &App,
    hub: &Hub,
    order: Order,
    mut take: impl FnMut(ListedItem) -> bool + Send,
) -> Result<(), Problem> {
    let mut records = app.log().turns(&hub.key, None, usize::MAX).await?;
    if order == Order::OldestFirst {
        records.reverse();
    }
    for some in records.chunks(TURNS) {
        let newest = some.iter().map(|record| record.fact.first).max().and_then(|first| first.next());
        let turns = app.sessions().turns_before(hub, newest, some.len()).await?;
        let mut told = told(app, hub, turns).await?;
        if order == Order::NewestFirst {
            told.reverse();
        }
        if told.into_iter().any(&mut take) {
            break;
        }
    }
    Ok(())
}

/// The items of these turns, oldest first.
async fn told(app: &App, hub: &Hub, mut turns: Vec<TurnState>) -> Result<Vec<ListedItem>, Problem> {
    turns.retain(|turn| turn.status.is_terminal());
    turns.sort_by_key(|turn| turn.last_sequence);
    let places: Vec<_> = turns.iter().map(|turn| turn.last_sequence).collect();
    let session = hub.dialect_session();
    let mut told = Vec::new();
    let mut ended = turns.iter();
    app.sessions()
        .long_states_at(&hub.key, &places, |state| {
            let Some(turn) = ended.next() else { return };
            let options = ReaderOptions { turn: Some(turn.first_sequence), ..ReaderOptions::default() };
            if let WholeAnswer::Whole(response) = DIALECT.projector(&session, state.clone(), options).answer()
            {
                told.push((turn.first_sequence, conversation::items(turn, &response)));
            }
        })
        .await?;
    told.sort_by_key(|(first, _)| *first);
    Ok(told.into_iter().flat_map(|(_, items)| items).collect())
}
