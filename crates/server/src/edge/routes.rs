//! The routes that belong to the edge itself: health, metrics, the API document, keys and tickets.

use std::time::Duration;

use axum::extract::{FromRef, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use riverrun_api::Scope;
use riverrun_event::{ErrorCode, KeyId, SessionId, TenantId};
use riverrun_log::seeded::{self, Bug};
use riverrun_log::{ApiKey, UnixMillis};
use serde::{Deserialize, Serialize};

use super::auth::{Caller, PathId, not_found};
use super::body::{OptionalJson, StrictJson};
use super::keys::KeyRequest;
use super::problem::Problem;
use super::query::{FromParams, Params, StrictQuery, invalid};
use super::{Edge, browser, health};

/// The routes of the edge, to merge into the server's router.
pub fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Edge: FromRef<S>,
{
    Router::new()
        .route("/v1/keys", post(create_key).get(list_keys))
        .route("/v1/keys/{key}", delete(revoke_key))
        .route("/v1/keys/{key}/rotate", post(rotate_key))
        .route("/v1/tenants", get(list_tenants))
        .route("/v1/browser-credentials", post(browser::create).get(browser::list))
        .route("/v1/browser-credentials/{credential}", delete(browser::revoke))
        .route("/v1/browser-credentials/{credential}/renew", post(browser::renew))
        .route("/v1/tickets", post(create_ticket))
        .route_layer(axum::middleware::from_fn(super::answers_json))
        .route("/livez", get(health::live))
        .route("/readyz", get(health::ready))
        .route("/healthz", get(health::ready))
        .route("/metrics", get(health::metrics))
        .route("/openapi.json", get(openapi))
}

async fn openapi() -> Response {
    ([(CONTENT_TYPE, "application/json")], crate::openapi::DOCUMENT).into_response()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct CreateKey {
    scopes: Vec<Scope>,
    label: Option<String>,
    /// Only the default tenant's admins may make keys for another tenant.
    tenant: Option<TenantId>,
    expires_in_seconds: Option<u32>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct KeyView {
    key_id: KeyId,
    tenant: TenantId,
    scopes: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    label: String,
    /// Milliseconds since 1970, like the other times of a key.
    created_at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked_at: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_used_at: Option<u64>,
    /// The text of the key, shown once.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// Until when the secret before a rotation works.
    #[serde(skip_serializing_if = "Option::is_none")]
    former_until: Option<u64>,
}

impl From<ApiKey> for KeyView {
    fn from(key: ApiKey) -> Self {
        Self {
            key_id: key.id,
            tenant: key.tenant,
            scopes: key.scopes,
            label: key.label,
            created_at: key.created_at.millis(),
            expires_at: key.expires_at.map(UnixMillis::millis),
            revoked_at: key.revoked_at.map(UnixMillis::millis),
            last_used_at: key.last_used_at.map(UnixMillis::millis),
            key: None,
            former_until: None,
        }
    }
}

async fn create_key(
    caller: Caller,
    State(edge): State<Edge>,
    StrictQuery(()): StrictQuery<()>,
    StrictJson(command): StrictJson<CreateKey>,
) -> Result<Response, Problem> {
    caller.require(Scope::Admin)?;
    let request = key_request(&caller, &edge, command)?;
    let key = edge.keys().create(request).await?;
    let view = KeyView { key: Some(key.text), ..KeyView::from(key.stored) };
    Ok((StatusCode::CREATED, Json(view)).into_response())
}

fn key_request(caller: &Caller, edge: &Edge, command: CreateKey) -> Result<KeyRequest, Problem> {
    const MAX_LABEL: usize = 200;
    if command.scopes.is_empty() {
        let detail = "`scopes` is empty; give at least one of read, write, approve, admin";
        return Err(Problem::new(ErrorCode::InvalidField, detail).field("scopes"));
    }
    let bad_label = |label: &String| label.chars().count() > MAX_LABEL || label.chars().any(char::is_control);
    if command.label.as_ref().is_some_and(bad_label) {
        let detail = format!("`label` may have {MAX_LABEL} characters and no control characters");
        return Err(Problem::new(ErrorCode::InvalidField, detail).field("label").limit(MAX_LABEL as u64));
    }
    let tenant = command.tenant.unwrap_or_else(|| caller.tenant().clone());
    if tenant != *caller.tenant() && !is_operator(caller) {
        let detail = "a key of this tenant makes keys for this tenant only";
        return Err(Problem::new(ErrorCode::Forbidden, detail).field("tenant"));
    }
    let mut scopes = command.scopes;
    scopes.sort_unstable();
    scopes.dedup();
    let now = edge.clock().now();
    let expires_at = command.expires_in_seconds.map(|seconds| now.plus(Duration::from_secs(seconds.into())));
    Ok(KeyRequest { tenant, scopes, label: command.label.unwrap_or_default(), expires_at })
}

/// An admin of the default tenant runs the server: it sees to the keys of every tenant. An admin of another tenant
/// sees to that tenant's keys.
fn is_operator(caller: &Caller) -> bool {
    let everybody = seeded::is_on(Bug::EveryAdminSeesAllKeys);
    caller.has(Scope::Admin) && (everybody || caller.tenant().as_str() == super::DEFAULT_TENANT)
}

/// Whose keys are listed.
struct KeysQuery {
    tenant: Option<WhichTenant>,
}

enum WhichTenant {
    All,
    One(TenantId),
}

impl FromParams for KeysQuery {
    const NAMES: &'static [&'static str] = &["tenant"];
    fn from_params(params: &Params) -> Result<Self, Problem> {
        let tenant = match params.get("tenant") {
            None => None,
            Some("*") => Some(WhichTenant::All),
            Some(_) => params.parsed("tenant")?.map(WhichTenant::One),
        };
        Ok(Self { tenant })
    }
}

async fn list_keys(
    caller: Caller,
    State(edge): State<Edge>,
    StrictQuery(query): StrictQuery<KeysQuery>,
) -> Result<Response, Problem> {
    caller.require(Scope::Admin)?;
    let tenant = match query.tenant {
        None => Some(caller.tenant().clone()),
        Some(WhichTenant::One(tenant)) if tenant == *caller.tenant() => Some(tenant),
        Some(_) if !is_operator(&caller) => return Err(operator_only("tenant")),
        Some(WhichTenant::One(tenant)) => Some(tenant),
        Some(WhichTenant::All) => None,
    };
    let keys: Vec<KeyView> = edge.keys().list(tenant.as_ref()).into_iter().map(KeyView::from).collect();
    Ok(Json(serde_json::json!({"keys": keys})).into_response())
}

fn operator_only(field: &'static str) -> Problem {
    let detail = format!("only an admin of tenant `{}` sees other tenants", super::DEFAULT_TENANT);
    Problem::new(ErrorCode::Forbidden, detail).field(field)
}

async fn list_tenants(
    caller: Caller,
    State(edge): State<Edge>,
    StrictQuery(()): StrictQuery<()>,
) -> Result<Response, Problem> {
    caller.require(Scope::Admin)?;
    if !is_operator(&caller) {
        return Err(operator_only("tenant"));
    }
    let view = |tenant: super::TenantKeys| serde_json::json!({"tenant": tenant.tenant, "liveKeys": tenant.live, "keys": tenant.total});
    let tenants: Vec<_> = edge.keys().tenants().into_iter().map(view).collect();
    Ok(Json(serde_json::json!({"tenants": tenants})).into_response())
}

/// The key of this id, if the caller may see to it. A malformed id, an absent key and another's answer alike.
fn managed_key(caller: &Caller, edge: &Edge, id: &str) -> Result<KeyId, Problem> {
    caller.require(Scope::Admin)?;
    let id = KeyId::new(id).map_err(|_| not_found())?;
    let tenant = edge.keys().tenant_of(&id).ok_or_else(not_found)?;
    if tenant == *caller.tenant() || is_operator(caller) { Ok(id) } else { Err(not_found()) }
}

async fn revoke_key(
    caller: Caller,
    State(edge): State<Edge>,
    StrictQuery(()): StrictQuery<()>,
    PathId(id): PathId,
) -> Result<StatusCode, Problem> {
    let id = managed_key(&caller, &edge, &id)?;
    match edge.keys().revoke(&id).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(not_found()),
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RotateKey {
    /// How long the former secret works on; a day unless asked otherwise.
    overlap_seconds: Option<u64>,
}

async fn rotate_key(
    caller: Caller,
    State(edge): State<Edge>,
    StrictQuery(()): StrictQuery<()>,
    PathId(id): PathId,
    OptionalJson(command): OptionalJson<RotateKey>,
) -> Result<Response, Problem> {
    const DEFAULT: u64 = 24 * 60 * 60;
    const LONGEST: u64 = 30 * 24 * 60 * 60;
    let id = managed_key(&caller, &edge, &id)?;
    let overlap = command.overlap_seconds.unwrap_or(DEFAULT);
    if overlap > LONGEST {
        return Err(invalid("overlapSeconds", &format!("it must be 0 to {LONGEST}")).limit(LONGEST));
    }
    let rotated = edge.keys().rotate(&id, Duration::from_secs(overlap)).await?.ok_or_else(|| {
        let detail = "this key is revoked or has expired; make a new one instead";
        Problem::new(ErrorCode::InvalidRequest, detail).field("key")
    })?;
    let until = edge.clock().now().plus(Duration::from_secs(overlap)).millis();
    let view =
        KeyView { key: Some(rotated.text), former_until: Some(until), ..KeyView::from(rotated.stored) };
    Ok(Json(view).into_response())
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CreateTicket {
    session: Option<SessionId>,
    /// `read` unless asked otherwise.
    scope: Option<Scope>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TicketView {
    ticket: String,
    expires_in_seconds: u64,
}

async fn create_ticket(
    caller: Caller,
    State(edge): State<Edge>,
    StrictQuery(()): StrictQuery<()>,
    OptionalJson(command): OptionalJson<CreateTicket>,
) -> Result<Response, Problem> {
    let scope = command.scope.unwrap_or(Scope::Read);
    if scope == Scope::Admin {
        let detail = "a ticket cannot carry scope `admin`";
        return Err(Problem::new(ErrorCode::InvalidField, detail).field("scope"));
    }
    caller.require(scope)?;
    let scopes = if scope == Scope::Read { vec![scope] } else { vec![Scope::Read, scope] };
    let scopes = scopes.into_iter().filter(|scope| caller.has(*scope)).collect();
    let ticket = edge.tickets().issue(caller.key(), scopes, command.session)?;
    let view = TicketView { ticket, expires_in_seconds: edge.tickets().time().as_secs() };
    Ok((StatusCode::CREATED, Json(view)).into_response())
}
