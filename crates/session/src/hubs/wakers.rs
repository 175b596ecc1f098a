//! Wakes many readers of one session at once. A reader that is behind is not in here: it costs nothing.

use std::sync::Mutex;
use std::task::Waker;

use crate::lock::lock;

/// The wakers of readers that wait for the next commit.
#[derive(Debug, Default)]
pub struct Wakers(Mutex<Places>);

#[derive(Debug, Default)]
struct Places {
    wakers: Vec<Option<Waker>>,
    free: Vec<usize>,
}

/// A reader's place among the wakers; it is used again at each wait.
#[derive(Debug, Default)]
pub struct Slot(Option<usize>);

impl Wakers {
    /// Waits for the next wake. The caller looks for news once more afterwards: a commit may have come between.
    pub fn register(&self, slot: &mut Slot, waker: &Waker) {
        let mut places = lock(&self.0);
        let at = *slot.0.get_or_insert_with(|| match places.free.pop() {
            Some(free) => free,
            None => {
                places.wakers.push(None);
                places.wakers.len() - 1
            }
        });
        match &mut places.wakers[at] {
            Some(known) if known.will_wake(waker) => {}
            place => *place = Some(waker.clone()),
        }
    }

    pub fn release(&self, slot: &mut Slot) {
        if let Some(at) = slot.0.take() {
            let mut places = lock(&self.0);
            places.wakers[at] = None;
            places.free.push(at);
        }
    }

    /// How many wait, at most.
    pub fn places(&self) -> usize {
        lock(&self.0).wakers.len()
    }

    pub fn wake_all(&self) {
        // The wakers are called outside the lock: a woken reader may come right back.
        let woken: Vec<Waker> = lock(&self.0).wakers.iter_mut().filter_map(Option::take).collect();
        for waker in woken {
            waker.wake();
        }
    }
}
