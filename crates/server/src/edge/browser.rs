//! The routes of browser credentials: make, list, renew, revoke.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use riverrun_api::{Reach, Scope};
use riverrun_event::{CredentialId, ErrorCode, KeyId, SessionId, TenantId, check_id};
use riverrun_log::Credential;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Edge;
use super::auth::{Caller, PathId, not_found};
use super::body::{OptionalJson, StrictJson};
use super::credentials::{self, BrowserGrant, CredentialState, Grant};
use super::page::normal_origin;
use super::problem::Problem;
use super::query::{FromParams, Params, StrictQuery, invalid};
use super::ticket::share_of_key;

const DEFAULT_LIFETIME: u64 = 60 * 60;
const LONGEST_LIFETIME: u64 = 24 * 60 * 60;
const DEFAULT_MAXIMUM: u64 = 24 * 60 * 60;
const LONGEST_MAXIMUM: u64 = 30 * 24 * 60 * 60;
const MAX_ORIGINS: usize = 16;
const MAX_AGENTS: usize = 64;
const MAX_LABEL: usize = 200;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct CreateCredential {
    #[serde(default, deserialize_with = "present")]
    session: Option<SessionId>,
    #[serde(default, deserialize_with = "present")]
    session_prefix: Option<String>,
    /// `read` unless asked otherwise.
    #[serde(default, deserialize_with = "present")]
    scopes: Option<Vec<Scope>>,
    origins: Vec<String>,
    #[serde(default, deserialize_with = "present")]
    agents: Option<Vec<String>>,
    #[serde(default, deserialize_with = "present")]
    expires_in_seconds: Option<u64>,
    #[serde(default, deserialize_with = "present")]
    max_lifetime_seconds: Option<u64>,
    #[serde(default, deserialize_with = "present")]
    label: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CredentialView {
    credential_id: CredentialId,
    key_id: KeyId,
    tenant: TenantId,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_prefix: Option<String>,
    scopes: Vec<Scope>,
    origins: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    agents: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    label: String,
    /// Milliseconds since 1970, like the other times.
    created_at: u64,
    expires_at: u64,
    /// No renewal goes beyond it.
    not_after: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked_at: Option<u64>,
    /// The text, shown once.
    #[serde(skip_serializing_if = "Option::is_none")]
    credential: Option<String>,
}

impl CredentialView {
    fn new(stored: &Credential, grant: &BrowserGrant) -> Self {
        let (session, session_prefix) = match &grant.reach {
            Reach::Tenant => (None, None),
            Reach::Session(session) => (Some(session.clone()), None),
            Reach::Prefix(prefix) => (None, Some(prefix.clone())),
        };
        Self {
            credential_id: stored.id.clone(),
            key_id: stored.key.clone(),
            tenant: stored.tenant.clone(),
            session,
            session_prefix,
            scopes: grant.scopes.clone(),
            origins: grant.origins.clone(),
            agents: grant.agents.clone(),
            label: grant.label.clone(),
            created_at: stored.created_at.millis(),
            expires_at: stored.expires_at.millis(),
            not_after: grant.not_after,
            revoked_at: stored.revoked_at.map(riverrun_log::UnixMillis::millis),
            credential: None,
        }
    }
}

pub(super) async fn create(
    caller: Caller,
    State(edge): State<Edge>,
    StrictQuery(()): StrictQuery<()>,
    StrictJson(command): StrictJson<CreateCredential>,
) -> Result<Response, Problem> {
    caller.require_key()?;
    let now = edge.clock().now();
    let lifetime =
        seconds("expiresInSeconds", command.expires_in_seconds, DEFAULT_LIFETIME, LONGEST_LIFETIME)?;
    let longest = seconds(
        "maxLifetimeSeconds",
        command.max_lifetime_seconds,
        DEFAULT_MAXIMUM.max(lifetime),
        LONGEST_MAXIMUM,
    )?;
    let expires_at = now.plus(Duration::from_secs(lifetime.min(longest)));
    let grant = BrowserGrant {
        reach: reach(&command)?,
        scopes: scopes(&caller, command.scopes)?,
        origins: origins(&command.origins)?,
        agents: agents(command.agents)?,
        not_after: now.plus(Duration::from_secs(longest)).millis(),
        lifetime_seconds: lifetime,
        label: label(command.label)?,
    };
    check_room(&edge, &caller)?;
    let (id, text) = credentials::draft()?;
    let stored = Credential {
        id,
        key: caller.key_id().clone(),
        tenant: caller.tenant().clone(),
        hash: Sha256::digest(text.as_bytes()).into(),
        grant: serde_json::to_string(&Grant::Browser(grant.clone())).expect("a grant has no fallible parts"),
        created_at: now,
        expires_at,
        revoked_at: None,
    };
    let view = CredentialView { credential: Some(text), ..CredentialView::new(&stored, &grant) };
    edge.keys().put_credential(stored).await?;
    Ok((StatusCode::CREATED, Json(view)).into_response())
}

fn seconds(field: &'static str, given: Option<u64>, default: u64, most: u64) -> Result<u64, Problem> {
    match given {
        None => Ok(default),
        Some(seconds) if (1..=most).contains(&seconds) => Ok(seconds),
        Some(_) => Err(invalid(field, &format!("it must be 1 to {most}")).limit(most)),
    }
}

fn reach(command: &CreateCredential) -> Result<Reach, Problem> {
    match (&command.session, &command.session_prefix) {
        (Some(session), None) => Ok(Reach::Session(session.clone())),
        (None, Some(prefix)) => match check_id(prefix) {
            Ok(()) => Ok(Reach::Prefix(prefix.clone())),
            Err(error) => Err(invalid("sessionPrefix", &error)),
        },
        _ => {
            let detail =
                "give either `session` or `sessionPrefix`: a page never reaches all sessions of a tenant";
            Err(Problem::new(ErrorCode::InvalidField, detail).field("session"))
        }
    }
}

/// Never more than the key has, and never `admin`.
fn scopes(caller: &Caller, given: Option<Vec<Scope>>) -> Result<Vec<Scope>, Problem> {
    let mut scopes = given.unwrap_or_else(|| vec![Scope::Read]);
    scopes.sort_unstable();
    scopes.dedup();
    if scopes.is_empty() || scopes.contains(&Scope::Admin) {
        let detail = "`scopes` takes at least one of read, write, approve; a page is never an admin";
        return Err(Problem::new(ErrorCode::InvalidField, detail).field("scopes"));
    }
    scopes.iter().try_for_each(|scope| caller.require(*scope))?;
    Ok(scopes)
}

fn origins(given: &[String]) -> Result<Vec<String>, Problem> {
    if given.is_empty() || given.len() > MAX_ORIGINS {
        let reason = format!("give 1 to {MAX_ORIGINS} origins, such as `https://app.example.com`");
        return Err(invalid("origins", &reason).limit(MAX_ORIGINS as u64));
    }
    let read = |origin: &String| {
        normal_origin(origin).ok_or_else(|| {
            invalid(
                "origins",
                &"each one is `https://host[:port]` or `http://host[:port]`, without wildcards",
            )
        })
    };
    given.iter().map(read).collect()
}

fn agents(given: Option<Vec<String>>) -> Result<Vec<String>, Problem> {
    let agents = given.unwrap_or_default();
    if agents.len() > MAX_AGENTS
        || agents.iter().any(|name| name.is_empty() || name.chars().count() > MAX_LABEL)
    {
        let reason = format!("at most {MAX_AGENTS} names of 1 to {MAX_LABEL} characters");
        return Err(invalid("agents", &reason).limit(MAX_AGENTS as u64));
    }
    Ok(agents)
}

fn label(given: Option<String>) -> Result<String, Problem> {
    let label = given.unwrap_or_default();
    if label.chars().count() > MAX_LABEL || label.chars().any(char::is_control) {
        let detail = format!("`label` may have {MAX_LABEL} characters and no control characters");
        return Err(Problem::new(ErrorCode::InvalidField, detail).field("label").limit(MAX_LABEL as u64));
    }
    Ok(label)
}

/// 429 if the tenant or the key holds as many live credentials as it may.
fn check_room(edge: &Edge, caller: &Caller) -> Result<(), Problem> {
    let per_tenant = edge.limits().browser_credentials_per_tenant;
    let per_key = share_of_key(per_tenant);
    let count = edge.keys().credentials().count(caller.tenant(), caller.key_id(), edge.clock().now());
    let (held, quota, limit) = match (count.of_key >= per_key, count.of_tenant >= per_tenant) {
        (true, _) => ("this key", "browser_credentials_per_key", per_key),
        (false, true) => ("this tenant", "browser_credentials", per_tenant),
        (false, false) => return Ok(()),
    };
    let detail = format!(
        "{held} has {limit} live browser credentials, which is the limit; revoke some, or make them shorter"
    );
    Err(Problem::new(ErrorCode::RateLimited, detail).quota(quota).limit(limit as u64).retry_after(60))
}

pub(super) struct ListQuery {
    session: Option<SessionId>,
    key: Option<KeyId>,
    limit: usize,
}

impl FromParams for ListQuery {
    const NAMES: &'static [&'static str] = &["session", "keyId", "limit"];
    fn from_params(params: &Params) -> Result<Self, Problem> {
        Ok(Self {
            session: params.parsed("session")?,
            key: params.parsed("keyId")?,
            limit: params.limit("limit", 100, 1000)?,
        })
    }
}

/// Live ones, newest first. An admin sees those of the tenant, another key its own.
pub(super) async fn list(
    caller: Caller,
    State(edge): State<Edge>,
    StrictQuery(query): StrictQuery<ListQuery>,
) -> Result<Response, Problem> {
    caller.require_key()?;
    let now = edge.clock().now();
    let found = edge.keys().credentials().list(caller.tenant(), |state| {
        let reaches = |session| state.browser().is_some_and(|grant| grant.reach.covers(session));
        state.is_live(now)
            && may_manage(&caller, state)
            && query.key.as_ref().is_none_or(|key| state.stored.key == *key)
            && query.session.as_ref().is_none_or(reaches)
    });
    let views: Vec<CredentialView> =
        found.iter().rev().take(query.limit).filter_map(|state| view(state)).collect();
    Ok(Json(serde_json::json!({"credentials": views})).into_response())
}

fn view(state: &CredentialState) -> Option<CredentialView> {
    let grant = state.browser()?;
    Some(CredentialView {
        expires_at: state.expires_at().millis(),
        ..CredentialView::new(&state.stored, grant)
    })
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Renew {
    #[serde(default, deserialize_with = "present")]
    expires_in_seconds: Option<u64>,
}

/// A member that is `null` is there, and wrong.
fn present<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Moves the expiry on, up to the time that was fixed when the credential was made.
pub(super) async fn renew(
    caller: Caller,
    State(edge): State<Edge>,
    StrictQuery(()): StrictQuery<()>,
    PathId(id): PathId,
    OptionalJson(command): OptionalJson<Renew>,
) -> Result<Response, Problem> {
    let state = managed(&caller, &edge, &id)?;
    let grant = state.browser().ok_or_else(not_found)?.clone();
    let default = grant.lifetime_seconds;
    let lifetime = seconds("expiresInSeconds", command.expires_in_seconds, default, LONGEST_LIFETIME)?;
    let changed = edge.keys().change_credential(&state.stored.id, |state, now| {
        let wanted = now.plus(Duration::from_secs(lifetime)).millis().min(grant.not_after);
        let expires_at = riverrun_log::UnixMillis::from_millis(wanted.max(state.expires_at().millis()));
        Credential { expires_at, ..state.stored.clone() }
    });
    let changed = changed.await?.ok_or_else(not_found)?;
    Ok(Json(CredentialView::new(&changed, &grant)).into_response())
}

/// Ends a credential now, on open streams too.
pub(super) async fn revoke(
    caller: Caller,
    State(edge): State<Edge>,
    StrictQuery(()): StrictQuery<()>,
    PathId(id): PathId,
) -> Result<StatusCode, Problem> {
    let state = managed(&caller, &edge, &id)?;
    // One that expired or was revoked meanwhile is as good as revoked.
    edge.keys()
        .change_credential(&state.stored.id, |state, now| Credential {
            revoked_at: Some(now),
            expires_at: state.expires_at(),
            ..state.stored.clone()
        })
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The credential, if the caller may change it: the credential itself, the key that made it, or an admin.
fn managed(caller: &Caller, edge: &Edge, id: &str) -> Result<std::sync::Arc<CredentialState>, Problem> {
    let id = CredentialId::new(id).map_err(|_| not_found())?;
    let state = edge.keys().credentials().find(&id).ok_or_else(not_found)?;
    let is_mine = match caller.credential() {
        Some(own) => own.stored.id == state.stored.id,
        None => state.stored.tenant == *caller.tenant() && may_manage(caller, &state),
    };
    if is_mine && state.browser().is_some() { Ok(state) } else { Err(not_found()) }
}

fn may_manage(caller: &Caller, state: &CredentialState) -> bool {
    caller.has(Scope::Admin) || state.stored.key == *caller.key_id()
}
