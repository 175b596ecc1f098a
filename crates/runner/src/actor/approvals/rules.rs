//! A decision that was given for always is taken back: the tool is asked about anew.

use riverrun_event::{EventScope, EventType, Sequence};

use crate::actor::Actor;
use crate::actor::commands::Refusal;
use crate::{CommandError, RequestKey, Revoke, Revoked};

impl Actor {
    pub(crate) async fn revoke(
        &mut self,
        revoke: Revoke,
        request: Option<RequestKey>,
    ) -> Result<Revoked, Refusal> {
        if let Some(first) = self.session.answered_before::<Revoked>(request).await? {
            return Ok(first);
        }
        let mut rules = self.approvals.rules.clone();
        let Some(rule) = rules.take(&revoke.rule) else {
            return Err(CommandError::NoRule(revoke.rule).into());
        };
        let mut batch = self.session.new_batch();
        batch.push(
            EventType::PolicyChanged,
            &EventScope::default(),
            &rules.revoked(&rule, revoke.revoked_by),
        );
        let mut revoked = Revoked { rule, sequence: self.session.state.sequence };
        self.session.remember_answer(request, &revoked, &mut batch);
        let appended = self.append_once(&mut batch).await?;
        revoked.sequence = appended.map_or(Sequence::ZERO, |appended| appended.first);
        Ok(revoked)
    }
}
