//! A decision that was given for always is taken back: the tool is asked about anew.

use riverrun_event::{EventType, Scope, Sequence};

use crate::actor::Actor;
use crate::actor::commands::Refusal;
use crate::{CommandError, RequestKey, Revoke, Revoked};

impl Actor {
    pub(crate) async fn revoke(
        &mut self,
        revoke: Revoke,
        request: Option<RequestKey>,
    ) -> Result<Revoked, Refusal> {
        if let Some(first) = self.answered_before::<Revoked>(request).await? {
            return Ok(first);
        }
        let mut rules = self.rules.clone();
        let Some(rule) = rules.take(&revoke.rule) else {
            return Err(CommandError::NoRule(revoke.rule).into());
        };
        let mut page = self.page();
        page.push(EventType::PolicyChanged, &Scope::default(), &rules.revoked(&rule, revoke.revoked_by));
        let mut told = Revoked { rule, sequence: self.state.sequence };
        self.remember_answer(request, &told, &mut page);
        let landed = self.append_once(&mut page).await?;
        told.sequence = landed.map_or(Sequence::ZERO, |landed| landed.first);
        Ok(told)
    }
}
