use crate::{Listener, RemoteListener};

/// How an instance learns what was committed, by itself and by the other instances of the same store.
///
/// ```text
///  this instance   append ─▶ commit ─▶ listener(chunks) ─▶ ticket
///  another one     append ─▶ commit ─▶ ticket            ┐
///                  delete ─▶ commit ─▶ ticket            ├─▶ remote listener(changes) here, a little later
///                  create ─▶ commit ─▶ ticket            ┘
/// ```
///
/// What the listener hears:
///
/// - Every chunk that this instance committed, once, in commit order, before the ticket of its append resolves.
///   Nothing for an append that was a duplicate or was refused.
///
/// What the remote listener hears:
///
/// - **Everything, once it can be read.** Each head that another instance moved, each session that it deleted or
///   created. When the listener is called, a read of this instance shows the change.
/// - **In order, per session.** Heads only grow within an incarnation. A deletion comes before the incarnation that
///   follows it.
/// - **Merged, perhaps repeated.** Of several appends only the newest head may come, and a change may come again.
/// - **Nothing is lost.** After an interruption the engine reports what changed meanwhile.
/// - Never a change of this instance.
///
/// An embedded engine has the store for itself: it calls the listener, and never the remote one.
///
/// Listeners run on a thread of the engine: they must not block and must not call the log.
pub trait CommitFeed: Send + Sync {
    /// Replaces the listener for what this instance commits.
    fn set_listener(&self, listener: Listener);

    /// Replaces the listener for what other instances change.
    fn set_remote_listener(&self, listener: RemoteListener);
}
