use std::borrow::Cow;

use riverrun_event::{ErrorCode, SessionId};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{SessionView, create_session};
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, schema};

pub struct CreateSession;

/// Create a session.
///
/// If it exists with the same contents, it is answered as it is.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateSessionRequest {
    /// Default: a new id.
    #[schemars(with = "Option<schema::IdText>")]
    pub session_id: Option<SessionId>,
    /// The agent of turns that name none.
    pub agent: Option<String>,
    /// A title for people.
    pub title: Option<String>,
    /// Members of your own, which are stored and answered unchanged.
    pub metadata: Option<Map<String, Value>>,
    /// Words by which sessions are listed.
    pub tags: Option<Vec<String>>,
}

/// The session, and whether it is new. Its form is that of a session.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct CreatedSession {
    session: SessionView,
    #[serde(skip)]
    is_new: bool,
}

impl JsonSchema for CreatedSession {
    fn schema_name() -> Cow<'static, str> {
        SessionView::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        SessionView::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        SessionView::json_schema(generator)
    }
}

impl Operation for CreateSession {
    const ABOUT: About = About {
        name: "session.create",
        aliases: &[],
        id: "createSession",
        group: OperationGroup::Sessions,
        method: HttpMethod::Post,
        path: "/v1/sessions",
        scope: KeyScope::Write,
        pages: true,
        repeats: Repeats::AnswerStored,
        statuses: &[(201, "The session is durable."), (200, "The session existed with the same contents.")],
        errors: &[
            ErrorCode::SessionExists,
            ErrorCode::UnknownAgent,
            ErrorCode::RateLimited,
            ErrorCode::QuotaExceeded,
        ],
        http_names: &[],
    };
    type Request = CreateSessionRequest;
    type Response = CreatedSession;

    async fn run(
        context: &RequestContext,
        mut request: CreateSessionRequest,
    ) -> Result<CreatedSession, ApiError> {
        // The id follows from the idempotency key, so that the same request finds its session again after a crash.
        if let (None, Some(id)) = (&request.session_id, context.once().id()) {
            request.session_id = Some(SessionId::from_bytes(id));
        }
        let (record, is_new) = create_session(context.services(), context.identity(), request).await?;
        Ok(CreatedSession { session: SessionView::new(record), is_new })
    }

    fn status(created: &CreatedSession) -> u16 {
        if created.is_new { 201 } else { 200 }
    }

    fn location(created: &CreatedSession) -> Option<String> {
        Some(format!("/v1/sessions/{}", created.session.session_id))
    }
}
