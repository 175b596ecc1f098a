//! What the stream decoders have in common.
//!
//! A decoder is pure: bytes in any split go in, [`ModelEvent`]s come out. [`SseParser`] makes frames of the bytes, a
//! [`Protocol`] reads one service's frames, and [`Answer`] keeps the promises that every provider makes.

mod answer;
mod json;
mod surrogate;
#[cfg(test)]
mod tests;

use riverrun_net::{SseError, SseFrame, SseParser};

use crate::{Category, ModelError, ModelEvent};

pub(crate) use answer::Answer;
pub(crate) use json::Json;

/// Turns a service's bytes into events. Made by the service's folder, pushed by the transport or by a test.
pub trait Decoder: Send {
    fn push(&mut self, bytes: &[u8]) -> Vec<ModelEvent>;

    /// The body ended cleanly. The last event of a decoder is always `Completed` or `Failed`, and it comes once.
    fn end(&mut self) -> Vec<ModelEvent>;

    /// The body broke off.
    fn fail(&mut self, error: ModelError) -> Vec<ModelEvent>;

    /// The terminal event came: further bytes say nothing.
    fn is_over(&self) -> bool;

    /// From now on the service's own events are given along. Only a decoder of Responses has them.
    fn keep_events(&mut self) {}
}

/// One service's reading of its frames.
pub(crate) trait Protocol: Send {
    fn frame(&mut self, data: &Json, answer: &mut Answer);

    /// Reads the frame that nearly all of them are, straight from its text. False if it is another one.
    fn plain_frame(&mut self, _data: &str, _answer: &mut Answer) -> bool {
        false
    }

    /// `[DONE]`, the one frame that is no JSON. It is no terminal unless the service says so.
    fn done_mark(&mut self, _answer: &mut Answer) {}

    /// See [`Decoder::keep_events`].
    fn keep_events(&mut self) {}

    /// The body ended; services whose end is the end of the body complete here.
    fn end(&mut self, _answer: &mut Answer) {}
}

pub(crate) struct SseDecoder<P> {
    parser: SseParser,
    protocol: P,
    answer: Answer,
}

/// A frame larger than this is no frame of a model; one that holds a picture may be some megabytes.
pub(crate) const MOST_FRAME_BYTES: usize = 16 << 20;

impl<P: Protocol> SseDecoder<P> {
    pub fn new(protocol: P) -> Self {
        Self { parser: SseParser::new(MOST_FRAME_BYTES), protocol, answer: Answer::default() }
    }

    fn frame(&mut self, frame: &SseFrame) {
        let data = frame.data.trim();
        if data.is_empty() || self.answer.is_over() {
            return;
        }
        if data == "[DONE]" {
            return self.protocol.done_mark(&mut self.answer);
        }
        // Only an escape can hide half a character.
        if !data.contains("\\u") {
            self.answer.begin_frame(false);
            if self.protocol.plain_frame(data, &mut self.answer) {
                return;
            }
        }
        match Json::parse(data) {
            Ok(json) => {
                self.answer.begin_frame(json.has_lone_surrogates);
                self.protocol.frame(&json, &mut self.answer);
            }
            Err(message) => self.answer.fail(protocol_error(message)),
        }
    }
}

impl<P: Protocol> Decoder for SseDecoder<P> {
    fn push(&mut self, bytes: &[u8]) -> Vec<ModelEvent> {
        let mut frames = Vec::new();
        let result = self.parser.push(bytes, &mut frames);
        for frame in &frames {
            self.frame(frame);
        }
        if let Err(error) = result {
            self.answer.fail(match error {
                SseError::TooLong { .. } => too_large(error.to_string()),
                SseError::InvalidUtf8 => protocol_error(error.to_string()),
            });
        }
        self.answer.take()
    }

    fn end(&mut self) -> Vec<ModelEvent> {
        // What stands after the last blank line was cut, so it says nothing.
        if !self.answer.is_over() {
            self.protocol.end(&mut self.answer);
        }
        self.answer.fail(ModelError::new(
            Category::Truncated,
            "the stream ended without its terminal event: the answer was cut",
        ));
        self.answer.take()
    }

    fn fail(&mut self, error: ModelError) -> Vec<ModelEvent> {
        self.answer.fail(error);
        self.answer.take()
    }

    fn is_over(&self) -> bool {
        self.answer.is_over()
    }

    fn keep_events(&mut self) {
        self.protocol.keep_events();
    }
}

pub(crate) fn protocol_error(message: impl Into<String>) -> ModelError {
    ModelError::new(Category::Protocol, message)
}

/// More than is read of one answer.
pub(crate) fn too_large(message: String) -> ModelError {
    ModelError { fault: Some("answer_too_large"), ..protocol_error(message) }
}
