//! Share links over JSON-RPC: the same as the routes under `/v1/sessions/{session}/shares`.

use serde::Deserialize;

use super::carry::text;
use super::control::Asked;
use super::params::OfSession;
use super::turn_control::split;
use crate::edge::{Problem, decode_text};
use crate::route::{self, ShareView};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct OfShare {
    session_id: String,
    share_id: String,
}

pub(super) async fn create(asked: &Asked<'_>, params: &str) -> Result<String, Problem> {
    let ([session], body) = split(params, ["sessionId"])?;
    let hub = asked.app.hub(asked.caller, &session).await?;
    let share = route::make_share(asked.app, &hub, &decode_text(&body)?).await?;
    Ok(text(&ShareView::new(asked.app, asked.base_url, share)))
}

pub(super) async fn list(asked: &Asked<'_>, of: OfSession) -> Result<String, Problem> {
    let hub = asked.app.hub(asked.caller, &of.session_id).await?;
    Ok(text(&route::shares(asked.app, &hub, asked.base_url).await?))
}

pub(super) async fn get(asked: &Asked<'_>, of: OfShare) -> Result<String, Problem> {
    let hub = asked.app.hub(asked.caller, &of.session_id).await?;
    let share = route::share_of_session(asked.app, &hub, &of.share_id).await?;
    Ok(text(&ShareView::new(asked.app, asked.base_url, share)))
}

pub(super) async fn revoke(asked: &Asked<'_>, of: OfShare) -> Result<String, Problem> {
    let hub = asked.app.hub(asked.caller, &of.session_id).await?;
    let share = route::revoke_share(asked.app, &hub, &of.share_id).await?;
    Ok(text(&ShareView::new(asked.app, asked.base_url, share)))
}
