//! One connection to a server that has greeted.

use std::collections::HashSet;

use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientRequest, ListToolsRequest,
    PaginatedRequestParams, ProgressToken, RequestId, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, RoleClient, RunningService, ServiceError};
use serde_json::Value;
use tokio::sync::Mutex;

use super::handler::Handler;
use super::stdio::Reason;
use crate::{ToolDefinition, ToolRequest};

/// Pages and tools that a server may list; a server that goes on forever is stopped.
const MAX_PAGES: usize = 100;
const MAX_TOOLS: usize = 1000;

pub(super) struct Session {
    pub service: RunningService<RoleClient, Handler>,
    /// Why it ended, once it has.
    pub reason: Reason,
    /// The tools of this very connection as they were last listed.
    pub listing: Mutex<Option<Listing>>,
}

/// Definitions with the server's own name for each, and how often the server had said that its list changed.
pub(super) struct Listing {
    pub changes: u64,
    pub tools: Vec<(ToolDefinition, String)>,
}

impl Session {
    pub fn is_over(&self) -> bool {
        self.service.is_closed() || self.service.is_transport_closed()
    }

    /// The tools as the server lists them; what is wrong with one is no fault of the others.
    pub async fn list(&self) -> Result<Vec<Value>, ServiceError> {
        let (mut tools, mut cursor, mut seen) = (Vec::new(), None::<String>, HashSet::new());
        for _ in 0..MAX_PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
            let page = self.ask(request, None).await?;
            let page: Page = serde_json::from_value(page).map_err(|_| ServiceError::UnexpectedResponse)?;
            tools.extend(page.tools);
            cursor = page.next_cursor.filter(|next| seen.insert(next.clone()));
            if cursor.is_none() || tools.len() > MAX_TOOLS {
                break;
            }
        }
        tools.truncate(MAX_TOOLS);
        Ok(tools)
    }

    /// The result as JSON. If this is dropped, the server is told that nobody waits any more.
    pub async fn ask(
        &self,
        request: ClientRequest,
        call: Option<&ToolRequest>,
    ) -> Result<Value, ServiceError> {
        let _open = call.map(|_| self.service.service().open());
        let handle =
            self.service.peer().send_cancellable_request(request, PeerRequestOptions::no_options()).await?;
        let handler = self.service.service();
        if let Some(call) = call {
            handler.watch(handle.progress_token.clone(), handle.id.clone(), call.progress.clone());
        }
        let mut waiting = Waiting::new(&handle, handler);
        let answer = handle.await_response().await;
        waiting.is_over = true;
        drop(waiting);
        let value = match answer? {
            ServerResult::CustomResult(result) => result.0,
            result => serde_json::to_value(result).map_err(|_| ServiceError::UnexpectedResponse)?,
        };
        Ok(value)
    }
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    tools: Vec<Value>,
    next_cursor: Option<String>,
}

/// A request whose answer somebody waits for.
struct Waiting<'a> {
    peer: Peer<RoleClient>,
    id: RequestId,
    token: ProgressToken,
    handler: &'a Handler,
    is_over: bool,
}

impl<'a> Waiting<'a> {
    fn new(handle: &RequestHandle<RoleClient>, handler: &'a Handler) -> Self {
        let (peer, id, token) = (handle.peer.clone(), handle.id.clone(), handle.progress_token.clone());
        Self { peer, id, token, handler, is_over: false }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.handler.unwatch(&self.token);
        if self.is_over {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (peer, id) = (self.peer.clone(), self.id.clone());
        runtime.spawn(async move {
            let params = CancelledNotificationParam::new(Some(id), Some("the caller gave up".to_owned()));
            let _ = peer.send_notification(CancelledNotification::new(params).into()).await;
        });
    }
}
