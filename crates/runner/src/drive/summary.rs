//! A summary of older turns, in the words of the model itself.

use std::sync::Arc;

use futures_util::StreamExt;
use riverrun_log::{Log, NewBlob, SessionKey};
use riverrun_provider::{ModelEvent, ModelRequest, Provider};
use tokio_util::sync::CancellationToken;

use super::{Line, Report};

pub(crate) struct SummaryCall {
    pub provider: Arc<dyn Provider>,
    pub request: ModelRequest,
    pub log: Arc<dyn Log>,
    pub key: SessionKey,
}

/// A summary that is stored.
#[derive(Debug, Clone)]
pub(crate) struct Summary {
    pub reference: String,
    pub size: usize,
}

pub(crate) async fn summarise(call: SummaryCall, line: Line, cancel: CancellationToken) {
    let made = make(call, cancel).await;
    line.tell(Report::Summary(made)).await;
}

async fn make(call: SummaryCall, cancel: CancellationToken) -> Result<Summary, String> {
    let mut stream = call.provider.call(call.request, cancel);
    let (mut text, mut is_whole) = (String::new(), false);
    while let Some(event) = stream.next().await {
        match event {
            ModelEvent::Text { delta, .. } => text.push_str(&delta),
            ModelEvent::Completed { .. } => is_whole = true,
            ModelEvent::Failed(error) => return Err(error.message),
            _ => {}
        }
    }
    if !is_whole || text.trim().is_empty() {
        return Err("the model gave no summary".to_owned());
    }
    let size = text.len();
    let blob = NewBlob {
        media_type: "text/plain; charset=utf-8".to_owned(),
        bytes: text.into(),
        session: Some(call.key.session.clone()),
    };
    let info = call.log.put_blob(&call.key.tenant, blob).await.map_err(|error| error.to_string())?;
    Ok(Summary { reference: info.reference.to_string(), size })
}
