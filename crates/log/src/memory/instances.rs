//! The open instances of a store and their commit notifications.

use std::collections::BTreeMap;

use crate::seeded::{self, Bug};
use crate::{Committed, Listener, RemoteChange, RemoteListener};

/// Names an instance of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct InstanceId(u64);

#[derive(Default)]
struct Listeners {
    own: Option<Listener>,
    remote: Option<RemoteListener>,
}

#[derive(Default)]
pub struct Instances {
    newest: u64,
    listeners: BTreeMap<InstanceId, Listeners>,
}

impl Instances {
    pub fn open(&mut self) -> InstanceId {
        self.newest += 1;
        let id = InstanceId(self.newest);
        self.listeners.insert(id, Listeners::default());
        id
    }

    pub fn close(&mut self, id: InstanceId) {
        self.listeners.remove(&id);
    }

    pub fn set_listener(&mut self, id: InstanceId, listener: Listener) {
        self.listeners.entry(id).or_default().own = Some(listener);
    }

    pub fn set_remote_listener(&mut self, id: InstanceId, listener: RemoteListener) {
        self.listeners.entry(id).or_default().remote = Some(listener);
    }

    /// This instance committed a chunk.
    pub fn committed(&self, by: InstanceId, committed: Committed) {
        if let Some(listener) = self.listeners.get(&by).and_then(|listeners| listeners.own.as_ref()) {
            listener(&[committed]);
        }
    }

    /// A session was changed by this instance, of which the others hear.
    pub fn changed(&self, by: InstanceId, change: &RemoteChange) {
        self.notify(change, |id| id != by);
    }

    /// A session was changed, and the one that did it does not know.
    pub fn changed_unnoticed(&self, change: &RemoteChange) {
        self.notify(change, |_| true);
    }

    fn notify(&self, change: &RemoteChange, hears: impl Fn(InstanceId) -> bool) {
        if seeded::is_on(Bug::DeafInstances) {
            return;
        }
        let listeners = self.listeners.iter().filter(|(id, _)| hears(**id));
        for listener in listeners.filter_map(|(_, listeners)| listeners.remote.as_ref()) {
            listener(std::slice::from_ref(change));
        }
    }
}
