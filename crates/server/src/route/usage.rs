//! What tenants use and may use, and what retention deletes next.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use riverrun_event::{ErrorCode, SessionId, TenantId, Timestamp};
use riverrun_log::{Expired, ExpiredQuery, Usage};
use serde::Serialize;

use super::json;
use crate::app::App;
use crate::edge::{Caller, FromParams, Params, Problem, Scope, StrictQuery};
use riverrun_session::{ANNOUNCED, Retention};

/// The largest part of a plan that is told.
const MOST: usize = 1_000;

/// Whose figures are asked for.
enum Whose {
    Own,
    One(TenantId),
    All,
}

pub struct TenantQuery(Whose);

impl FromParams for TenantQuery {
    const NAMES: &'static [&'static str] = &["tenant"];
    fn from_params(params: &Params) -> Result<Self, Problem> {
        if params.get("tenant") == Some("*") {
            return Ok(Self(Whose::All));
        }
        Ok(Self(params.parsed("tenant")?.map_or(Whose::Own, Whose::One)))
    }
}

impl TenantQuery {
    /// The tenant whose figures the caller gets, None for all. Those of others are for admins of the default tenant.
    fn allowed(self, caller: &Caller) -> Result<Option<TenantId>, Problem> {
        caller.require(Scope::Read)?;
        caller.require_all_sessions()?;
        let wanted = match self.0 {
            Whose::Own => return Ok(Some(caller.tenant().clone())),
            Whose::One(tenant) if tenant == *caller.tenant() => return Ok(Some(tenant)),
            Whose::One(tenant) => Some(tenant),
            Whose::All => None,
        };
        caller.require(Scope::Admin)?;
        if caller.tenant().as_str() != crate::edge::DEFAULT_TENANT {
            let detail = "only an admin key of the default tenant sees other tenants";
            return Err(Problem::new(ErrorCode::Forbidden, detail).field("tenant"));
        }
        Ok(wanted)
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TenantUsage {
    tenant: TenantId,
    sessions: Figure,
    stored_bytes: Figure,
    /// Parts of `storedBytes`.
    log_bytes: u64,
    blob_bytes: u64,
    running_turns: Figure,
    streams: Figure,
    events_per_second: Figure,
    /// Over the last ten seconds.
    new_sessions_per_second: Figure,
    upload_bytes_per_second: Figure,
}

#[derive(Debug, Serialize)]
struct Figure {
    used: u64,
    /// Absent without a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
}

#[derive(Debug, Serialize)]
struct AllUsage {
    tenants: Vec<TenantUsage>,
}

pub async fn usage(
    State(app): State<App>,
    caller: Caller,
    StrictQuery(query): StrictQuery<TenantQuery>,
) -> Result<Response, Problem> {
    let tenant = query.allowed(&caller)?;
    let mut found = app.log().usage(tenant.as_ref()).await?;
    match tenant {
        Some(tenant) => {
            let stored = found.pop().map_or_else(Usage::default, |(_, stored)| stored);
            Ok(json(StatusCode::OK, &figures(&app, tenant, stored)))
        }
        None => {
            // Also those that have a key and stored nothing yet.
            let mut all: BTreeMap<TenantId, Usage> = found.into_iter().collect();
            for known in app.edge().keys().tenants() {
                all.entry(known.tenant).or_default();
            }
            let tenants = all.into_iter().map(|(tenant, stored)| figures(&app, tenant, stored)).collect();
            Ok(json(StatusCode::OK, &AllUsage { tenants }))
        }
    }
}

fn figures(app: &App, tenant: TenantId, stored: Usage) -> TenantUsage {
    let quota = app.edge().limits().quota(&tenant);
    let now = app.edge().tenant_use(&tenant);
    let figure = |used, limit| Figure { used, limit };
    let whole = |rate: Option<f64>| rate.map(|rate| rate as u64);
    TenantUsage {
        sessions: figure(stored.sessions, quota.storage.sessions),
        stored_bytes: figure(stored.stored_bytes(), quota.storage.stored_bytes),
        log_bytes: stored.log_bytes,
        blob_bytes: stored.blob_bytes,
        running_turns: figure(app.runner().turns_at_work(&tenant), quota.running_turns),
        streams: figure(now.streams, quota.streams),
        events_per_second: figure(now.events, whole(quota.events_per_second)),
        new_sessions_per_second: figure(now.new_sessions, whole(quota.new_sessions_per_second)),
        upload_bytes_per_second: figure(now.upload_bytes, whole(quota.upload_bytes_per_second)),
        tenant,
    }
}

/// What retention deletes within a day.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Plan {
    /// How long finished sessions are kept. Absent: for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    retention_seconds: Option<u64>,
    /// The time by which events are old; behind the clock after the clock was set forward.
    time: String,
    clock_ahead_seconds: u64,
    sessions: Vec<Planned>,
    events: u64,
    /// There are more sessions than are listed.
    more: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Planned {
    tenant: TenantId,
    session_id: SessionId,
    events: u64,
    last_event_at: String,
    deleted_at: String,
}

pub async fn retention(
    State(app): State<App>,
    caller: Caller,
    StrictQuery(query): StrictQuery<TenantQuery>,
) -> Result<Response, Problem> {
    let tenant = query.allowed(&caller)?;
    let wall = u64::try_from(app.now().millis()).unwrap_or(0);
    let Some(retention) = app.sessions().retention() else {
        let (time, sessions) = (timestamp(wall), Vec::new());
        let plan =
            Plan { retention_seconds: None, time, clock_ahead_seconds: 0, sessions, events: 0, more: false };
        return Ok(json(StatusCode::OK, &plan));
    };
    let before = retention.cutoff(wall).plus(ANNOUNCED);
    let mut found = app.log().expired(ExpiredQuery { tenant, before, limit: MOST + 1 }).await?;
    let more = found.len() > MOST;
    found.truncate(MOST);
    let (now, ahead) = retention.now(wall);
    let plan = Plan {
        retention_seconds: Some(retention.age().as_secs()),
        time: timestamp(now),
        clock_ahead_seconds: ahead / 1000,
        events: found.iter().map(|session| session.events).sum(),
        sessions: found.into_iter().map(|session| planned(session, retention)).collect(),
        more,
    };
    Ok(json(StatusCode::OK, &plan))
}

fn planned(expired: Expired, retention: &Retention) -> Planned {
    let last = expired.updated_at.millis();
    Planned {
        tenant: expired.key.tenant,
        session_id: expired.key.session,
        events: expired.events,
        last_event_at: timestamp(last),
        deleted_at: timestamp(last.saturating_add(retention.age_millis())),
    }
}

fn timestamp(millis: u64) -> String {
    Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX)).to_string()
}
