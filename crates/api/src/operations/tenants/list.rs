use riverrun_event::{ErrorCode, TenantId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::operations::keys::{is_operator, operator_only};
use crate::{ApiError, KeyScope, RequestContext, TenantKeys};

pub struct ListTenants;

/// List the tenants that have or had keys.
///
/// Only admins of the default tenant may.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListTenantsRequest {}

#[derive(Debug, Serialize, JsonSchema)]
pub struct TenantList {
    /// In order of name.
    tenants: Vec<TenantDescription>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantDescription {
    tenant: TenantId,
    /// Keys that work now.
    live_keys: usize,
    /// All that were ever made.
    keys: usize,
}

impl Operation for ListTenants {
    const ABOUT: About = About {
        name: "tenant.list",
        aliases: &[],
        id: "listTenants",
        group: OperationGroup::Keys,
        method: HttpMethod::Get,
        path: "/v1/tenants",
        scope: KeyScope::Admin,
        pages: false,
        repeats: Repeats::Harmless,
        statuses: &[(200, "Every tenant, in order of name.")],
        errors: &[ErrorCode::Forbidden],
        http_names: &[],
    };
    type Request = ListTenantsRequest;
    type Response = TenantList;

    async fn run(context: &RequestContext, _: ListTenantsRequest) -> Result<TenantList, ApiError> {
        if !is_operator(context.identity()) {
            return Err(operator_only());
        }
        let tenants = context.services().keys().tenants().into_iter().map(TenantDescription::new);
        Ok(TenantList { tenants: tenants.collect() })
    }
}

impl TenantDescription {
    fn new(keys: TenantKeys) -> Self {
        Self { tenant: keys.tenant, live_keys: keys.live, keys: keys.total }
    }
}
