//! What every model API looks like from here.

use std::pin::Pin;

use bytes::Bytes;
use futures_util::Stream;
use riverrun_event::RawJson;
use tokio_util::sync::CancellationToken;

use crate::{ModelError, ModelEvent, ModelRequest, Price};

/// The facts of one model call, in order. It ends after exactly one `Completed` or `Failed`.
pub type ModelStream = Pin<Box<dyn Stream<Item = ModelEvent> + Send>>;

/// The status that a service answers, or why it does not.
pub type Probe<'a> = Pin<Box<dyn Future<Output = Result<u16, ModelError>> + Send + 'a>>;

/// What a service answers to a question that is no model call, or why it does not.
pub type Counting<'a> = Pin<Box<dyn Future<Output = Result<RawJson, ModelError>> + Send + 'a>>;

pub trait Provider: Send + Sync + 'static {
    /// The name it has in the configuration: `openai`, `anthropic`, `scripted`, …
    fn name(&self) -> &str;

    /// The models that are known by name; a service may have more.
    fn models(&self) -> Vec<String> {
        Vec::new()
    }

    /// The dialect that the service speaks (`responses`, `chat`, `anthropic`, `gemini`); None if it has none.
    fn speaks(&self) -> Option<&'static str> {
        None
    }

    /// True if the service holds conversations itself (Anthropic's `thread`).
    fn has_threads(&self) -> bool {
        false
    }

    /// What the model costs; None if nobody said.
    fn price(&self, _model: &str) -> Option<Price> {
        None
    }

    /// The body of the request as it goes to the service, for those who keep it. It never holds the key.
    fn body(&self, request: &ModelRequest) -> Bytes {
        Bytes::from(crate::chat::encode(request, self.name()).to_string())
    }

    /// Asks the service whether it is there, without calling a model: the HTTP status that it answers.
    fn probe(&self) -> Probe<'_> {
        Box::pin(std::future::ready(Ok(200)))
    }

    /// Asks how many tokens a request in the service's own words has, without calling a model: the service's answer as
    /// it is. None if the service cannot be asked.
    fn count_tokens(&self, _request: ModelRequest) -> Option<Counting<'_>> {
        None
    }

    /// Calls the model. Dropping the stream or cancelling the token closes the connection to the service.
    fn call(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream;
}
