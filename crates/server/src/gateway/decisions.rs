//! Decisions that arrive inside a foreign request. The turn then goes on, and its reader with it.

use riverrun_event::{ActionId, Cursor, ErrorCode, RawJson, Sequence, TurnId};
use riverrun_log::SessionKey;
use riverrun_runner::{Decide, Decision};

use super::turn::Place;
use crate::app::App;
use crate::edge::{Caller, KeyScope, Problem, not_found};
use riverrun_api::RunnerCommand;
use riverrun_session::Hub;

/// One decision, in the words of the dialect's client.
pub struct Answer {
    pub action: String,
    pub decision: Decision,
    pub message: Option<String>,
}

/// The turn that the decisions were about, the place before the first of them, and the last.
pub struct Resumed {
    pub turn: TurnId,
    before: Sequence,
    last: Sequence,
}

impl Resumed {
    /// Where the reader that decided goes on.
    pub fn place(&self, hub: &Hub) -> Place {
        Place::Decided(Cursor::after(self.before, hub.origin()), self.last)
    }
}

/// Decides each. A client of these dialects has no word for the digest: it decides what it was shown, and that is
/// what the action says.
pub async fn decide_all(
    app: &App,
    caller: &Caller,
    key: &SessionKey,
    answers: Vec<Answer>,
) -> Result<Resumed, Problem> {
    caller.require(KeyScope::Approve)?;
    let mut resumed: Option<Resumed> = None;
    for answer in answers {
        let action = ActionId::new(&answer.action).map_err(|_| not_found())?;
        let record = app.log().action(key, &action).await?.ok_or_else(not_found)?;
        let turn = record.opened.turn.clone().ok_or_else(not_found)?;
        let body: serde_json::Value = serde_json::from_slice(&record.opened.body).unwrap_or_default();
        let decide = Decide {
            action,
            decision: answer.decision,
            digest: body["digest"].as_str().map(str::to_owned),
            message: answer.message,
            always: false,
            decided_by: Some(caller.key_id().to_string()),
        };
        let decided = app.answered(RunnerCommand::Decide, app.runner().decide(key, decide).await)?;
        let (before, last) = (decided.sequence.previous(), decided.sequence);
        resumed = Some(match resumed {
            Some(known) if known.before <= before => Resumed { last: known.last.max(last), ..known },
            Some(known) => Resumed { turn, before, last: known.last },
            None => Resumed { turn, before, last },
        });
    }
    resumed.ok_or_else(|| Problem::new(ErrorCode::InvalidField, "there is no decision in this request"))
}

/// A word of a client as a decision; `payload` is the answer to a question.
pub fn decision(word: &str, payload: Option<&RawJson>) -> Decision {
    match word {
        "approve" => Decision::Approve,
        "edit" => payload.map_or(Decision::Approve, |raw| Decision::Edit(raw.clone())),
        "respond" => Decision::Respond(payload.cloned().unwrap_or_default()),
        _ => Decision::Reject,
    }
}
