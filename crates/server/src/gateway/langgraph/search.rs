//! Threads that fit: searched and counted. Every session of the caller's tenant is a thread.

use std::cmp::Ordering;

use axum::extract::{Request, State};
use axum::response::Response;
use riverrun_dialect::request::RequestFailure;
use riverrun_log::{PageRequest, SessionQuery, SessionRecord};
use serde_json::Value;

use super::DIALECT;
use super::absent::not_provided;
use super::body::{SearchBody, read};
use super::thread::{thread_object, with_values, word};
use crate::app::App;
use crate::edge::{Caller, Scope};
use crate::gateway::{Refusal, enter, json};
use crate::route::metadata_of;

/// As many as the client asks for by itself, and as many as are told at most.
const THREADS: (usize, usize) = (10, 1000);
/// How many entries of the catalogue are read at once.
const PAGE: usize = 1000;

pub async fn search(State(app): State<App>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |asking| {
        let body: SearchBody = read(&asking)?;
        let limit = body.limit.unwrap_or(THREADS.0).min(THREADS.1);
        let mut found = fitting(&app, &asking.caller, &body).await?;
        found.sort_by(order(&body)?);
        let is_selected =
            |name: &str| body.select.as_ref().is_none_or(|all| all.iter().any(|one| one == name));
        let mut threads = Vec::new();
        for record in found.iter().skip(body.offset.unwrap_or(0)).take(limit) {
            // What was said costs a look into the log; the rest is in the catalogue.
            let hub = match is_selected("values") || is_selected("interrupts") {
                true => app.hubs().get(&record.key).await?,
                false => None,
            };
            let mut thread = match hub {
                Some(hub) => with_values(&app, &hub, record).await?,
                None => thread_object(record),
            };
            if let Some(members) = thread.as_object_mut() {
                members.retain(|name, _| is_selected(name));
            }
            threads.push(thread);
        }
        Ok(json(Value::Array(threads).to_string()))
    })
    .await
}

pub async fn count(State(app): State<App>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |asking| {
        let body: SearchBody = read(&asking)?;
        Ok(json(fitting(&app, &asking.caller, &body).await?.len().to_string()))
    })
    .await
}

async fn fitting(app: &App, caller: &Caller, body: &SearchBody) -> Result<Vec<SessionRecord>, Refusal> {
    caller.require_all_sessions()?;
    if body.values.is_some() || body.extract.is_some() {
        let instead = "search by `metadata`, `status` or `ids`, and read the threads that are found";
        return Err(not_provided(if body.values.is_some() { "values" } else { "extract" }, instead));
    }
    if let Some(status) = body.status.as_deref()
        && !["idle", "busy", "interrupted", "error"].contains(&status)
    {
        let message = "`status` may be idle, busy, interrupted or error";
        return Err(RequestFailure::new(422, "invalid_value", message).param("status").into());
    }
    let mut query = SessionQuery::all(caller.tenant().clone());
    query.page = PageRequest { cursor: None, limit: PAGE };
    let mut found = Vec::new();
    loop {
        let page = app.log().sessions(query.clone()).await?;
        found.extend(page.items.into_iter().filter(|record| fits(record, body)));
        match page.next {
            Some(next) => query.page.cursor = Some(next),
            None => return Ok(found),
        }
    }
}

fn fits(record: &SessionRecord, body: &SearchBody) -> bool {
    let has = |ids: &Vec<String>| ids.iter().any(|id| id == record.key.session.as_str());
    body.ids.as_ref().is_none_or(has)
        && body.status.as_ref().is_none_or(|status| word(&record.status) == status)
        && body.metadata.as_ref().is_none_or(|wanted| {
            let known = metadata_of(record);
            wanted.iter().all(|(name, value)| known.get(name) == Some(value))
        })
}

type Order = fn(&SessionRecord, &SessionRecord) -> Ordering;

/// Newest first unless the caller asks otherwise.
fn order(body: &SearchBody) -> Result<impl Fn(&SessionRecord, &SessionRecord) -> Ordering, RequestFailure> {
    let rising: Order = match body.sort_by.as_deref() {
        None | Some("created_at") => |a, b| a.created_at.cmp(&b.created_at),
        Some("updated_at" | "state_updated_at") => |a, b| a.updated_at.cmp(&b.updated_at),
        Some("thread_id") => |a, b| a.key.session.cmp(&b.key.session),
        Some("status") => |a, b| word(&a.status).cmp(word(&b.status)),
        Some(_) => {
            let message = "`sort_by` may be thread_id, status, created_at or updated_at";
            return Err(RequestFailure::new(422, "invalid_value", message).param("sort_by"));
        }
    };
    let is_rising = match body.sort_order.as_deref() {
        None | Some("desc") => false,
        Some("asc") => true,
        Some(_) => {
            let message = "`sort_order` may be asc or desc";
            return Err(RequestFailure::new(422, "invalid_value", message).param("sort_order"));
        }
    };
    Ok(move |a: &SessionRecord, b: &SessionRecord| if is_rising { rising(a, b) } else { rising(b, a) })
}
