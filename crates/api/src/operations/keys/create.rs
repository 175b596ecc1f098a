use std::time::Duration;

use riverrun_event::{ErrorCode, TenantId};
use riverrun_session::log_time;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{KeyDescription, is_operator};
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyRequest, KeyScope, RequestContext, schema};

const MAX_LABEL: usize = 200;

pub struct CreateKey;

/// Create an API key.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateKeyRequest {
    /// What the key may do.
    #[schemars(length(min = 1))]
    scopes: Vec<KeyScope>,
    /// A note for people.
    #[schemars(length(max = 200), regex(pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]*$"))]
    label: Option<String>,
    /// Another tenant; only admins of the default tenant may.
    #[schemars(with = "Option<schema::IdText>")]
    tenant: Option<TenantId>,
    /// How long the key works; without end by default.
    expires_in_seconds: Option<u32>,
}

impl Operation for CreateKey {
    const ABOUT: About = About {
        name: "key.create",
        aliases: &[],
        id: "createKey",
        group: OperationGroup::Keys,
        method: HttpMethod::Post,
        path: "/v1/keys",
        scope: KeyScope::Admin,
        pages: false,
        repeats: Repeats::DoneAgain,
        statuses: &[(201, "The only answer that shows the key's text.")],
        errors: &[ErrorCode::Forbidden],
        http_names: &[],
    };
    type Request = CreateKeyRequest;
    type Response = KeyDescription;

    async fn run(context: &RequestContext, request: CreateKeyRequest) -> Result<KeyDescription, ApiError> {
        let request = key_request(context, request)?;
        let key = context.services().keys().create(request).await?;
        Ok(KeyDescription { key: Some(key.text), ..KeyDescription::new(key.stored) })
    }
}

fn key_request(context: &RequestContext, request: CreateKeyRequest) -> Result<KeyRequest, ApiError> {
    let CreateKeyRequest { mut scopes, label, tenant, expires_in_seconds } = request;
    if scopes.is_empty() {
        let detail = "`scopes` is empty; give at least one of read, write, approve, admin";
        return Err(ApiError::new(ErrorCode::InvalidField, detail).field("scopes"));
    }
    let bad_label = |label: &String| label.chars().count() > MAX_LABEL || label.chars().any(char::is_control);
    if label.as_ref().is_some_and(bad_label) {
        let detail = format!("`label` may have {MAX_LABEL} characters and no control characters");
        return Err(ApiError::new(ErrorCode::InvalidField, detail).field("label").limit(MAX_LABEL as u64));
    }
    let identity = context.identity();
    let tenant = tenant.unwrap_or_else(|| identity.tenant().clone());
    if tenant != *identity.tenant() && !is_operator(identity) {
        let detail = "a key of this tenant makes keys for this tenant only";
        return Err(ApiError::new(ErrorCode::Forbidden, detail).field("tenant"));
    }
    scopes.sort_unstable();
    scopes.dedup();
    let now = log_time(context.services().now());
    let expires_at = expires_in_seconds.map(|seconds| now.plus(Duration::from_secs(seconds.into())));
    Ok(KeyRequest { tenant, scopes, label: label.unwrap_or_default(), expires_at })
}
