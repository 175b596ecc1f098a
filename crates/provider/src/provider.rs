//! What every model API looks like from here.

use std::pin::Pin;

use futures_util::Stream;
use tokio_util::sync::CancellationToken;

use crate::{ModelEvent, ModelRequest};

/// The facts of one model call, in order. It ends after exactly one `Completed` or `Failed`.
pub type ModelStream = Pin<Box<dyn Stream<Item = ModelEvent> + Send>>;

pub trait Provider: Send + Sync + 'static {
    /// The name it has in the configuration: `openai`, `anthropic`, `scripted`, …
    fn name(&self) -> &str;

    /// Calls the model. Dropping the stream or cancelling the token closes the connection to the service.
    fn call(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream;
}
