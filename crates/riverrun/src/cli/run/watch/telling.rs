//! How a turn ended, for the one who watched it.

use serde_json::{Value, json};

use super::{Ending, Watch};
use crate::cli::exit::Outcome;
use crate::cli::terminal::Tone;

impl Watch {
    /// How it ended, and how to go on.
    pub fn tell(&mut self, ending: &Ending, needed: Option<&str>) -> Outcome {
        self.leave_question();
        self.close_line()?;
        if self.output.json {
            return self.output.line(&self.result(ending).to_string());
        }
        let (session, turn) = (&self.session, &self.turn.turn_id);
        let first = needed.map(|serve| format!("start `{serve}` first, then: ")).unwrap_or_default();
        match ending {
            Ending::Completed | Ending::Failed | Ending::Cancelled => {
                let style = self.output.style_of_notes();
                self.output
                    .note(&style.paint(Tone::Dim, &format!("go on: riverrun run --session {session} \"…\"")));
            }
            Ending::Waiting => {
                let action = self.questions.front().map(|question| question.action.as_str()).unwrap_or("-");
                self.output.note(&format!("a decision is needed; {first}riverrun approve {action}"));
                self.output.note(&format!("then watch: riverrun tail {session} --turn {turn}"));
            }
            Ending::Left => {
                let note = match (self.is_stop_asked, needed) {
                    (true, Some(serve)) => {
                        format!("left; a stop was asked for. Watch it with the next server, `{serve}`: ")
                    }
                    (true, None) => "left; a stop was asked for. Watch it: ".to_owned(),
                    (false, Some(serve)) => {
                        format!("left; it goes on with the next server: `{serve}`. Watch it there: ")
                    }
                    (false, None) => "left; the turn goes on. Watch it: ".to_owned(),
                };
                self.output.note(&format!("{note}riverrun tail {session} --turn {turn}"));
            }
        }
        Ok(())
    }

    /// The last line of `--json`, so that a script knows how it ended and where to go on.
    fn result(&self, ending: &Ending) -> Value {
        let outcome = match ending {
            Ending::Completed => "completed",
            Ending::Failed => "failed",
            Ending::Cancelled => "cancelled",
            Ending::Waiting => "waiting",
            Ending::Left => "detached",
        };
        let mut line = json!({
            "type": "result", "schemaVersion": "riverrun-cli/1", "sessionId": self.session,
            "turnId": self.turn.turn_id, "taskId": self.turn.task_id, "outcome": outcome,
        });
        if let Some(payload) = self.end.as_ref().map(|end| &end["payload"]) {
            for name in ["finalOutput", "stopReason", "usage", "error"] {
                if !payload[name].is_null() {
                    line[name] = payload[name].clone();
                }
            }
        }
        let waiting: Vec<&str> = self.questions.iter().map(|question| question.action.as_str()).collect();
        if !waiting.is_empty() {
            line["actions"] = json!(waiting);
        }
        if let Some(cursor) = &self.cursor {
            line["cursor"] = cursor.as_str().into();
        }
        line
    }
}
