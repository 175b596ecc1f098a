//! A conversation as a list of items.

use riverrun_event::{Input, Item, MessageItem, Part, SessionId};
use riverrun_log::{NewSession, SessionKey};
use riverrun_runner::{CommandError, Conversation};
use riverrun_server::session::log_time;

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
    pub fn id(&self) -> &SessionId {
        &self.key.session
    }

    /// The newest items in their order; all of them without a limit. Those of a run appear when it ended.
    pub async fn get_items(&self, limit: Option<usize>) -> Result<Vec<Item>, Error> {
        self.ask(Conversation::Items { limit }).await
    }

    /// Adds items behind the conversation, at most 500 at once. None runs: calls need their results beside them.
    pub async fn add_items(&self, items: impl IntoIterator<Item = Item>) -> Result<(), Error> {
        let new = NewSession {
            status: "idle".to_owned(),
            created_at: log_time(self.home.app().now()),
            ..NewSession::default()
        };
        self.home.app().log().create_session(&self.key, new).await?;
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

    async fn ask(&self, asked: Conversation) -> Result<Vec<Item>, Error> {
        match self.home.app().runner().conversation(&self.key, asked).await {
            // Nothing was written into it yet.
            Err(CommandError::NoSession) => Ok(Vec::new()),
            answer => Ok(answer?),
        }
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
