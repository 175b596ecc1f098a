use std::borrow::Cow;

use riverrun_event::{ErrorCode, Sequence};
use riverrun_fold::State;
use riverrun_fold::read_model::{self, ReadModels, SessionSnapshot};
use riverrun_session::{Hub, check_origin, event_time};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};

use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, LogPosition, RequestContext, Services, not_found, schema};

pub struct GetState;

/// Fold the events of a session to one state.
///
/// It costs no model call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GetStateRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The state after this event: a cursor or a sequence. Default: after the last one.
    #[serde(default)]
    #[schemars(schema_with = "schema::cursor")]
    at: Option<LogPosition>,
    #[serde(default)]
    view: StateForm,
}

/// The fold itself, or what the Agent Runtime standard makes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum StateForm {
    #[default]
    State,
    Snapshot,
    /// The snapshot in the form of the standard's Lime profile.
    LimeSnapshot,
    ReadModels,
}

/// A state in the form that was asked for.
pub enum StateView {
    State(Box<State>),
    Snapshot(Box<SessionSnapshot>),
    ReadModels(Box<ReadModels>),
}

impl Serialize for StateView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            StateView::State(state) => state.serialize(serializer),
            StateView::Snapshot(snapshot) => snapshot.serialize(serializer),
            StateView::ReadModels(models) => models.serialize(serializer),
        }
    }
}

impl JsonSchema for StateView {
    fn schema_name() -> Cow<'static, str> {
        "State".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "description": "The fold of the events 1 to `sequence`." })
    }
}

impl Operation for GetState {
    const ABOUT: About = About {
        name: "session.state",
        aliases: &[],
        id: "getState",
        group: OperationGroup::Sessions,
        method: HttpMethod::Get,
        path: "/v1/sessions/{session}/state",
        scope: KeyScope::Read,
        pages: true,
        repeats: Repeats::Harmless,
        statuses: &[(200, "The state.")],
        errors: &[ErrorCode::NotFound, ErrorCode::BadCursor, ErrorCode::CursorAhead],
        http_names: &[],
    };
    type Request = GetStateRequest;
    type Response = StateView;

    async fn run(context: &RequestContext, request: GetStateRequest) -> Result<StateView, ApiError> {
        let at = request.at.map(|at| at.cursor("at")).transpose()?;
        let hub = context.hub(&request.session_id).await?;
        if let Some(at) = &at {
            check_origin(at, &hub, "at")?;
        }
        let state = state_after(context.services(), &hub, at.map(|at| at.sequence)).await?;
        Ok(match request.view {
            StateForm::State => StateView::State(Box::new(state)),
            StateForm::Snapshot => StateView::Snapshot(Box::new(read_model::snapshot(&state))),
            StateForm::LimeSnapshot => {
                let record = context.services().log().session(&hub.key).await?.ok_or_else(not_found)?;
                let created_at = event_time(record.created_at);
                StateView::Snapshot(Box::new(read_model::lime_snapshot(&state, created_at)))
            }
            StateForm::ReadModels => StateView::ReadModels(Box::new(read_model::read_models(&state))),
        })
    }
}

/// The state after event `at`, or after the last one.
async fn state_after(services: &Services, hub: &Hub, at: Option<Sequence>) -> Result<State, ApiError> {
    let head = hub.head();
    let at = at.unwrap_or(head);
    if at > head {
        let detail = format!("there is no event {at} yet, the log ends at {head}");
        return Err(ApiError::new(ErrorCode::CursorAhead, detail).field("at").head(head.get()));
    }
    Ok(services.sessions().state_at(&hub.key, at).await?)
}
