//! The connection to a server, kept over its crashes.

use std::sync::Arc;
use std::time::Duration;

use riverrun_net::Backoff;
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, PingRequest, RequestMetaObject};
use rmcp::service::{ClientInitializeError, ServiceError, serve_client};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;

use super::handler::Handler;
use super::http::HttpLink;
use super::session::{Listing, Session};
use super::stdio::{Ending, Reason, Stdio};
use super::{Endpoint, McpConfig, McpTool, Offer, Refused, content, offer, unread};
use crate::run::cancelled;
use crate::scrub::Scrubber;
use crate::{ToolDefinition, ToolError, ToolErrorKind, ToolOutput, ToolRequest};

const MAX_TEXT: usize = 2000;
/// In `_meta` of a call: the same for every attempt at it.
const KEY: &str = "riverrun/idempotencyKey";
/// A server that leaves a call unanswered has this long to show that it still reads.
const PING: Duration = Duration::from_secs(5);
const RESTARTS: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(30));
/// A call waits so long for a server that is away; a longer wait is told at once.
const PATIENCE: Duration = Duration::from_secs(2);

pub struct McpServer {
    config: McpConfig,
    changes: watch::Sender<u64>,
    link: Mutex<Link>,
}

#[derive(Default)]
struct Link {
    session: Option<Arc<Session>>,
    /// Ends and failed starts since the last call that succeeded.
    failures: u32,
    not_before: Option<Instant>,
    was_there: bool,
}

impl McpServer {
    /// Nothing is started yet.
    pub fn new(config: McpConfig) -> Arc<Self> {
        let server = Self { config, changes: watch::Sender::new(0), link: Mutex::default() };
        // Known from the start: a tool may find a secret before this server is asked.
        server.secrets();
        if let Endpoint::Http { url, .. } = &server.config.endpoint {
            riverrun_secret::learn_url(url);
        }
        Arc::new(server)
    }

    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// Changes whenever the server says that its list did.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// What the server offers now.
    pub async fn offer(self: &Arc<Self>) -> Result<Offer, ToolError> {
        let listing = async {
            let session = self.session().await?;
            let mut listing = session.listing.lock().await;
            let (fresh, refused) = self.list(&session).await?;
            let taken = fresh.tools.clone();
            *listing = Some(fresh);
            Ok((taken, refused))
        };
        let (taken, refused) = self.in_time(listing).await?;
        for refused in &refused {
            tracing::warn!(
                server = self.name(),
                tool = refused.name,
                reason = refused.reason,
                "tool not offered"
            );
        }
        let tool = |(definition, remote)| McpTool { definition, remote, server: self.clone() };
        Ok(Offer { tools: taken.into_iter().map(tool).collect(), refused })
    }

    /// The tools of a connection. A change that the server tells meanwhile makes the listing an old one.
    async fn list(&self, session: &Session) -> Result<(Listing, Vec<Refused>), ToolError> {
        let changes = session.service.service().list_changes();
        let listed = session.list().await;
        let mut listed = self.settle(session, listed).await?;
        let secrets = self.secrets();
        listed.iter_mut().for_each(|tool| secrets.json(tool));
        let (tools, refused) = offer::sort(&self.config, listed);
        Ok((Listing { changes, tools }, refused))
    }

    async fn in_time<T>(&self, listing: impl Future<Output = Result<T, ToolError>>) -> Result<T, ToolError> {
        let listed = tokio::time::timeout(self.config.start_timeout, listing).await;
        listed.map_err(|_| self.error(ToolErrorKind::Timeout, "did not list its tools in time"))?
    }

    /// Refuses a call of a tool that this connection does not offer as it was defined. A program that was started
    /// again may offer something else under the name, and so may one that says that its list changed. Behind an
    /// address the server may be another one at any time, so it is asked before every call.
    async fn check_tool(
        &self,
        session: &Session,
        wanted: &ToolDefinition,
        remote: &str,
    ) -> Result<(), ToolError> {
        let mut listing = session.listing.lock().await;
        let is_program = matches!(self.config.endpoint, Endpoint::Stdio(_));
        let changes = session.service.service().list_changes();
        let is_fresh = |listing: &Listing| is_program && listing.changes == changes;
        if !listing.as_ref().is_some_and(is_fresh) {
            let (fresh, _) = self.in_time(self.list(session)).await?;
            *listing = Some(fresh);
        }
        let offered = listing.iter().flat_map(|listing| &listing.tools);
        let same = |(offered, name): &(ToolDefinition, String)| name == remote && offered == wanted;
        if offered.into_iter().any(same) {
            return Ok(());
        }
        let text =
            format!("no longer offers `{}` as it did when the call was decided; it was not run", wanted.name);
        Err(self.error(ToolErrorKind::Denied, &text))
    }

    /// Ends the connection; the next call starts it again.
    pub async fn stop(&self) {
        *self.link.lock().await = Link::default();
    }

    pub(super) async fn call(
        self: &Arc<Self>,
        definition: &ToolDefinition,
        remote: &str,
        call: ToolRequest,
    ) -> Result<ToolOutput, ToolError> {
        let cancel = call.cancel.clone();
        tokio::select! {
            () = cancel.cancelled() => Err(cancelled(&definition.name)),
            done = self.call_now(definition, remote, call) => done,
        }
    }

    async fn call_now(
        self: &Arc<Self>,
        definition: &ToolDefinition,
        remote: &str,
        mut call: ToolRequest,
    ) -> Result<ToolOutput, ToolError> {
        let session = self.session().await?;
        if call.must_match {
            self.check_tool(&session, definition, remote).await?;
        }
        let secrets = self.secrets();
        call.progress = secrets.progress(call.progress);
        let arguments = call.arguments.as_object().cloned().unwrap_or_default();
        let mut params = CallToolRequestParams::new(remote.to_owned()).with_arguments(arguments);
        let mut meta = RequestMetaObject::default();
        meta.0.insert(KEY.to_owned(), call.idempotency_key.clone().into());
        params.meta = Some(meta);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let mut doubt = Doubt { server: Some(self.clone()), session: session.clone() };
        let answer = session.ask(request, Some(&call)).await;
        doubt.server = None;
        let mut result = self.settle(&session, answer).await.map_err(|error| secrets.error(error))?;
        secrets.json(&mut result);
        content::output(&result, self.config.output_limit).ok_or_else(|| {
            self.error(ToolErrorKind::Failed, "answered with something that is no tool result")
        })
    }

    /// A call was given up: a program that does not answer a ping either hangs, and is ended so that the next call
    /// starts it anew.
    async fn probe(&self, session: &Arc<Session>) {
        let ping = session.ask(ClientRequest::PingRequest(PingRequest::default()), None);
        let answer = tokio::time::timeout(PING.min(self.config.start_timeout), ping).await;
        if answer.is_ok() {
            return;
        }
        let mut link = self.link.lock().await;
        session.service.cancellation_token().cancel();
        if link.session.as_ref().is_some_and(|known| Arc::ptr_eq(known, session)) {
            tracing::warn!(server = self.name(), "an MCP server hangs; it is ended and started again");
            link.session = None;
            link.fail();
        }
    }

    async fn session(&self) -> Result<Arc<Session>, ToolError> {
        let mut link = self.link.lock().await;
        match &link.session {
            Some(session) if !session.is_over() => {
                return Ok(session.clone());
            }
            Some(_) => link.fail(),
            None => {}
        }
        link.session = None;
        if let Some(not_before) = link.not_before {
            let wait = not_before.saturating_duration_since(Instant::now());
            if wait > PATIENCE {
                let text = format!("is away; it is looked for again in {} s", wait.as_secs().max(1));
                return Err(self.error(ToolErrorKind::Unavailable, &text));
            }
            tokio::time::sleep(wait).await;
        }
        match self.start().await {
            Ok(session) => {
                let session = Arc::new(session);
                link.session = Some(session.clone());
                // Another process may offer something else.
                if std::mem::replace(&mut link.was_there, true) {
                    self.changes.send_modify(|count| *count += 1);
                }
                Ok(session)
            }
            Err(error) => {
                link.fail();
                Err(error)
            }
        }
    }

    async fn start(&self) -> Result<Session, ToolError> {
        let reason = Reason::default();
        let handler = Handler::new(self.changes.clone());
        let greeting = async {
            match &self.config.endpoint {
                Endpoint::Stdio(program) => {
                    let stdio = Stdio::start(self.name(), program, self.config.message_limit, reason.clone());
                    let stdio = stdio.map_err(|error| format!("cannot be started: {error}"))?;
                    serve_client(handler, stdio).await.map_err(|error| not_greeted(&error))
                }
                Endpoint::Http { url, .. } => {
                    let config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
                    let transport = StreamableHttpClientTransport::with_client(self.http()?, config);
                    serve_client(handler, transport).await.map_err(|error| not_greeted(&error))
                }
            }
        };
        let greeted = tokio::time::timeout(self.config.start_timeout, greeting).await;
        let timeout = || format!("did not greet within {} ms", self.config.start_timeout.as_millis());
        let service = greeted.unwrap_or_else(|_| Err(timeout()));
        let service = service.map_err(|text| self.error(ToolErrorKind::Unavailable, &text))?;
        Ok(Session { service, reason, listing: Mutex::default() })
    }

    /// What the server is given today and must not tell.
    fn secrets(&self) -> Scrubber {
        match &self.config.endpoint {
            Endpoint::Stdio(program) => program.scrubber(),
            Endpoint::Http { headers, .. } => {
                Scrubber::of(headers.iter().map(|(name, value)| (name.as_str(), value)))
            }
        }
    }

    fn http(&self) -> Result<HttpLink, String> {
        let Endpoint::Http { headers, outbound, .. } = &self.config.endpoint else {
            return Err("has no address".to_owned());
        };
        let header = |(name, value): &(String, _)| match name.parse() {
            Ok(name) => Ok((name, Clone::clone(value))),
            Err(_) => Err(format!("has a header `{name}` that is no header name")),
        };
        let headers = headers.iter().map(header).collect::<Result<Vec<_>, String>>()?;
        let limit = self.config.message_limit;
        let (outbound, headers) = (Arc::new(outbound.clone()), Arc::new(headers));
        Ok(HttpLink { outbound, headers, limit, changes: self.changes.clone() })
    }

    /// Remembers whether the server works, and puts its failure in words.
    async fn settle<T>(&self, session: &Session, answer: Result<T, ServiceError>) -> Result<T, ToolError> {
        match answer {
            Ok(value) => {
                let mut link = self.link.lock().await;
                (link.failures, link.not_before) = (0, None);
                Ok(value)
            }
            Err(error) => Err(self.failure(session, error)),
        }
    }

    fn failure(&self, session: &Session, error: ServiceError) -> ToolError {
        match error {
            ServiceError::McpError(error) => {
                if let Some((kind, text)) = unread::describe(&error) {
                    return self.error(kind, &text);
                }
                let text = format!("answered with an error: {} ({})", error.message, error.code.0);
                self.error(ToolErrorKind::Failed, &text)
            }
            ServiceError::TransportSend(error) => {
                let kind = match self.config.endpoint {
                    Endpoint::Stdio(_) => ToolErrorKind::Crashed,
                    Endpoint::Http { .. } => ToolErrorKind::Unavailable,
                };
                self.error(kind, &format!("could not be told: {}", error.error))
            }
            ServiceError::TransportClosed => self.gone(session),
            ServiceError::Cancelled { .. } => self.error(ToolErrorKind::Cancelled, "gave the call up"),
            ServiceError::Timeout { .. } => self.error(ToolErrorKind::Timeout, "did not answer in time"),
            error => self.error(ToolErrorKind::Failed, &format!("broke the protocol: {error}")),
        }
    }

    fn gone(&self, session: &Session) -> ToolError {
        let reason = session.reason.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        match reason {
            Some(Ending::TooLong(limit)) => {
                let text = format!("wrote a message of more than {limit} bytes and was cut off");
                self.error(ToolErrorKind::LimitPassed, &text)
            }
            Some(Ending::Garbage) => {
                self.error(ToolErrorKind::Crashed, "wrote line after line that is no message, and was cut off")
            }
            Some(Ending::Exit) | None => self.error(
                ToolErrorKind::Crashed,
                "went away during the call; what the call did is not known. It is started again for the next call",
            ),
        }
    }

    fn error(&self, kind: ToolErrorKind, text: &str) -> ToolError {
        let mut text = self.secrets().text(&format!("the MCP server `{}` {text}", self.config.name));
        if let Some((at, _)) = text.char_indices().nth(MAX_TEXT) {
            text.truncate(at);
            text.push('…');
        }
        ToolError::new(kind, text)
    }
}

/// A call whose answer has not come. Dropped with the server in it, somebody gave it up.
struct Doubt {
    server: Option<Arc<McpServer>>,
    session: Arc<Session>,
}

impl Drop for Doubt {
    fn drop(&mut self) {
        let Some(server) = self.server.take() else { return };
        // A server behind an address gets each message on a connection of its own: nothing there can hang for all.
        if !matches!(server.config.endpoint, Endpoint::Stdio(_)) {
            return;
        }
        let session = self.session.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { server.probe(&session).await });
        }
    }
}

/// What a person understands of it: the name of the transport's Rust type is no help.
fn not_greeted(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => format!("did not greet: {}", error.error),
        error => format!("did not greet: {error}"),
    }
}

impl Link {
    /// The first restart is at once; then each waits twice as long.
    fn fail(&mut self) {
        self.failures = self.failures.saturating_add(1);
        let pauses = self.failures.saturating_sub(1);
        self.not_before = (pauses > 0).then(|| Instant::now() + RESTARTS.pause(pauses));
    }
}
