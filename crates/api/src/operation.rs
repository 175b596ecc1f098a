//! What an operation is, and the table entry by which transports, documents and clients see it.

use std::future::Future;
use std::pin::Pin;

use riverrun_event::ErrorCode;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{ApiError, KeyScope, RequestContext, decode_text, to_json};

/// One thing that a caller can ask for. A file in `operations/` holds each.
///
/// The doc comment of `Request` is the documentation of the operation: its first line is the summary.
pub trait Operation: Sized + 'static {
    const ABOUT: About;

    /// All members, wherever HTTP carries them: in the path, in the query or in the body. Over JSON-RPC it is
    /// `params`. It must refuse unknown members.
    type Request: DeserializeOwned + JsonSchema + Send + 'static;
    type Response: Serialize + JsonSchema + Send + 'static;

    fn run(
        context: &RequestContext,
        request: Self::Request,
    ) -> impl Future<Output = Result<Self::Response, ApiError>> + Send;

    /// The HTTP status of this answer, one of `ABOUT.statuses`.
    fn status(_response: &Self::Response) -> u16 {
        Self::ABOUT.statuses[0].0
    }

    /// The path of the object that was created.
    fn location(_response: &Self::Response) -> Option<String> {
        None
    }
}

/// The names and rules of an operation.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// Over JSON-RPC, `rule.revoke`. Persisted as a part of idempotency keys: never reused for something else.
    pub name: &'static str,
    /// Further JSON-RPC names: those of the Agent Runtime standard.
    pub aliases: &'static [&'static str],
    /// In OpenAPI and, in each language's casing, in the clients: `revokeRule`.
    pub id: &'static str,
    pub group: OperationGroup,
    pub method: HttpMethod,
    /// `{session}` fills the member `sessionId`, unless `http_names` names another. Empty: over JSON-RPC only.
    pub path: &'static str,
    pub scope: KeyScope,
    /// Whether a web page with a browser credential may call it over JSON-RPC. Its routes are listed in the edge.
    pub pages: bool,
    pub repeats: Repeats,
    /// Each with what it means; the first is the usual one.
    pub statuses: &'static [(u16, &'static str)],
    /// Codes besides those that every operation may answer with.
    pub errors: &'static [ErrorCode],
    /// Members that the path or the query names differently: (member, HTTP name).
    pub http_names: &'static [(&'static str, &'static str)],
}

impl About {
    /// Whether it has a route of its own over HTTP.
    pub const fn has_route(&self) -> bool {
        !self.path.is_empty()
    }
}

/// Under which heading documents list an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationGroup {
    Sessions,
    Turns,
    Actions,
    Tasks,
    Subagents,
    Processes,
    Jobs,
    Sharing,
    Agents,
    Storage,
    Keys,
    Operations,
}

impl OperationGroup {
    pub const fn as_str(self) -> &'static str {
        match self {
            OperationGroup::Sessions => "sessions",
            OperationGroup::Turns => "turns",
            OperationGroup::Actions => "actions",
            OperationGroup::Tasks => "tasks",
            OperationGroup::Subagents => "subagents",
            OperationGroup::Processes => "processes",
            OperationGroup::Jobs => "jobs",
            OperationGroup::Sharing => "sharing",
            OperationGroup::Agents => "agents",
            OperationGroup::Storage => "storage",
            OperationGroup::Keys => "keys",
            OperationGroup::Operations => "operations",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpMethod {
    Get,
    Post,
    Put,
    Delete,
}

impl HttpMethod {
    pub const fn as_str(self) -> &'static str {
        match self {
            HttpMethod::Get => "GET",
            HttpMethod::Post => "POST",
            HttpMethod::Put => "PUT",
            HttpMethod::Delete => "DELETE",
        }
    }

    /// Whether members that are not in the path go into a body.
    pub const fn has_body(self) -> bool {
        matches!(self, HttpMethod::Post | HttpMethod::Put)
    }
}

/// What happens when the same request comes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeats {
    /// It changes nothing, so it is done again.
    Harmless,
    /// It takes no idempotency key: its answer shows a secret that must not be stored, or a second time changes nothing.
    DoneAgain,
    /// With an idempotency key it is done once; the answer is stored after its effects.
    AnswerStored,
    /// With an idempotency key it is done once; the operation stores the answer together with its events.
    AnswerStoredWithEvents,
}

impl Repeats {
    /// Whether an idempotency key names the request.
    pub const fn takes_key(self) -> bool {
        match self {
            Self::Harmless | Self::DoneAgain => false,
            Self::AnswerStored | Self::AnswerStoredWithEvents => true,
        }
    }
}

/// An answer in the form that every transport carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationAnswer {
    pub status: u16,
    /// The path of the object that was created.
    pub location: Option<String>,
    /// JSON.
    pub body: String,
}

type Running<'a> = Pin<Box<dyn Future<Output = Result<OperationAnswer, ApiError>> + Send + 'a>>;

/// An operation without its types.
#[derive(Clone, Copy)]
pub struct OperationEntry {
    pub about: About,
    run: for<'a> fn(&'a RequestContext, &'a str) -> Running<'a>,
    request: fn(&mut SchemaGenerator) -> Schema,
    response: fn(&mut SchemaGenerator) -> Schema,
}

impl OperationEntry {
    pub const fn of<O: Operation>() -> Self {
        Self {
            about: O::ABOUT,
            run: run::<O>,
            request: inline::<O::Request>,
            response: SchemaGenerator::subschema_for::<O::Response>,
        }
    }

    /// Carries a request out; `request` is a JSON object.
    pub async fn run(&self, context: &RequestContext, request: &str) -> Result<OperationAnswer, ApiError> {
        (self.run)(context, request).await
    }

    pub fn request_schema(&self, generator: &mut SchemaGenerator) -> Schema {
        (self.request)(generator)
    }

    pub fn response_schema(&self, generator: &mut SchemaGenerator) -> Schema {
        (self.response)(generator)
    }

    /// The member that a path parameter fills.
    pub fn path_member(&self, parameter: &str) -> String {
        self.member_of(parameter).map_or_else(|| format!("{parameter}Id"), str::to_owned)
    }

    /// The member that a parameter of the query fills.
    pub fn query_member<'a>(&self, parameter: &'a str) -> &'a str {
        self.member_of(parameter).unwrap_or(parameter)
    }

    /// The name in the query of a member.
    pub fn query_name<'a>(&self, member: &'a str) -> &'a str {
        self.about.http_names.iter().find(|(known, _)| *known == member).map_or(member, |(_, name)| name)
    }

    /// The parameters of the path, in order.
    pub fn path_parameters(&self) -> impl Iterator<Item = &'static str> {
        self.about.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }

    fn member_of(&self, parameter: &str) -> Option<&'static str> {
        self.about.http_names.iter().find(|(_, name)| *name == parameter).map(|(member, _)| *member)
    }
}

fn run<'a, O: Operation>(context: &'a RequestContext, request: &'a str) -> Running<'a> {
    Box::pin(async move {
        let response = O::run(context, decode_text(request)?).await?;
        let answer = OperationAnswer {
            status: O::status(&response),
            location: O::location(&response),
            body: to_json(&response),
        };
        if O::ABOUT.repeats == Repeats::AnswerStored {
            context.once().remember(context.services(), answer.status, &answer.body).await?;
        }
        Ok(answer)
    })
}

/// The schema of a request without a reference around it. Some requests serialise a part of themselves as a payload; the
/// mark `writeOnly` on the other members would be of no use to callers.
fn inline<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = T::json_schema(generator);
    let members = schema.get_mut("properties").and_then(Value::as_object_mut);
    let members = members.into_iter().flat_map(|members| members.values_mut());
    for member in members.filter_map(Value::as_object_mut) {
        member.remove("writeOnly");
    }
    schema
}
