use riverrun_event::ErrorCode;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Evidence, evidence_of};
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, schema};

pub struct ExportEvidence;

/// Show what the session can prove: its read models, and what is not known.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExportEvidenceRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
}

impl Operation for ExportEvidence {
    const ABOUT: About = About {
        name: "session.evidence",
        aliases: &["export_evidence"],
        id: "exportEvidence",
        group: OperationGroup::Sessions,
        method: HttpMethod::Get,
        path: "/v1/sessions/{session}/evidence",
        scope: KeyScope::Read,
        pages: false,
        repeats: Repeats::Harmless,
        statuses: &[(200, "The evidence.")],
        errors: &[ErrorCode::NotFound],
        http_names: &[],
    };
    type Request = ExportEvidenceRequest;
    type Response = Evidence;

    async fn run(context: &RequestContext, request: ExportEvidenceRequest) -> Result<Evidence, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        evidence_of(context.services(), &hub).await
    }
}
