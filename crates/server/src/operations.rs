//! HTTP routes of the operations: path, query and body become one request object.

use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRequest, FromRequestParts, Path, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use http::header::{CONTENT_TYPE, LOCATION};
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use riverrun_api::{
    About, ApiError, OPERATIONS, Once, OperationAnswer, OperationEntry, RequestContext, RequestMember,
    ValueForm, invalid,
};
use riverrun_event::ErrorCode;
use serde_json::Value;

use crate::app::App;
use crate::edge::{Caller, OptionalText, Params, Problem, not_found};
use crate::route::{begin_idempotent, stored_response};

/// Operations whose route is written by hand, because HTTP has further forms of the answer beside JSON.
const WRITTEN_BY_HAND: [&str; 1] = ["benchmark.export"];

/// A route for each operation that answers with JSON.
pub(crate) fn routes() -> Router<App> {
    let is_routed = |about: &About| about.has_route() && !WRITTEN_BY_HAND.contains(&about.name);
    let routed = OPERATIONS.iter().filter(|entry| is_routed(&entry.about));
    routed.fold(Router::new(), |router, entry| {
        let members: Arc<[RequestMember]> = entry.members().into();
        let handler = move |State(app): State<App>, request: Request| {
            let members = members.clone();
            async move { handle(&app, entry, &members, request).await.unwrap_or_else(IntoResponse::into_response) }
        };
        router.route(entry.about.path, on(filter(entry.about.method), handler))
    })
}

const fn filter(method: riverrun_api::HttpMethod) -> MethodFilter {
    match method {
        riverrun_api::HttpMethod::Get => MethodFilter::GET,
        riverrun_api::HttpMethod::Post => MethodFilter::POST,
        riverrun_api::HttpMethod::Put => MethodFilter::PUT,
        riverrun_api::HttpMethod::Delete => MethodFilter::DELETE,
    }
}

async fn handle(
    app: &App,
    entry: &'static OperationEntry,
    members: &[RequestMember],
    request: Request,
) -> Result<Response, Problem> {
    let (mut parts, body) = request.into_parts();
    let caller = Caller::from_request_parts(&mut parts, app).await?;
    let ids = path_ids(&mut parts, app).await?;
    let query = query(entry, members, &parts)?;
    let headers = parts.headers.clone();
    let text = match entry.about.method.has_body() {
        true => OptionalText::from_request(Request::from_parts(parts, body), app).await?.0,
        false => String::new(),
    };
    caller.require(entry.about.scope)?;
    let hub = match ids.iter().find(|(name, _)| name == "session") {
        Some((_, session)) => Some(app.hub(&caller, session).await?),
        None => None,
    };
    let once = match entry.about.repeats.takes_key() {
        false => Once::unnamed(),
        true => {
            let attempt = begin_idempotent(app, &caller, &headers, &key_scope(entry, &caller, &ids)).await?;
            Once::new(attempt, &text)
        }
    };
    if let Some(stored) = once.stored()? {
        return Ok(stored_response(stored));
    }
    let request = assemble(entry, members, &ids, query, &text)?;
    let base_url = app.edge().base_url(&headers);
    let mut context = RequestContext::new(app.services().clone(), caller.identity(), once, base_url);
    if let Some(hub) = hub {
        context = context.in_session(hub);
    }
    Ok(response(entry.run(&context, &request).await?))
}

fn response(answer: OperationAnswer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    if status == StatusCode::NO_CONTENT {
        return status.into_response();
    }
    let mut response = (status, [(CONTENT_TYPE, "application/json")], answer.body).into_response();
    let location = answer.location.and_then(|location| HeaderValue::from_str(&location).ok());
    if let Some(location) = location {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

/// The parameters of the path, by name, decoded. A path that is not UTF-8 names nothing.
async fn path_ids(parts: &mut Parts, app: &App) -> Result<Vec<(String, String)>, Problem> {
    let ids = Path::<Vec<(String, String)>>::from_request_parts(parts, app).await;
    ids.map(|Path(ids)| ids).map_err(|_| not_found())
}

/// What an idempotency key counts for: the same key elsewhere is another key. A page's keys are its own, so that it is
/// never answered with what somebody else was told.
fn key_scope(entry: &OperationEntry, caller: &Caller, ids: &[(String, String)]) -> String {
    let mut scope = format!("{} {}", entry.about.method.as_str(), entry.about.path);
    for (place, (_, id)) in ids.iter().enumerate() {
        let id = if place > 0 && ids.len() > 2 { format!("{id:?}") } else { id.clone() };
        scope.push(' ');
        scope.push_str(&id);
    }
    if let Some(page) = caller.page_id() {
        scope.push_str(&format!(" {page}"));
    }
    scope
}

/// The members in the query, each as JSON of its form.
fn query(
    entry: &OperationEntry,
    members: &[RequestMember],
    parts: &Parts,
) -> Result<Vec<(String, Value)>, Problem> {
    let taken = |member: &&RequestMember| !entry.about.method.has_body() && !member.in_path;
    let taken: Vec<&RequestMember> = members.iter().filter(taken).collect();
    let names: Vec<&str> = taken.iter().map(|member| entry.query_name(&member.name)).collect();
    let params = Params::parse(parts.uri.query(), &names)?;
    let mut values = Vec::new();
    for (member, name) in taken.into_iter().zip(names) {
        if let Some(text) = params.get(name) {
            values.push((member.name.clone(), value(name, text, member.form)?));
        }
    }
    Ok(values)
}

fn value(name: &str, text: &str, form: ValueForm) -> Result<Value, ApiError> {
    Ok(match form {
        ValueForm::Text => text.into(),
        ValueForm::Integer => {
            let number: i64 = text.parse().map_err(|error| invalid(name, &error))?;
            number.into()
        }
        ValueForm::Flag => match text {
            "true" => true.into(),
            "false" => false.into(),
            _ => return Err(invalid(name, &"it must be `true` or `false`")),
        },
        ValueForm::List => {
            let entries: Vec<&str> = text.split(',').collect();
            if entries.iter().any(|entry| entry.is_empty()) {
                return Err(invalid(name, &"the list has an empty entry"));
            }
            entries.into()
        }
    })
}

/// One object of what the path, the query and the body have. The body's own bytes go in unchanged.
fn assemble(
    entry: &OperationEntry,
    members: &[RequestMember],
    ids: &[(String, String)],
    query: Vec<(String, Value)>,
    body: &str,
) -> Result<String, ApiError> {
    let needs_body = || members.iter().any(|member| member.required && !member.in_path);
    if entry.about.method.has_body() && body.is_empty() && needs_body() {
        return Err(ApiError::new(ErrorCode::BodyEmpty, "the body is empty; send a JSON object"));
    }
    let in_path = ids.iter().map(|(name, id)| (entry.path_member(name), Value::from(id.as_str())));
    let mut parts: Vec<String> =
        in_path.chain(query).map(|(name, value)| format!("{}:{value}", Value::from(name))).collect();
    if !body.is_empty() {
        let inner = body
            .strip_prefix('{')
            .and_then(|body| body.strip_suffix('}'))
            .ok_or_else(|| ApiError::new(ErrorCode::InvalidField, "the body must be a JSON object"))?;
        if !inner.is_empty() {
            parts.push(inner.to_owned());
        }
    }
    Ok(format!("{{{}}}", parts.join(",")))
}
