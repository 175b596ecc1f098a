//! Reading by a share link, and the AgentLin form of creating one.

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use http::header::CACHE_CONTROL;
use http::{HeaderMap, StatusCode};
use riverrun_dialect::blocks;
use riverrun_event::ShareId;
use riverrun_log::Share;
use serde_json::{Value, json as value};

use super::json;
use crate::app::App;
use crate::deliver::languages;
use crate::edge::{Caller, FromParams, KeyScope, Params, PathId, Peer, Problem, StrictQuery, not_found};
use riverrun_api::operations::shares::{ShareView, checked_title, create_share, share_expiry};
use riverrun_session::{event_time, log_time};

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
    caller.require(KeyScope::Write)?;
    let hub = app.hub(&caller, &session).await?;
    let now = log_time(app.now());
    let known = app.log().shares(&hub.key).await?;
    let known = known.into_iter().rev().find(|share| share.is_live(now));
    let is_existing = known.is_some();
    let share = match known {
        Some(known) => {
            let title = match query.title {
                Some(title) => checked_title(title)?,
                None => known.title.clone(),
            };
            let expires_at = share_expiry(app.services(), None)?.max(known.expires_at);
            let share = Share { title, through: hub.head(), expires_at, ..known };
            app.log().put_share(share.clone()).await?;
            share
        }
        None => create_share(app.services(), &hub, query.title, None).await?,
    };
    let view = ShareView::new(app.services(), &app.edge().base_url(&headers), share);
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
pub(crate) async fn live(app: &App, id: &str) -> Result<Option<Share>, Problem> {
    let Ok(id) = ShareId::new(id) else { return Ok(None) };
    let share = app.log().share(&id).await?.filter(|share| share.is_live(log_time(app.now())));
    let Some(share) = share else { return Ok(None) };
    let head = app.log().head(&share.key).await?;
    Ok(head.filter(|head| share.through <= head.last).map(|_| share))
}
