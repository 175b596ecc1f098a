//! One call of a tool.

use std::sync::Arc;

use riverrun_event::Block;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::ProcessHost;
use crate::written::with_address;

#[derive(Clone)]
pub struct ToolRequest {
    /// The model's name for the call.
    pub call_id: String,
    pub arguments: Value,
    /// The same for every attempt at this call, on any node: what lets an idempotent service recognise it.
    pub idempotency_key: String,
    /// By this name whatever the call leaves running on this machine is found and ended; empty if nobody looks.
    pub mark: String,
    pub session_id: String,
    pub turn_id: String,
    pub task_id: String,
    pub agent: String,
    pub cancel: CancellationToken,
    pub progress: ProgressSink,
    /// Where the process of an interactive tool is told.
    pub process: Option<Arc<dyn ProcessHost>>,
    /// Refuse the call if the tool is no longer what its definition says: it was decided upon by that.
    pub must_match: bool,
}

/// The progress of a running tool.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CallProgress {
    pub message: Option<String>,
    /// From 0 to 1.
    pub fraction: Option<f64>,
    /// A block of the output so far. The user sees it in the call's result until the next one, or the end.
    pub partial: Option<Block>,
    /// The place of `partial` among the blocks of the result; default: 0.
    pub block_index: Option<u32>,
}

impl CallProgress {
    /// JSON with `message`, `fraction`, and `partial`, which is the block of the output at `block_index`; or a message.
    pub(crate) fn read(text: &str) -> Self {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct ProgressLine {
            message: Option<String>,
            fraction: Option<f64>,
            partial: Option<Value>,
            #[serde(alias = "blockIndex")]
            block_index: Option<u32>,
        }
        let text = text.trim();
        let read = || {
            let line: ProgressLine = serde_json::from_str(text)?;
            let partial =
                line.partial.map(|block| serde_json::from_value(with_address(block))).transpose()?;
            let fraction = line.fraction.map(|fraction| fraction.clamp(0.0, 1.0));
            Ok(Self { message: line.message, fraction, partial, block_index: line.block_index })
        };
        read()
            .unwrap_or_else(|_: serde_json::Error| Self { message: Some(text.to_owned()), ..Self::default() })
    }
}

/// Where progress goes. It never blocks; progress that nobody can take is dropped.
pub type ProgressSink = Arc<dyn Fn(CallProgress) + Send + Sync>;
