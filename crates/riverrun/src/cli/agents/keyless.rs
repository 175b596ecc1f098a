//! A provider whose key is not here. Nothing that is declared uses it, so the server runs; who asks for it is told.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use riverrun_provider::{
    Category, ModelError, ModelEvent, ModelRequest, ModelStream, Price, Probe, Provider,
};
use tokio_util::sync::CancellationToken;

pub struct Keyless {
    /// The same without what is absent.
    pub service: Arc<dyn Provider>,
    /// What is absent.
    pub why: String,
}

impl Keyless {
    fn error(&self) -> ModelError {
        ModelError::new(Category::Authentication, format!("{}; set it and start the server again", self.why))
    }
}

impl Provider for Keyless {
    fn name(&self) -> &str {
        self.service.name()
    }

    fn models(&self) -> Vec<String> {
        self.service.models()
    }

    fn speaks(&self) -> Option<&'static str> {
        self.service.speaks()
    }

    fn has_threads(&self) -> bool {
        self.service.has_threads()
    }

    fn price(&self, model: &str) -> Option<Price> {
        self.service.price(model)
    }

    fn body(&self, request: &ModelRequest) -> Bytes {
        self.service.body(request)
    }

    fn probe(&self) -> Probe<'_> {
        Box::pin(std::future::ready(Err(self.error())))
    }

    fn call(&self, _request: ModelRequest, _cancel: CancellationToken) -> ModelStream {
        Box::pin(stream::iter([ModelEvent::Failed(self.error())]))
    }
}
