use std::collections::BTreeMap;

use riverrun_event::{ErrorCode, TenantId};
use riverrun_log::Usage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TenantFilter;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, QuotaFigure, RequestContext, Services, schema};

pub struct GetUsage;

/// Show what a tenant uses and may use.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GetUsageRequest {
    /// Another tenant, or `*` for all; only admins of the default tenant may. Default: the caller's own tenant.
    #[schemars(with = "Option<schema::TenantOrAll>")]
    tenant: Option<String>,
}

/// The figures of one tenant, or with `*` of every tenant.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum UsageFigures {
    One(Box<TenantUsage>),
    All(AllTenantUsage),
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct AllTenantUsage {
    /// In order of name.
    tenants: Vec<TenantUsage>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantUsage {
    tenant: TenantId,
    sessions: QuotaFigure,
    stored_bytes: QuotaFigure,
    /// A part of `storedBytes`, as is the next.
    log_bytes: u64,
    blob_bytes: u64,
    running_turns: QuotaFigure,
    streams: QuotaFigure,
    events_per_second: QuotaFigure,
    /// Over the last ten seconds, as is the next.
    new_sessions_per_second: QuotaFigure,
    upload_bytes_per_second: QuotaFigure,
}

impl Operation for GetUsage {
    const ABOUT: About = About {
        name: "usage.get",
        aliases: &[],
        id: "getUsage",
        group: OperationGroup::Operations,
        method: HttpMethod::Get,
        path: "/v1/usage",
        scope: KeyScope::Read,
        pages: false,
        repeats: Repeats::Harmless,
        statuses: &[(200, "The figures.")],
        errors: &[ErrorCode::Forbidden],
        http_names: &[],
    };
    type Request = GetUsageRequest;
    type Response = UsageFigures;

    async fn run(context: &RequestContext, request: GetUsageRequest) -> Result<UsageFigures, ApiError> {
        let tenant = TenantFilter::parse(request.tenant.as_deref())?.allowed(context.identity())?;
        let services = context.services();
        let mut found = services.log().usage(tenant.as_ref()).await?;
        if let Some(tenant) = tenant {
            let stored = found.pop().map_or_else(Usage::default, |(_, stored)| stored);
            return Ok(UsageFigures::One(Box::new(figures(services, tenant, stored))));
        }
        // Also those that have a key and stored nothing yet.
        let mut all: BTreeMap<TenantId, Usage> = found.into_iter().collect();
        for known in services.keys().tenants() {
            all.entry(known.tenant).or_default();
        }
        let tenants = all.into_iter().map(|(tenant, stored)| figures(services, tenant, stored)).collect();
        Ok(UsageFigures::All(AllTenantUsage { tenants }))
    }
}

fn figures(services: &Services, tenant: TenantId, stored: Usage) -> TenantUsage {
    let measured = services.meter().figures(&tenant);
    TenantUsage {
        sessions: QuotaFigure::new(stored.sessions, measured.sessions_limit),
        stored_bytes: QuotaFigure::new(stored.stored_bytes(), measured.stored_bytes_limit),
        log_bytes: stored.log_bytes,
        blob_bytes: stored.blob_bytes,
        running_turns: QuotaFigure::new(
            services.runner().turns_at_work(&tenant),
            measured.running_turns_limit,
        ),
        streams: measured.streams,
        events_per_second: measured.events_per_second,
        new_sessions_per_second: measured.new_sessions_per_second,
        upload_bytes_per_second: measured.upload_bytes_per_second,
        tenant,
    }
}
