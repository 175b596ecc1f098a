//! More input for a running turn.

use riverrun_event::{EventType, Input, InputSteered, Sequence, TurnId};

use crate::actor::Actor;
use crate::actor::commands::Refusal;
use crate::actor::session::HostedSession;
use crate::event_batch::EventBatch;
use crate::{CommandError, RequestKey, Submitted};

impl Actor {
    pub(crate) async fn steer(
        &mut self,
        turn: &TurnId,
        input: Input,
        request: Option<RequestKey>,
    ) -> Result<Submitted, Refusal> {
        if let Some(first) = self.session.done_before(request).await? {
            return Ok(first);
        }
        let mut batch = self.session.new_batch();
        let mut submitted = self.session.write_steer(turn, input, &mut batch)?;
        self.session.remember_request(request, &submitted, &mut batch);
        if let Some(appended) = self.append_once(&mut batch).await? {
            submitted.first = appended.first;
        }
        Ok(submitted)
    }
}

impl HostedSession {
    /// More input for a running turn.
    pub(crate) fn write_steer(
        &self,
        turn: &TurnId,
        input: Input,
        batch: &mut EventBatch,
    ) -> Result<Submitted, CommandError> {
        let name = || turn.to_string();
        let Some(view) = self.view.turns.get(turn) else {
            let known = self.state.turns.iter().find(|known| known.turn_id == *turn);
            let Some(known) = known else { return Err(CommandError::NoTurn(name())) };
            let status = known.status.as_str().to_owned();
            return Err(match known.status.is_terminal() {
                true => CommandError::TurnEnded { turn: name(), status },
                false => CommandError::Invalid {
                    field: "turn".to_owned(),
                    detail: format!("turn `{turn}` waits in the queue"),
                },
            });
        };
        if view.cancel.is_some() {
            return Err(CommandError::TurnEnded { turn: name(), status: "cancelling".to_owned() });
        }
        let Some((_, root)) = self.view.task(&view.root) else { return Err(CommandError::NoTurn(name())) };
        batch.push(EventType::InputSteered, &root.scope, &InputSteered { input, source: None });
        Ok(Submitted {
            turn_id: turn.clone(),
            task_id: root.task.clone(),
            run_id: root.run.clone(),
            status: "steered".to_owned(),
            first: Sequence::ZERO,
            duplicate: false,
        })
    }
}
