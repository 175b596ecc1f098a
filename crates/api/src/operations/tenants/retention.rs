use riverrun_event::{ErrorCode, SessionId, TenantId, Timestamp};
use riverrun_log::{Expired, ExpiredQuery};
use riverrun_session::{ANNOUNCED, Retention};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TenantFilter;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, schema};

/// The most sessions that a plan lists.
const MAX_SESSIONS: usize = 1_000;

pub struct GetRetention;

/// Show what retention deletes within a day.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GetRetentionRequest {
    /// Another tenant, or `*` for all; only admins of the default tenant may. Default: the caller's own tenant.
    #[schemars(with = "Option<schema::TenantOrAll>")]
    tenant: Option<String>,
}

/// The finished sessions whose events are deleted next.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetentionPlan {
    /// How long finished sessions are stored. Absent: for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    retention_seconds: Option<u64>,
    /// The time by which events are old; behind the clock after the clock was set forward.
    #[schemars(extend("format" = "date-time"))]
    time: String,
    clock_ahead_seconds: u64,
    sessions: Vec<PlannedDeletion>,
    events: u64,
    /// There are more sessions than are listed.
    more: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedDeletion {
    tenant: TenantId,
    session_id: SessionId,
    events: u64,
    #[schemars(extend("format" = "date-time"))]
    last_event_at: String,
    #[schemars(extend("format" = "date-time"))]
    deleted_at: String,
}

impl Operation for GetRetention {
    const ABOUT: About = About {
        name: "retention.get",
        aliases: &[],
        id: "getRetention",
        group: OperationGroup::Operations,
        method: HttpMethod::Get,
        path: "/v1/retention",
        scope: KeyScope::Read,
        pages: false,
        repeats: Repeats::Harmless,
        statuses: &[(200, "The finished sessions whose events are deleted next.")],
        errors: &[ErrorCode::Forbidden],
        http_names: &[],
    };
    type Request = GetRetentionRequest;
    type Response = RetentionPlan;

    async fn run(context: &RequestContext, request: GetRetentionRequest) -> Result<RetentionPlan, ApiError> {
        let tenant = TenantFilter::parse(request.tenant.as_deref())?.allowed(context.identity())?;
        let services = context.services();
        let wall = u64::try_from(services.now().millis()).unwrap_or(0);
        match services.sessions().retention() {
            Some(retention) => {
                let before = retention.cutoff(wall).plus(ANNOUNCED);
                let query = ExpiredQuery { tenant, before, limit: MAX_SESSIONS + 1 };
                Ok(RetentionPlan::new(services.log().expired(query).await?, retention, wall))
            }
            None => Ok(RetentionPlan::never(wall)),
        }
    }
}

impl RetentionPlan {
    fn new(mut found: Vec<Expired>, retention: &Retention, wall: u64) -> Self {
        let more = found.len() > MAX_SESSIONS;
        found.truncate(MAX_SESSIONS);
        let (now, ahead) = retention.now(wall);
        Self {
            retention_seconds: Some(retention.age().as_secs()),
            time: timestamp(now),
            clock_ahead_seconds: ahead / 1000,
            events: found.iter().map(|session| session.events).sum(),
            sessions: found.into_iter().map(|session| PlannedDeletion::new(session, retention)).collect(),
            more,
        }
    }

    /// Nothing is deleted.
    fn never(wall: u64) -> Self {
        let (time, sessions) = (timestamp(wall), Vec::new());
        Self { retention_seconds: None, time, clock_ahead_seconds: 0, sessions, events: 0, more: false }
    }
}

impl PlannedDeletion {
    fn new(expired: Expired, retention: &Retention) -> Self {
        let last = expired.updated_at.millis();
        Self {
            tenant: expired.key.tenant,
            session_id: expired.key.session,
            events: expired.events,
            last_event_at: timestamp(last),
            deleted_at: timestamp(last.saturating_add(retention.age_millis())),
        }
    }
}

fn timestamp(millis: u64) -> String {
    Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX)).to_string()
}
