//! Sessions that nobody wrote by hand: turns with reasoning, tools, sub-agents, citations, pictures, decisions,
//! failures and types that nobody knows. The same seed gives the same session.

use serde_json::{Value, json};

/// A small generator of numbers.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % sides.max(1)
    }

    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.roll(of.len())]
    }

    pub fn once_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == 0
    }
}

/// The events of a session of so many turns.
pub fn session(seed: u64, turns: usize) -> Vec<Value> {
    let mut teller = Teller { dice: Dice::new(seed), events: Vec::new(), scope: json!({}), items: 0 };
    teller.tell("session.created", json!({"title": "Wetter 🌧", "agent": "main"}));
    for turn in 0..turns {
        teller.turn(turn);
    }
    teller.events
}

struct Teller {
    dice: Dice,
    events: Vec<Value>,
    scope: Value,
    items: usize,
}

impl Teller {
    fn tell(&mut self, kind: &str, payload: Value) {
        self.tell_of(kind, payload, json!({}));
    }

    fn tell_of(&mut self, kind: &str, payload: Value, more: Value) {
        let mut event = json!({"type": kind, "payload": payload});
        for members in [&self.scope, &more] {
            for (name, value) in members.as_object().expect("members") {
                event[name.as_str()] = value.clone();
            }
        }
        self.events.push(event);
    }

    fn turn(&mut self, turn: usize) {
        self.scope = json!({"turnId": format!("turn_{turn}"), "taskId": format!("task_{turn}"), "runId": format!("run_{turn}")});
        self.tell("turn.submitted", json!({"input": "Regnet es?"}));
        self.tell("turn.started", json!({}));
        self.task(0);
        match self.dice.roll(7) {
            0 => self.tell("turn.failed", json!({"error": {"message": "gone"}})),
            1 => self.tell("turn.cancelled", json!({"mode": "immediate"})),
            2 => {}
            _ => self.tell("turn.completed", json!({"finalOutput": "ja", "usage": {"inputTokens": 7}})),
        }
    }

    fn task(&mut self, depth: usize) {
        let mut at = 0;
        for _ in 0..1 + self.dice.roll(4) {
            match self.dice.roll(7) {
                0 => self.reasoning(&mut at),
                1 | 2 => self.tool(&mut at),
                3 if depth < 2 => self.child(&mut at, depth),
                4 => self.tell(self.strange(), json!({"any": [1.50, {"x": null}], "é": "天"})),
                _ => self.message(&mut at),
            }
        }
    }

    fn strange(&self) -> &'static str {
        ["x.vendor.thing", "weather.changed"][self.events.len() % 2]
    }

    fn item(&mut self, at: &mut usize) -> (String, usize) {
        self.items += 1;
        *at += 1;
        (format!("item_{}", self.items), *at - 1)
    }

    fn text(&mut self) -> String {
        const PIECES: [&str; 12] =
            ["[^", "1]", "[^2]", "`", "Es regnet ", "é", "e\u{301}", "天", "🌧", "\n\n", "\"\\", " "];
        (0..1 + self.dice.roll(4)).map(|_| self.dice.pick(&PIECES)).collect()
    }

    fn reasoning(&mut self, at: &mut usize) {
        let (id, index) = self.item(at);
        self.tell(
            "item.started",
            json!({"item": {"type": "reasoning", "id": id, "summary": []}, "outputIndex": index}),
        );
        for part in 0..self.dice.roll(3) {
            for _ in 0..1 + self.dice.roll(3) {
                let text = self.text();
                self.tell(
                    "reasoning.delta",
                    json!({"delta": text, "itemId": id, "outputIndex": index, "summaryIndex": part}),
                );
            }
        }
        self.tell("item.completed", json!({"item": {"type": "reasoning", "id": id}, "outputIndex": index}));
    }

    fn message(&mut self, at: &mut usize) {
        let (id, index) = self.item(at);
        self.tell("item.started", json!({"item": {"type": "message", "id": id, "role": "assistant", "blockList": []}, "outputIndex": index}));
        for block in 0..1 + self.dice.roll(2) {
            for _ in 0..1 + self.dice.roll(6) {
                let text = self.text();
                self.tell(
                    "model.delta",
                    json!({"delta": text, "itemId": id, "outputIndex": index, "blockIndex": block}),
                );
            }
        }
        if self.dice.once_in(3) {
            let change = self.dice.pick(&["added", "replaced", "done"]);
            let picture =
                json!({"type": "image", "imageUrl": {"url": "data:image/png;base64,AA"}, "refId": 2});
            self.tell("item.updated", json!({"itemId": id, "outputIndex": index, "blockIndex": 2, "block": picture, "change": change}));
        }
        match self.dice.roll(6) {
            0 => self
                .tell("item.retracted", json!({"itemId": id, "outputIndex": index, "reason": "guardrail"})),
            1 => {}
            _ => self.tell(
                "item.completed",
                json!({"item": {"type": "message", "id": id, "content": null}, "outputIndex": index}),
            ),
        }
    }

    fn call(&mut self, at: &mut usize, name: &str) -> String {
        let (id, index) = self.item(at);
        let call = format!("call_{}", self.items);
        self.tell("item.started", json!({"item": {"type": "tool_call", "id": id, "callId": call, "name": name, "arguments": ""}, "outputIndex": index}));
        for piece in ["{\"city\":", "\"Köln\"", "}"] {
            self.tell(
                "tool.args",
                json!({"delta": piece, "itemId": id, "outputIndex": index, "callId": call}),
            );
        }
        self.tell(
            "item.completed",
            json!({"item": {"type": "tool_call", "id": id, "callId": call}, "outputIndex": index}),
        );
        call
    }

    fn tool(&mut self, at: &mut usize) {
        let call = self.call(at, "weather");
        let scope = json!({"toolCallId": call});
        if self.dice.once_in(2) {
            let action = json!({"toolCallId": call, "actionId": format!("act_{call}")});
            self.tell_of(
                "action.required",
                json!({"actionType": "tool_permission", "toolName": "weather"}),
                action.clone(),
            );
            if !self.dice.once_in(3) {
                self.tell_of("action.resolved", json!({"decision": "approve", "source": "user"}), action);
            }
        }
        self.tell_of("tool.started", json!({"toolName": "weather"}), scope.clone());
        if self.dice.once_in(5) {
            return self.tell_of("tool.failed", json!({"error": {"message": "no net"}}), scope);
        }
        self.tell_of("tool.result", json!({"preview": "rain"}), scope);
        let (id, index) = self.item(at);
        let block = json!({"type": "text", "text": "rain", "refId": 1});
        self.tell(
            "item.started",
            json!({"item": {"type": "tool_result", "id": id, "callId": call}, "outputIndex": index}),
        );
        self.tell(
            "item.updated",
            json!({"itemId": id, "outputIndex": index, "blockIndex": 0, "block": block, "change": "done"}),
        );
        self.tell(
            "item.completed",
            json!({"item": {"type": "tool_result", "id": id, "content": [block]}, "outputIndex": index}),
        );
    }

    fn child(&mut self, at: &mut usize, depth: usize) {
        let call = self.call(at, "delegate");
        let (id, index) = self.item(at);
        self.tell("item.started", json!({"item": {"type": "tool_result", "id": id, "callId": call, "blockList": []}, "outputIndex": index}));
        let parent = self.scope.clone();
        self.scope["parentTaskId"] = parent["taskId"].clone();
        self.scope["parentToolCallId"] = json!(call);
        self.scope["taskId"] = json!(call);
        self.scope["depth"] = json!(depth + 1);
        self.tell("task.created", json!({"agent": "helper"}));
        self.task(depth + 1);
        self.tell("task.completed", json!({}));
        self.scope = parent;
        self.tell(
            "item.completed",
            json!({"item": {"type": "tool_result", "id": id, "status": "completed"}, "outputIndex": index}),
        );
    }
}
