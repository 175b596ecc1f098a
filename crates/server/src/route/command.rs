//! A command on something in a session: checked, done once, answered.

use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, MatchedPath, Path, Request};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use riverrun_api::ApiError;
use riverrun_event::ErrorCode;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::idempotency::{self, Once};
use crate::app::App;
use crate::edge::{Caller, OptionalText, Problem, Scope, StrictQuery, decode_text, not_found};
use riverrun_session::Hub;

/// `POST /v1/sessions/{session}/…/{id}/…` of a caller who may write. One with an `Idempotency-Key` that was done
/// before does not come as far as its handler: it gets the first answer.
pub struct Command {
    pub app: App,
    pub hub: Arc<Hub>,
    /// What the command is about: a turn, a task.
    pub id: String,
    /// The key of who asks.
    pub by: String,
    pub once: Once,
    text: String,
}

/// The first answer, or what is wrong.
pub struct Refusal(Box<Response>);

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self(Box::new(problem.into_response()))
    }
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        Problem::from(error).into()
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        *self.0
    }
}

impl FromRequest<App> for Command {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &App) -> Result<Self, Refusal> {
        let (mut parts, body) = request.into_parts();
        let caller = Caller::from_request_parts(&mut parts, app).await?;
        let ids = Path::<Vec<(String, String)>>::from_request_parts(&mut parts, app).await;
        let mut ids = ids.map_err(|_| not_found())?.0.into_iter().map(|(_, id)| id);
        let (Some(session), Some(id)) = (ids.next(), ids.next()) else {
            return Err(not_found().into());
        };
        StrictQuery::<()>::from_request_parts(&mut parts, app).await?;
        let route = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str).to_owned();
        let headers = parts.headers.clone();
        let OptionalText(text) = OptionalText::from_request(Request::from_parts(parts, body), app).await?;
        caller.require(Scope::Write)?;
        let hub = app.hub(&caller, &session).await?;
        let name = format!("POST {route} {} {id}", hub.session());
        let once = idempotency::begin_once(app, &caller, &headers, &name, &text).await?;
        match idempotency::repeated(&once)? {
            Some(again) => Err(Refusal(Box::new(again))),
            None => {
                let (app, by) = (app.clone(), caller.key_id().to_string());
                Ok(Self { app, hub, id, by, once, text })
            }
        }
    }
}

impl Command {
    pub fn body<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        if self.text.is_empty() {
            return Err(Problem::new(ErrorCode::BodyEmpty, "the body is empty; send a JSON object"));
        }
        decode_text(&self.text)
    }

    /// The body of a command whose members may all be left out.
    pub fn text(&self) -> &str {
        if self.text.is_empty() { "{}" } else { &self.text }
    }

    pub fn body_or_default<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        decode_text(self.text())
    }

    /// Answers, and remembers the answer.
    pub async fn answer(&self, status: StatusCode, body: &impl Serialize) -> Result<Response, Problem> {
        idempotency::answer(&self.once, &self.app, status, body).await
    }
}
