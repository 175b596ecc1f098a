//! The model service's own events, where the log has them, forwarded unchanged.

use riverrun_event::{Event, Growth, ModelRaw, Payload, ServiceStream};
use serde_json::Value;

/// What is known of the service's stream.
#[derive(Debug, Clone, Default)]
pub(super) struct Service {
    stream: ServiceStream,
    /// The events of the present model call are the service's own, and nothing is rebuilt.
    pub(super) is_original: bool,
    /// Its last event was emitted.
    pub(super) has_ended: bool,
}

impl Service {
    /// A model call begins; whether its events are the service's own is not known yet.
    pub(super) fn begin_call(&mut self) {
        (self.is_original, self.has_ended) = (false, false);
    }

    /// The service's events that came with this event of the log.
    pub(super) fn events(&mut self, event: &Event) -> Vec<Value> {
        match &event.payload {
            Ok(Payload::ModelRaw(raw)) => self.original(raw).into_iter().collect(),
            Ok(_) if !self.is_original => Vec::new(),
            Ok(Payload::ModelDelta(delta)) if delta.annotations.is_some() => Vec::new(),
            Ok(Payload::ModelDelta(delta)) => {
                self.stream.read_text(Growth::Text, &delta.delta, delta.sent.as_deref())
            }
            Ok(Payload::ReasoningDelta(delta)) => {
                let growth = if delta.summary_index.is_some() { Growth::Summary } else { Growth::Reasoning };
                self.stream.read_text(growth, &delta.delta, delta.sent.as_deref())
            }
            Ok(Payload::ToolArgs(args)) => {
                self.stream.read_text(Growth::Arguments, &args.delta, args.sent.as_deref())
            }
            Ok(_) | Err(_) => Vec::new(),
        }
    }

    fn original(&mut self, raw: &ModelRaw) -> Option<Value> {
        let event = self.stream.read(raw)?;
        let name = event["type"].as_str().unwrap_or_default();
        self.is_original = true;
        self.has_ended =
            matches!(name, "response.completed" | "response.incomplete" | "response.failed" | "error");
        Some(event)
    }
}
