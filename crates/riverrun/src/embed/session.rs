//! A conversation as a list of items.

use riverrun_event::{Input, Item, MessageItem, Part, SessionId};
use riverrun_log::{SessionKey, SessionSpec};
use riverrun_runner::{Busy, CommandError, Conversation, Settings, Submit};
use riverrun_session::log_time;

use super::runtime::key;
use super::{Error, Riverrun, RunStream};

/// The conversation of one session: what the next run in it reads. Changes are events in the session's log, so they
/// hold after a restart. While a run is at work, changes are refused.
#[derive(Clone)]
pub struct Session {
    home: Riverrun,
    key: SessionKey,
}

impl Riverrun {
    /// A session by its id. It is made when something is first written into it.
    pub fn session(&self, id: &SessionId) -> Session {
        Session { home: self.clone(), key: key(id) }
    }
}

impl Session {
    /// The session's id.
    pub fn id(&self) -> &SessionId {
        &self.key.session
    }

    /// The newest items in their order; all of them without a limit. Those of a run appear when it ended.
    pub async fn get_items(&self, limit: Option<usize>) -> Result<Vec<Item>, Error> {
        self.ask(Conversation::Items { limit }).await
    }

    /// Adds items behind the conversation, at most 500 at once. None runs: calls need their results beside them.
    pub async fn add_items(&self, items: impl IntoIterator<Item = Item>) -> Result<(), Error> {
        let new = SessionSpec {
            status: "idle".to_owned(),
            created_at: log_time(self.home.sessions().now()),
            ..SessionSpec::default()
        };
        self.home.sessions().log().create_session(&self.key, new).await?;
        self.ask(Conversation::Add(items.into_iter().collect())).await?;
        Ok(())
    }

    /// Takes the newest item out of the conversation. The log keeps its turn, marked as removed.
    pub async fn pop_item(&self) -> Result<Option<Item>, Error> {
        Ok(self.ask(Conversation::Pop).await?.pop())
    }

    /// Takes everything out of the conversation. The log keeps it, marked as removed.
    pub async fn clear_session(&self) -> Result<(), Error> {
        self.ask(Conversation::Clear).await?;
        Ok(())
    }

    /// Runs an agent on the conversation.
    pub async fn run(&self, agent: &str, input: impl Into<Input>) -> Result<RunStream, Error> {
        self.home.run_in(self.id(), agent, input).await
    }

    /// Runs an agent on what `callback` makes of the conversation: it gets the items of the session and those of the
    /// new input, and answers what the model reads, in this order. The items in its answer that are not the session's
    /// are what the session has of this input from then on, in the form that they have there; items of the session
    /// that it leaves out stay in the session. It is called once, before anything is written, and the log has its
    /// answer, so a restart or a retry does not call it again. It takes the place of the agent's `merge_history`.
    ///
    /// A session in which a run is at work refuses this.
    pub async fn run_with(
        &self,
        agent: &str,
        input: impl Into<Input>,
        callback: impl FnOnce(Vec<Item>, Vec<Item>) -> Result<Vec<Item>, String>,
    ) -> Result<RunStream, Error> {
        let history = self.get_items(None).await?;
        let conversation =
            callback(history.clone(), vec![asked(input.into())]).map_err(Error::InputCallback)?;
        let (history, input) = split(added(history, &conversation));
        if history.is_empty() && input.is_none() {
            let detail = "its answer has no item that the session does not have; answer one of the new input";
            return Err(Error::InputCallback(detail.to_owned()));
        }
        let settings = Settings { conversation: Some(conversation), ..Settings::default() };
        let submit = Submit {
            agent: Some(agent.to_owned()),
            input,
            history,
            settings: Some(settings),
            busy: Busy::Reject,
            ..Submit::default()
        };
        self.home.submit(self.id(), submit).await
    }

    async fn ask(&self, asked: Conversation) -> Result<Vec<Item>, Error> {
        match self.home.runner().conversation(&self.key, asked).await {
            // Nothing was written into it yet.
            Err(CommandError::NoSession) => Ok(Vec::new()),
            answer => Ok(answer?),
        }
    }
}

fn asked(input: Input) -> Item {
    let parts = match input {
        Input::Text(text) => vec![Part::plain(text)],
        Input::Parts(parts) => parts,
    };
    Item::Message(MessageItem {
        role: Some("user".to_owned()),
        block_list: Some(parts),
        status: Some("completed".to_owned()),
        ..MessageItem::default()
    })
}

/// The items that are not the session's. An item is the session's if it has the id of one, or is equal to one; each
/// stands for one.
fn added(mut history: Vec<Item>, conversation: &[Item]) -> Vec<Item> {
    let has_same_id = |a: &Item, b: &Item| a.id().is_some_and(|id| !id.is_empty() && Some(id) == b.id());
    let is_same = |a: &Item, b: &Item| has_same_id(a, b) || a == b;
    let is_new = |item: &&Item| match history.iter().position(|known| is_same(known, item)) {
        Some(index) => {
            history.remove(index);
            false
        }
        None => true,
    };
    conversation.iter().filter(is_new).cloned().collect()
}

/// A turn's input is the last thing that its user says; what is before it is brought along.
fn split(mut added: Vec<Item>) -> (Vec<Item>, Option<Input>) {
    let is_input = |item: &Item| match item {
        Item::Message(message) => message.role.as_deref() == Some("user"),
        _ => false,
    };
    match added.pop_if(|item| is_input(item)) {
        Some(Item::Message(message)) => {
            let parts = message.block_list.or(message.content).unwrap_or_default();
            (added, Some(Input::Parts(parts)))
        }
        Some(_) | None => (added, None),
    }
}

/// A message for [`Session::add_items`]. The role is `user`, `assistant` or `system`.
pub fn message(role: impl Into<String>, text: impl Into<String>) -> Item {
    Item::Message(MessageItem {
        role: Some(role.into()),
        block_list: Some(vec![Part::plain(text.into())]),
        status: Some("completed".to_owned()),
        ..MessageItem::default()
    })
}
