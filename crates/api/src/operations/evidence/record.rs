use riverrun_event::{BlobRef as EventBlobRef, ErrorCode, EventType, EvidenceChanged, Sequence};
use riverrun_log::{BlobRef, Fact, NewBlob};
use riverrun_session::{Batch, Hub, Source, draft_about};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Evidence, evidence_of};
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, Services, schema, to_json};

pub struct RecordEvidence;

/// Store the evidence as it is now, and write `evidence.changed` to the log.
///
/// The same facts again are the same pack.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordEvidenceRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvidencePack {
    evidence_id: String,
    /// The pack in the blob store: the evidence as `GET` answered it at this moment.
    pack_ref: String,
    /// The last event that it covers.
    sequence: Sequence,
    signal: &'static str,
    known_gaps: Vec<String>,
}

impl Operation for RecordEvidence {
    const ABOUT: About = About {
        name: "session.record_evidence",
        aliases: &[],
        id: "recordEvidence",
        group: OperationGroup::Sessions,
        method: HttpMethod::Post,
        path: "/v1/sessions/{session}/evidence",
        scope: KeyScope::Write,
        pages: false,
        repeats: Repeats::AnswerStored,
        statuses: &[(201, "The pack is stored and the event is durable.")],
        errors: &[ErrorCode::NotFound, ErrorCode::QuotaExceeded],
        http_names: &[],
    };
    type Request = RecordEvidenceRequest;
    type Response = EvidencePack;

    async fn run(context: &RequestContext, request: RecordEvidenceRequest) -> Result<EvidencePack, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let evidence = evidence_of(context.services(), &hub).await?;
        record(context.services(), &hub, evidence).await
    }
}

async fn record(services: &Services, hub: &Hub, evidence: Evidence) -> Result<EvidencePack, ApiError> {
    let (key, media_type) = (&hub.key, "application/json".to_owned());
    let blob = NewBlob { session: Some(key.session.clone()), media_type, bytes: to_json(&evidence).into() };
    let info = services.log().put_blob(&key.tenant, blob).await?;
    let pack_ref = info.reference.to_string();
    let digest = pack_ref.trim_start_matches("blob_");
    let evidence_id = format!("evidence_{}", &digest[..digest.floor_char_boundary(24)]);
    let changed = EvidenceChanged {
        pack_ref: Some(EventBlobRef::Bare(pack_ref.clone())),
        signal: Some("exported".to_owned()),
        known_gaps: Some(evidence.known_gaps.clone()),
        ..EvidenceChanged::default()
    };
    let event = draft_about(EventType::EvidenceChanged, ("evidenceId", &evidence_id), &changed)?;
    let facts = vec![Fact::Blob(BlobRef::from_digest(*info.reference.digest()))];
    let batch = Batch { events: vec![event], facts, ..Batch::default() };
    services.sessions().append(Source::Ingest, hub, &batch).await?;
    let Evidence { sequence, known_gaps, .. } = evidence;
    Ok(EvidencePack { evidence_id, pack_ref, sequence, signal: "exported", known_gaps })
}
