//! The contract of every engine, one trait for each concern.

mod blob_store;
mod catalogue;
mod command_store;
mod commit_feed;
mod event_store;
mod key_store;
mod maintenance;
mod shard_leases;

pub use blob_store::BlobStore;
pub use catalogue::Catalogue;
pub use command_store::CommandStore;
pub use commit_feed::CommitFeed;
pub use event_store::EventStore;
pub use key_store::KeyStore;
pub use maintenance::Maintenance;
pub use shard_leases::ShardLeases;

/// Where everything durable lives: all traits of an engine together. `riverrun_log::contract` executes their promises.
///
/// ```text
///                       ┌─ ShardLeases     who may append
///                       ├─ EventStore      the events themselves
///                       ├─ CommitFeed      what was committed, here and elsewhere
///  Log (one store) ─────┼─ BlobStore       bytes beside them
///                       ├─ Catalogue       sessions, turns, actions, tasks, shares
///                       ├─ CommandStore    commands, idempotency
///                       ├─ KeyStore        keys, credentials
///                       └─ Maintenance     retention, quotas, backup, health
/// ```
///
/// Every call returns at once; the returned [`LogTicket`](crate::LogTicket) waits. A caller that needs one concern
/// takes that trait alone.
///
/// What an engine deliberately does not know: what an event says, who may ask, what a status means.
pub trait Log:
    ShardLeases
    + EventStore
    + CommitFeed
    + BlobStore
    + Catalogue
    + CommandStore
    + KeyStore
    + Maintenance
    + 'static
{
}

impl<T> Log for T where
    T: ShardLeases
        + EventStore
        + CommitFeed
        + BlobStore
        + Catalogue
        + CommandStore
        + KeyStore
        + Maintenance
        + 'static
{
}
