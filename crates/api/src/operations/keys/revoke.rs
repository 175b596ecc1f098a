use riverrun_event::ErrorCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::managed_key;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, not_found, schema};

pub struct RevokeKey;

/// Revoke an API key.
///
/// It opens nothing from now on, and streams that came with it are cut within 5 s.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RevokeKeyRequest {
    /// The key.
    #[schemars(schema_with = "schema::id")]
    key_id: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct RevokedKey {}

impl Operation for RevokeKey {
    const ABOUT: About = About {
        name: "key.revoke",
        aliases: &[],
        id: "revokeKey",
        group: OperationGroup::Keys,
        method: HttpMethod::Delete,
        path: "/v1/keys/{key}",
        scope: KeyScope::Admin,
        pages: false,
        repeats: Repeats::DoneAgain,
        statuses: &[(204, "The key opens nothing from now on.")],
        errors: &[ErrorCode::NotFound],
        http_names: &[],
    };
    type Request = RevokeKeyRequest;
    type Response = RevokedKey;

    async fn run(context: &RequestContext, request: RevokeKeyRequest) -> Result<RevokedKey, ApiError> {
        let id = managed_key(context, &request.key_id)?;
        match context.services().keys().revoke(&id).await? {
            true => Ok(RevokedKey {}),
            false => Err(not_found()),
        }
    }
}
