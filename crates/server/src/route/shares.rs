//! Links by which anybody who has them may read a session up to a moment. They expire and can be revoked.

use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CACHE_CONTROL;
use http::{HeaderMap, StatusCode};
use riverrun_dialect::blocks;
use riverrun_event::{ErrorCode, ShareId, Timestamp};
use riverrun_log::ShareRecord;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json as value};

use super::json;
use super::sessions::event_time;
use crate::app::App;
use crate::deliver::languages;
use crate::edge::{
    Caller, FromParams, OptionalJson, Params, PathId, PathIds, Peer, Problem, Scope, StrictQuery, not_found,
};
use riverrun_session::Hub;

/// How long a share lives unless it is asked for less or more.
const LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const LONGEST_LIFETIME: u64 = 365 * 24 * 60 * 60;
/// Shares of one session that are live at once.
const MOST: usize = 100;
const LONGEST_TITLE: usize = 200;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct NewShare {
    pub title: Option<String>,
    /// How long the link works, in seconds.
    pub expires_in: Option<u64>,
}

/// A share in answers.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShareView {
    pub share_id: ShareId,
    pub url: String,
    pub title: String,
    /// The last event that its readers see.
    pub through: u64,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
    /// `live`, `expired` or `revoked`.
    pub status: &'static str,
}

impl ShareView {
    /// `base_url` is the server's address as the caller knows it.
    pub(crate) fn new(app: &App, base_url: &str, share: ShareRecord) -> Self {
        let status = match share.revoked_at {
            Some(_) => "revoked",
            None if share.is_live(now(app)) => "live",
            None => "expired",
        };
        Self {
            url: format!("{base_url}/share/{}", share.id),
            share_id: share.id,
            title: share.title,
            through: share.through.get(),
            created_at: event_time(share.created_at),
            expires_at: event_time(share.expires_at),
            revoked_at: share.revoked_at.map(event_time),
            status,
        }
    }
}

/// `POST /v1/sessions/{session}/shares`: another link each time.
pub async fn post(
    State(app): State<App>,
    caller: Caller,
    PathId(session): PathId,
    StrictQuery(()): StrictQuery<()>,
    headers: HeaderMap,
    OptionalJson(new): OptionalJson<NewShare>,
) -> Result<Response, Problem> {
    caller.require(Scope::Write)?;
    let hub = app.hub(&caller, &session).await?;
    let share = make(&app, &hub, &new).await?;
    Ok(json(StatusCode::CREATED, &ShareView::new(&app, &app.edge().base_url(&headers), share)))
}

pub async fn list(
    State(app): State<App>,
    caller: Caller,
    PathId(session): PathId,
    StrictQuery(()): StrictQuery<()>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    // Who knows a link may read by it, so who lists them may share.
    caller.require(Scope::Write)?;
    let hub = app.hub(&caller, &session).await?;
    Ok(json(StatusCode::OK, &shares(&app, &hub, &app.edge().base_url(&headers)).await?))
}

pub async fn get(
    State(app): State<App>,
    caller: Caller,
    PathIds(session, share): PathIds,
    StrictQuery(()): StrictQuery<()>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    caller.require(Scope::Write)?;
    let hub = app.hub(&caller, &session).await?;
    let share = of_session(&app, &hub, &share).await?;
    Ok(json(StatusCode::OK, &ShareView::new(&app, &app.edge().base_url(&headers), share)))
}

/// Revokes it. Once more changes nothing.
pub async fn remove(
    State(app): State<App>,
    caller: Caller,
    PathIds(session, share): PathIds,
    StrictQuery(()): StrictQuery<()>,
) -> Result<Response, Problem> {
    caller.require(Scope::Write)?;
    let hub = app.hub(&caller, &session).await?;
    revoke(&app, &hub, &share).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(crate) struct ShareQuery {
    title: Option<String>,
}

impl FromParams for ShareQuery {
    const NAMES: &'static [&'static str] = &["title"];
    fn from_params(params: &Params) -> Result<Self, Problem> {
        Ok(Self { title: params.get("title").map(str::to_owned) })
    }
}

/// `POST /v2/sessions/{session}/share`: the session's newest link, which shows everything up to now; a new one if there
/// is none.
pub async fn share(
    State(app): State<App>,
    caller: Caller,
    PathId(session): PathId,
    StrictQuery(query): StrictQuery<ShareQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    caller.require(Scope::Write)?;
    let hub = app.hub(&caller, &session).await?;
    let new = NewShare { title: query.title, expires_in: None };
    let known = app.log().shares(&hub.key).await?;
    let known = known.into_iter().rev().find(|share| share.is_live(now(&app)));
    let is_existing = known.is_some();
    let share = match known {
        Some(known) => {
            let title = match new.title {
                Some(title) => checked(title)?,
                None => known.title.clone(),
            };
            let expires_at = expires(&app, None)?.max(known.expires_at);
            let share = ShareRecord { title, through: hub.head(), expires_at, ..known };
            app.log().put_share(share.clone()).await?;
            share
        }
        None => make(&app, &hub, &new).await?,
    };
    let view = ShareView::new(&app, &app.edge().base_url(&headers), share);
    let body = value!({
        "share_id": view.share_id, "share_url": view.url, "title": view.title, "expires_at": view.expires_at,
        "is_existing": is_existing,
    });
    Ok(json(StatusCode::OK, &body))
}

/// `GET /share/{share}`: what was said up to the moment of sharing. Nobody is asked for a key.
pub async fn read(
    State(app): State<App>,
    PathId(id): PathId,
    StrictQuery(query): StrictQuery<ReadQuery>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let peer = peer.map(|peer| peer.0);
    let Some(share) = live(&app, &id).await? else {
        // Guesses count like wrong keys.
        return Err(app.edge().missed(peer.map(|peer| peer.0.ip())).unwrap_or_else(not_found));
    };
    app.edge().take_share_read(&share.id, peer.map(|peer| peer.0.ip()))?;
    let state = app.sessions().long_state_at(&share.key, share.through).await?;
    let mut messages = blocks::messages(&state, languages(&query.0, &headers)?);
    messages.retain(|message| message["content"][0]["type"] != "thinking");
    messages.iter_mut().for_each(hide);
    let body = value!({
        "share_id": share.id, "title": share.title, "expires_at": event_time(share.expires_at),
        "message_count": messages.len(), "messages": messages, "has_more": state.sealed_turns > 0,
    });
    let mut response = json(StatusCode::OK, &body);
    response.headers_mut().insert(CACHE_CONTROL, http::HeaderValue::from_static("private, no-store"));
    Ok(response)
}

pub(crate) struct ReadQuery(Params);

impl FromParams for ReadQuery {
    const NAMES: &'static [&'static str] = &["language"];
    fn from_params(params: &Params) -> Result<Self, Problem> {
        Ok(Self(params.clone()))
    }
}

/// Takes away what names things that a reader without a key cannot fetch.
fn hide(message: &mut Value) {
    if let Some(members) = message.as_object_mut() {
        members.remove("uuid");
        members.remove("content_ref");
    }
}

/// The share with this id, if its link may be followed and its session is there.
pub(crate) async fn live(app: &App, id: &str) -> Result<Option<ShareRecord>, Problem> {
    let Ok(id) = ShareId::new(id) else { return Ok(None) };
    let share = app.log().share(&id).await?.filter(|share| share.is_live(now(app)));
    let Some(share) = share else { return Ok(None) };
    let head = app.log().head(&share.key).await?;
    Ok(head.filter(|head| share.through <= head.last).map(|_| share))
}

pub(crate) async fn shares(app: &App, hub: &Hub, base_url: &str) -> Result<Value, Problem> {
    let shares = app.log().shares(&hub.key).await?.into_iter();
    let shares: Vec<ShareView> = shares.map(|share| ShareView::new(app, base_url, share)).collect();
    Ok(value!({ "shares": shares }))
}

pub(crate) async fn revoke(app: &App, hub: &Hub, id: &str) -> Result<ShareRecord, Problem> {
    let share = of_session(app, hub, id).await?;
    let share = ShareRecord { revoked_at: Some(share.revoked_at.unwrap_or(now(app))), ..share };
    app.log().put_share(share.clone()).await?;
    Ok(share)
}

pub(crate) async fn of_session(app: &App, hub: &Hub, id: &str) -> Result<ShareRecord, Problem> {
    let id = ShareId::new(id).map_err(|_| not_found())?;
    let found = app.log().share(&id).await?.filter(|share| share.key == hub.key);
    found.ok_or_else(not_found)
}

pub(crate) async fn make(app: &App, hub: &Hub, new: &NewShare) -> Result<ShareRecord, Problem> {
    let live = app.log().shares(&hub.key).await?.iter().filter(|share| share.is_live(now(app))).count();
    if live >= MOST {
        let detail = format!("the session has {live} live shares; at most {MOST} are allowed: revoke one");
        return Err(Problem::new(ErrorCode::QuotaExceeded, detail).quota("shares").limit(MOST as u64));
    }
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| Problem::new(ErrorCode::Internal, "no randomness"))?;
    let record = app.log().session(&hub.key).await?.ok_or_else(not_found)?;
    let title = match &new.title {
        Some(title) => checked(title.clone())?,
        None => record.title.unwrap_or_default().chars().take(LONGEST_TITLE).collect(),
    };
    let share = ShareRecord {
        id: ShareId::from_bytes(bytes),
        key: hub.key.clone(),
        title,
        through: hub.head(),
        created_at: now(app),
        expires_at: expires(app, new.expires_in)?,
        revoked_at: None,
    };
    app.log().put_share(share.clone()).await?;
    Ok(share)
}

fn checked(title: String) -> Result<String, Problem> {
    if title.chars().count() > LONGEST_TITLE {
        let detail = format!("`title` may have {LONGEST_TITLE} characters");
        return Err(Problem::new(ErrorCode::InvalidField, detail).field("title").limit(LONGEST_TITLE as u64));
    }
    Ok(title)
}

fn expires(app: &App, seconds: Option<u64>) -> Result<riverrun_log::UnixMillis, Problem> {
    let seconds = seconds.unwrap_or(LIFETIME.as_secs());
    if seconds == 0 || seconds > LONGEST_LIFETIME {
        let detail = format!("`expiresIn` is {seconds}; a link may work for 1 to {LONGEST_LIFETIME} seconds");
        return Err(Problem::new(ErrorCode::InvalidField, detail).field("expiresIn").limit(LONGEST_LIFETIME));
    }
    Ok(riverrun_log::UnixMillis::from_millis(now(app).millis().saturating_add(seconds * 1000)))
}

fn now(app: &App) -> riverrun_log::UnixMillis {
    riverrun_log::UnixMillis::from_millis(u64::try_from(app.now().millis()).unwrap_or(0))
}
