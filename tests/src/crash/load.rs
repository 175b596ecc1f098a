//! What the clients of one round share, and what they write down.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::checker::{Acked, Delivered};
use super::frames::Frame;

pub struct Load {
    pub address: SocketAddr,
    pub key: String,
    pub seed: u64,
    producing: AtomicBool,
    following: AtomicBool,
    /// The disk fails under the server, which may say so before it ends.
    disk_fails: AtomicBool,
    problems: Mutex<Vec<String>>,
    pub acked: AtomicU64,
}

/// What one producer was told.
#[derive(Debug, Default)]
pub struct Produced {
    pub session: String,
    pub acked: Vec<Acked>,
}

/// What one follower was shown.
#[derive(Debug, Default)]
pub struct Followed {
    pub session: String,
    pub name: String,
    pub delivered: Vec<Delivered>,
    /// Frames of a dialect, which are compared with a fresh replay.
    pub frames: Vec<Frame>,
    pub resumes: u64,
}

impl Load {
    pub fn new(address: SocketAddr, key: String, seed: u64) -> Self {
        Self {
            address,
            key,
            seed,
            producing: AtomicBool::new(true),
            following: AtomicBool::new(true),
            disk_fails: AtomicBool::new(false),
            problems: Mutex::default(),
            acked: AtomicU64::new(0),
        }
    }

    pub fn is_producing(&self) -> bool {
        self.producing.load(Ordering::Relaxed)
    }

    pub fn stop_producing(&self) {
        self.producing.store(false, Ordering::Relaxed);
    }

    pub fn is_following(&self) -> bool {
        self.following.load(Ordering::Relaxed)
    }

    pub fn stop_following(&self) {
        self.following.store(false, Ordering::Relaxed);
    }

    pub fn expect_failing_disk(&self) {
        self.disk_fails.store(true, Ordering::Relaxed);
    }

    /// An answer that tells to come back: nothing was stored, shown or promised.
    pub fn is_later(&self, answer: &str) -> bool {
        answer.contains("\"draining\"")
            || (self.disk_fails.load(Ordering::Relaxed) && answer.contains("\"storage_failed\""))
    }

    /// Notes what must never happen. A few tell as much as all.
    pub fn problem(&self, what: String) {
        let mut problems = lock(&self.problems);
        if problems.len() < 20 {
            problems.push(what);
        }
    }

    pub fn problems(&self) -> Vec<String> {
        lock(&self.problems).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
