//! What all sessions share, and the way to a session's actor.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use riverrun_event::Timestamp;
use riverrun_log::{Clock, Random, SessionKey};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use crate::actor::{self, Command};
use crate::call_pool::CallPool;
use crate::timer::Timers;
use crate::turns::TurnCounts;
use crate::{Journal, Options, Registry};

/// Each may take as much memory as a file and its text have.
const FILES_AT_ONCE: usize = 8;

pub(crate) struct Core {
    pub journal: Arc<dyn Journal>,
    /// For actors that begin from now on.
    registry: RwLock<Arc<Registry>>,
    pub clock: Arc<dyn Clock>,
    pub random: Arc<dyn Random>,
    pub options: Options,
    /// Permits for calls of models, tools and hooks.
    pub calls: Arc<CallPool>,
    /// Sessions whose state is read at the same time.
    pub loads: Semaphore,
    /// Files of inputs that are read at the same time.
    pub file_slots: Arc<Semaphore>,
    pub timers: Timers,
    pub turns: Arc<TurnCounts>,
    /// Cancelled when nothing new may begin: what is open ends, and is written down.
    pub hand_over: CancellationToken,
    /// Cancelled when the runner stops.
    pub stop: CancellationToken,
    mailboxes: Mutex<HashMap<SessionKey, Mailbox>>,
}

/// The way to an actor.
struct Mailbox {
    commands: mpsc::UnboundedSender<Command>,
    /// Cancelled when the session was deleted.
    ended: CancellationToken,
}

/// An actor's end of it.
pub(crate) struct Mail {
    pub commands: mpsc::UnboundedReceiver<Command>,
    pub ended: CancellationToken,
}

impl Core {
    pub fn new(
        journal: Arc<dyn Journal>,
        registry: Arc<Registry>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        options: Options,
    ) -> Self {
        let calls = CallPool::new(options.running);
        Self {
            journal,
            registry: RwLock::new(registry),
            clock,
            random,
            options,
            calls,
            loads: Semaphore::new(64),
            file_slots: Arc::new(Semaphore::new(FILES_AT_ONCE)),
            timers: Timers::default(),
            turns: Arc::default(),
            hand_over: CancellationToken::new(),
            stop: CancellationToken::new(),
            mailboxes: Mutex::default(),
        }
    }

    pub fn registry(&self) -> Arc<Registry> {
        self.registry.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn set_registry(&self, registry: Arc<Registry>) {
        *self.registry.write().unwrap_or_else(PoisonError::into_inner) = registry;
    }

    pub fn now(&self) -> Timestamp {
        Timestamp::from_millis(i64::try_from(self.clock.now().millis()).unwrap_or(i64::MAX))
    }

    pub fn fresh(&self) -> [u8; 16] {
        crate::ids::fresh(&*self.clock, &*self.random)
    }

    /// True once nothing new begins.
    pub fn is_draining(&self) -> bool {
        self.hand_over.is_cancelled()
    }

    /// Stops every actor; none of them writes anything after its present append.
    pub fn drain(&self) {
        self.hand_over.cancel();
        self.stop.cancel();
    }

    pub fn actors(&self) -> usize {
        self.mailboxes().len()
    }

    fn mailboxes(&self) -> MutexGuard<'_, HashMap<SessionKey, Mailbox>> {
        // The map is changed by single inserts and removes, so a panic elsewhere leaves it whole.
        self.mailboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a command to the session's actor, which is started if there is none. The token is cancelled when that
    /// actor is ended because its session is deleted.
    pub fn send(self: &Arc<Self>, key: &SessionKey, command: Command) -> CancellationToken {
        let mut mailboxes = self.mailboxes();
        let command = match mailboxes.get(key) {
            Some(mailbox) => match mailbox.commands.send(command) {
                Ok(()) => return mailbox.ended.clone(),
                Err(mpsc::error::SendError(command)) => command,
            },
            None => command,
        };
        let (sender, receiver) = mpsc::unbounded_channel();
        // The receiver is in our hands, so this cannot fail.
        let _ = sender.send(command);
        let ended = CancellationToken::new();
        mailboxes.insert(key.clone(), Mailbox { commands: sender, ended: ended.clone() });
        drop(mailboxes);
        tokio::spawn(actor::run(
            self.clone(),
            key.clone(),
            Mail { commands: receiver, ended: ended.clone() },
        ));
        ended
    }

    /// Ends the session's actor where it stands. Who comes later finds another one, or none.
    pub fn end(&self, key: &SessionKey) {
        let mailbox = self.mailboxes().remove(key);
        if let Some(mailbox) = mailbox {
            mailbox.ended.cancel();
        }
    }

    /// Lets an actor go, unless a command came in the meantime. Commands are sent under the same lock.
    pub fn let_go(
        &self,
        key: &SessionKey,
        receiver: &mut mpsc::UnboundedReceiver<Command>,
    ) -> Option<Command> {
        let mut mailboxes = self.mailboxes();
        if let Ok(command) = receiver.try_recv() {
            return Some(command);
        }
        receiver.close();
        // One that was ended may have a successor, whose mailbox is open.
        if mailboxes.get(key).is_some_and(|mailbox| mailbox.commands.is_closed()) {
            mailboxes.remove(key);
        }
        None
    }
}
