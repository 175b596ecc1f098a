//! A summary of older turns, in the words of the model itself.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::{FutureExt, StreamExt};
use riverrun_event::Usage;
use riverrun_log::{Log, NewBlob, SessionKey};
use riverrun_provider::{Category, ModelError, ModelEvent, ModelRequest, Provider, StopReason};
use tokio_util::sync::CancellationToken;

use super::{Report, Reporter, redact};
use crate::call_pool::Permit;

pub(crate) struct SummaryCall {
    pub provider: Arc<dyn Provider>,
    pub request: ModelRequest,
    pub log: Arc<dyn Log>,
    pub key: SessionKey,
}

/// What came of it: how the model's call ended, and the summary if there is one.
#[derive(Debug)]
pub(crate) struct Summarised {
    pub call: Result<CompletedCall, ModelError>,
    /// The bytes of the service, where they are to be kept.
    pub raw: Vec<u8>,
    pub stored: Result<Summary, String>,
}

/// The end of a model call that went well.
#[derive(Debug)]
pub(crate) struct CompletedCall {
    pub stop: StopReason,
    pub usage: Usage,
    pub model: Option<String>,
    pub response: Option<String>,
}

/// A summary that is stored.
#[derive(Debug, Clone)]
pub(crate) struct Summary {
    pub reference: String,
    pub size: usize,
}

pub(crate) async fn summarise(
    call: SummaryCall,
    reporter: Reporter,
    permit: impl Future<Output = Option<Permit>>,
    cancel: CancellationToken,
) {
    let Some(_permit) = permit.await else { return };
    let SummaryCall { provider, request, log, key } = call;
    let mut raw = Vec::new();
    let asked = AssertUnwindSafe(ask(&*provider, request, cancel, &mut raw)).catch_unwind().await;
    let asked = asked.unwrap_or_else(|_| {
        Err(ModelError::new(Category::Protocol, "the provider's code failed; see the server's log"))
    });
    let summarised = match asked {
        Ok((text, completed)) => {
            Summarised { call: Ok(completed), raw, stored: store(text, &*log, &key).await }
        }
        Err(error) => Summarised { stored: Err(error.message.clone()), raw, call: Err(error) },
    };
    reporter.report(Report::Summary(Box::new(summarised))).await;
}

async fn ask(
    provider: &dyn Provider,
    request: ModelRequest,
    cancel: CancellationToken,
    raw: &mut Vec<u8>,
) -> Result<(String, CompletedCall), ModelError> {
    let mut stream = provider.call(request, cancel);
    let (mut text, mut named) = (String::new(), (None, None));
    while let Some(event) = stream.next().await {
        match event {
            ModelEvent::Failed(error) => return Err(redact::error(error)),
            ModelEvent::Started { response_id, model } => named = (response_id, model),
            ModelEvent::Text { delta, .. } | ModelEvent::Scored { delta, .. } => text.push_str(&delta),
            ModelEvent::Raw(bytes) => *raw = riverrun_secret::known().bytes(&bytes).into_owned(),
            ModelEvent::Completed { stop, usage, .. } => {
                let (response, model) = named;
                return Ok((redact::text(text), CompletedCall { stop, usage, model, response }));
            }
            ModelEvent::ItemStarted { .. }
            | ModelEvent::Reasoning { .. }
            | ModelEvent::Arguments { .. }
            | ModelEvent::Block { .. }
            | ModelEvent::Annotated { .. }
            | ModelEvent::ItemDone { .. }
            | ModelEvent::Refusal { .. }
            | ModelEvent::Frame { .. }
            | ModelEvent::RateLimited(_)
            | ModelEvent::State(_)
            | ModelEvent::Vendor { .. }
            | ModelEvent::Original(_)
            | ModelEvent::Sent { .. }
            | ModelEvent::Warning { .. } => {}
        }
    }
    Err(ModelError::new(Category::Truncated, "the model's answer ended without its terminal event"))
}

async fn store(text: String, log: &dyn Log, key: &SessionKey) -> Result<Summary, String> {
    if text.trim().is_empty() {
        return Err("the model gave no summary".to_owned());
    }
    let size = text.len();
    let blob = NewBlob {
        media_type: "text/plain; charset=utf-8".to_owned(),
        bytes: text.into(),
        session: Some(key.session.clone()),
    };
    let info = log.put_blob(&key.tenant, blob).await.map_err(|error| error.to_string())?;
    Ok(Summary { reference: info.reference.to_string(), size })
}
