//! Conversations of two roles that take turns, as some services demand.

use serde_json::Value;

/// Everything in a row from one side is one message: the service refuses two messages of one role.
pub(crate) struct Turns {
    model_role: &'static str,
    list: Vec<Turn>,
}

struct Turn {
    by_model: bool,
    /// Reasoning of the model, or answers to its calls: they stand first.
    first: Vec<Value>,
    /// Everything else; true marks a thought.
    parts: Vec<(bool, Value)>,
}

impl Turns {
    pub fn new(model_role: &'static str) -> Self {
        Self { model_role, list: Vec::new() }
    }

    pub fn user(&mut self, part: Value) {
        self.turn(false).parts.push((false, part));
    }

    pub fn answer(&mut self, part: Value) {
        self.turn(false).first.push(part);
    }

    pub fn model(&mut self, part: Value) {
        self.turn(true).parts.push((false, part));
    }

    pub fn thought(&mut self, part: Value) {
        let turn = self.turn(true);
        // Between two calls of one message it keeps its place; the service signed it there.
        match turn.parts.is_empty() {
            true => turn.first.push(part),
            false => turn.parts.push((true, part)),
        }
    }

    /// The messages by role. Thoughts that led to nothing are left out, and the user speaks first: with `opening` if
    /// the history does not have it so.
    pub fn finish(self, opening: Value) -> Vec<(&'static str, Vec<Value>)> {
        let model_role = self.model_role;
        let mut messages: Vec<(&'static str, Vec<Value>)> = Vec::new();
        for mut turn in self.list.into_iter().filter(|turn| !turn.by_model || !turn.parts.is_empty()) {
            while turn.parts.pop_if(|(is_thought, _)| *is_thought).is_some() {}
            let role = if turn.by_model { model_role } else { "user" };
            let parts = turn.first.into_iter().chain(turn.parts.into_iter().map(|(_, part)| part));
            match messages.last_mut() {
                Some((last, content)) if *last == role => content.extend(parts),
                _ => messages.push((role, parts.collect())),
            }
        }
        if messages.first().is_none_or(|(role, _)| *role == model_role) {
            messages.insert(0, ("user", vec![opening]));
        }
        messages
    }

    fn turn(&mut self, by_model: bool) -> &mut Turn {
        if self.list.last().is_none_or(|turn| turn.by_model != by_model) {
            self.list.push(Turn { by_model, first: Vec::new(), parts: Vec::new() });
        }
        self.list.last_mut().expect("one was just pushed")
    }
}
