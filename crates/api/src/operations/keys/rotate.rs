use std::time::Duration;

use riverrun_event::ErrorCode;
use riverrun_session::log_time;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{KeyDescription, managed_key};
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, invalid, schema};

const DAY: u64 = 24 * 60 * 60;
const MAX_OVERLAP: u64 = 30 * DAY;

pub struct RotateKey;

/// Give an API key a new secret.
///
/// Everything else about the key stays: its id, its scopes, its browser credentials.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RotateKeyRequest {
    /// The key.
    #[schemars(schema_with = "schema::id")]
    key_id: String,
    /// How long the former secret works on; a day by default.
    #[schemars(range(min = 0, max = 2592000))]
    overlap_seconds: Option<u64>,
}

impl Operation for RotateKey {
    const ABOUT: About = About {
        name: "key.rotate",
        aliases: &[],
        id: "rotateKey",
        group: OperationGroup::Keys,
        method: HttpMethod::Post,
        path: "/v1/keys/{key}/rotate",
        scope: KeyScope::Admin,
        pages: false,
        repeats: Repeats::DoneAgain,
        statuses: &[(
            200,
            "The only answer that shows the new text. `formerUntil` is when the former secret ends.",
        )],
        errors: &[ErrorCode::NotFound, ErrorCode::InvalidRequest],
        http_names: &[],
    };
    type Request = RotateKeyRequest;
    type Response = KeyDescription;

    async fn run(context: &RequestContext, request: RotateKeyRequest) -> Result<KeyDescription, ApiError> {
        let id = managed_key(context, &request.key_id)?;
        let overlap = request.overlap_seconds.unwrap_or(DAY);
        if overlap > MAX_OVERLAP {
            let reason = format!("it must be 0 to {MAX_OVERLAP}");
            return Err(invalid("overlapSeconds", &reason).limit(MAX_OVERLAP));
        }
        let (services, overlap) = (context.services(), Duration::from_secs(overlap));
        let rotated = services.keys().rotate(&id, overlap).await?.ok_or_else(|| {
            let detail = "this key is revoked or has expired; make a new one instead";
            ApiError::new(ErrorCode::InvalidRequest, detail).field("key")
        })?;
        let until = log_time(services.now()).plus(overlap).millis();
        let (key, former_until) = (Some(rotated.text), Some(until));
        Ok(KeyDescription { key, former_until, ..KeyDescription::new(rotated.stored) })
    }
}
