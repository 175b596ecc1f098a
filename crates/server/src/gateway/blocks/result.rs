//! The whole text of a tool's result, for readers of a block that shows its beginning.

use std::borrow::Cow;

use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use riverrun_dialect::{Dialect, blocks};
use riverrun_event::{Item, cut_size, cut_text, preview};
use riverrun_log::BlobId;

use crate::app::App;
use crate::edge::{Caller, Problem, Scope, not_found};
use crate::gateway::enter;

/// `GET /v2/sessions/{session}/results/{call}`.
pub async fn result(
    State(app): State<App>,
    Path((session, call)): Path<(String, String)>,
    request: Request,
) -> Response {
    enter(&app, Dialect::Blocks, Scope::Read, request, async |asking| {
        let hub = app.hub(&asking.caller, &session).await?;
        let state = app.sessions().long_state_at(&hub.key, hub.head()).await?;
        let mut items = state.tasks.iter().flat_map(|task| &task.output);
        let is_it = |item: &&Item| matches!(item, Item::ToolResult(result) if result.call_id == call);
        let item = items.rfind(is_it).ok_or_else(not_found)?;
        let text = whole(&app, &asking.caller, &blocks::result_texts(item)).await?;
        let headers = [
            (CONTENT_TYPE, "text/plain; charset=utf-8"),
            (CONTENT_DISPOSITION, "attachment"),
            (CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"),
        ];
        Ok((headers, text).into_response())
    })
    .await
}

/// The texts with what was cut out of them.
async fn whole(app: &App, caller: &Caller, texts: &[&str]) -> Result<String, Problem> {
    let mut out = String::new();
    for (at, text) in texts.iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        let cut = cut_text(text).and_then(|(start, reference)| Some((start, BlobId::parse(reference)?)));
        let blob = match &cut {
            Some((_, reference)) => app.log().blob(caller.tenant(), reference).await?,
            None => None,
        };
        let whole = blob.as_ref().map(|blob| String::from_utf8_lossy(&blob.bytes));
        // A tool may write such words itself: they open nothing whose beginning it has not seen.
        let is_it = |whole: &Cow<'_, str>| {
            cut.as_ref().is_some_and(|(start, _)| *start == preview(whole))
                && cut_size(text) == Some(whole.len() as u64)
        };
        match whole.filter(is_it) {
            Some(whole) => out.push_str(&whole),
            None => out.push_str(text),
        }
    }
    Ok(out)
}
