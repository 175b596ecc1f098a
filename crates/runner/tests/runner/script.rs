//! Models that say what a test tells them to say.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream;
use riverrun_event::{RawJson, Usage};
use riverrun_provider::{
    Category, HistoryEntry, ItemKind, ModelError, ModelEvent, ModelRequest, ModelStream, Price, Provider,
    StopReason,
};
use tokio_util::sync::CancellationToken;

/// One answer: events, each after a pause.
#[derive(Clone)]
pub struct Say(pub Vec<(Duration, ModelEvent)>);

/// Answers each call with the next entry of its script; when the script is over, with "done".
pub struct Script {
    name: String,
    answers: Mutex<VecDeque<Say>>,
    /// By a word in the newest user text, for scenes in which several agents speak.
    by_model: Mutex<Vec<(String, VecDeque<Say>)>>,
    scenes: Mutex<Vec<(String, Vec<Say>)>>,
    pub requests: Mutex<Vec<ModelRequest>>,
    price: Option<Price>,
}

impl Script {
    pub fn new(answers: Vec<Say>) -> Self {
        Self {
            name: "script".to_owned(),
            answers: Mutex::new(answers.into()),
            by_model: Mutex::default(),
            scenes: Mutex::default(),
            requests: Mutex::default(),
            price: None,
        }
    }

    /// Every model costs this.
    pub fn priced(self, price: Price) -> Self {
        Self { price: Some(price), ..self }
    }

    /// Answers for one model name alone.
    pub fn model(self, model: &str, answers: Vec<Say>) -> Self {
        self.by_model.lock().unwrap().push((model.to_owned(), answers.into()));
        self
    }

    /// Answers of one model by how many results it has read, so that the same question has the same answer.
    pub fn scene(self, model: &str, answers: Vec<Say>) -> Self {
        self.scenes.lock().unwrap().push((model.to_owned(), answers));
        self
    }

    fn next(&self, request: &ModelRequest) -> Say {
        let model = request.model.as_str();
        let is_call = |entry: &&HistoryEntry| matches!(entry, HistoryEntry::ToolCall { .. });
        let steps = request.history.iter().filter(is_call).count().min(1);
        if let Some((_, answers)) = self.scenes.lock().unwrap().iter().find(|(name, _)| name == model) {
            return answers[steps].clone();
        }
        let mut by_model = self.by_model.lock().unwrap();
        if let Some((_, answers)) = by_model.iter_mut().find(|(name, _)| name == model) {
            return answers.pop_front().unwrap_or_else(|| text("done"));
        }
        self.answers.lock().unwrap().pop_front().unwrap_or_else(|| text("done"))
    }

    /// One more answer, behind all others.
    pub fn push(&self, say: Say) {
        self.answers.lock().unwrap().push_back(say);
    }

    pub fn calls(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

impl Provider for Script {
    fn name(&self) -> &str {
        &self.name
    }

    fn price(&self, _model: &str) -> Option<Price> {
        self.price
    }

    fn call(&self, request: ModelRequest, _cancel: CancellationToken) -> ModelStream {
        let say = self.next(&request);
        self.requests.lock().unwrap().push(request);
        Box::pin(stream::iter(say.0).then(|(pause, event)| async move {
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            event
        }))
    }
}

pub const NOW: Duration = Duration::ZERO;

fn usage() -> Usage {
    Usage { input_tokens: Some(10), output_tokens: Some(5), total_tokens: Some(15), ..Usage::default() }
}

pub fn completed(stop: StopReason) -> (Duration, ModelEvent) {
    (NOW, ModelEvent::Completed { stop, usage: usage(), members: None })
}

/// A message, word by word.
pub fn text(words: &str) -> Say {
    slow_text(words, NOW)
}

pub fn slow_text(words: &str, pause: Duration) -> Say {
    let mut events = vec![(NOW, ModelEvent::ItemStarted { index: 0, kind: ItemKind::Message })];
    for word in words.split_inclusive(' ') {
        events.push((pause, ModelEvent::Text { index: 0, delta: word.to_owned() }));
    }
    events.push((NOW, ModelEvent::ItemDone { index: 0, opaque: None }));
    events.push(completed(StopReason::End));
    Say(events)
}

/// A thought with a signature, then calls.
pub fn calls(calls: &[(&str, &str, &str)]) -> Say {
    let opaque = RawJson::parse(r#"{"signature":"s"}"#).unwrap();
    let mut events = vec![
        (NOW, ModelEvent::ItemStarted { index: 0, kind: ItemKind::Reasoning }),
        (NOW, ModelEvent::Reasoning { index: 0, summary_index: None, delta: "hm".to_owned() }),
        (NOW, ModelEvent::ItemDone { index: 0, opaque: Some(opaque) }),
    ];
    for (index, (id, name, arguments)) in (1..).zip(calls) {
        let kind = ItemKind::ToolCall { call_id: (*id).to_owned(), name: (*name).to_owned() };
        events.push((NOW, ModelEvent::ItemStarted { index, kind }));
        let (head, tail) = arguments.split_at(arguments.len() / 2);
        events.push((NOW, ModelEvent::Arguments { index, delta: head.to_owned() }));
        events.push((NOW, ModelEvent::Arguments { index, delta: tail.to_owned() }));
        events.push((NOW, ModelEvent::ItemDone { index, opaque: None }));
    }
    events.push(completed(StopReason::ToolUse));
    Say(events)
}

/// Some words, then a failure.
pub fn fails(words: &str, category: Category) -> Say {
    let mut events = slow_text(words, NOW).0;
    events.truncate(events.len() - 2);
    if words.is_empty() {
        events.clear();
    }
    let error = ModelError::new(category, "it broke");
    events.push((NOW, ModelEvent::Failed(error)));
    Say(events)
}
