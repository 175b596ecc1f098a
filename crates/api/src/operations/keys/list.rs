use riverrun_event::ErrorCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{KeyDescription, is_operator, operator_only};
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::operations::tenants::TenantFilter;
use crate::{ApiError, KeyScope, RequestContext, schema};

pub struct ListKeys;

/// List API keys.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListKeysRequest {
    /// Another tenant, or `*` for all; only admins of the default tenant may. Default: the caller's own tenant.
    #[schemars(with = "Option<schema::TenantOrAll>")]
    tenant: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct KeyList {
    /// The oldest first.
    keys: Vec<KeyDescription>,
}

impl Operation for ListKeys {
    const ABOUT: About = About {
        name: "key.list",
        aliases: &[],
        id: "listKeys",
        group: OperationGroup::Keys,
        method: HttpMethod::Get,
        path: "/v1/keys",
        scope: KeyScope::Admin,
        pages: false,
        repeats: Repeats::Harmless,
        statuses: &[(200, "Every key, revoked ones too.")],
        errors: &[ErrorCode::Forbidden],
        http_names: &[],
    };
    type Request = ListKeysRequest;
    type Response = KeyList;

    async fn run(context: &RequestContext, request: ListKeysRequest) -> Result<KeyList, ApiError> {
        let (own, filter) = (context.identity().tenant(), TenantFilter::parse(request.tenant.as_deref())?);
        let tenant = match filter {
            TenantFilter::Own => Some(own.clone()),
            TenantFilter::One(tenant) if tenant == *own => Some(tenant),
            TenantFilter::One(_) | TenantFilter::All if !is_operator(context.identity()) => {
                return Err(operator_only());
            }
            TenantFilter::One(tenant) => Some(tenant),
            TenantFilter::All => None,
        };
        let keys = context.services().keys().list(tenant.as_ref());
        Ok(KeyList { keys: keys.into_iter().map(KeyDescription::new).collect() })
    }
}
