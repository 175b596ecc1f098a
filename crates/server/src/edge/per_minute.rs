//! Counts what somebody does in windows of one minute.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

/// At most `limit` in one minute for each key.
pub(super) struct PerMinute<K> {
    limit: u32,
    counts: Mutex<HashMap<K, (Instant, u32)>>,
}

impl<K: Eq + Hash> PerMinute<K> {
    const WINDOW: Duration = Duration::from_secs(60);
    /// More keys than this are not told apart from fresh ones: the bound on memory comes first.
    const MAX_KEYS: usize = 16_384;

    pub(super) fn new(limit: u32) -> Self {
        Self { limit, counts: Mutex::default() }
    }

    pub(super) fn limit(&self) -> u32 {
        self.limit
    }

    /// Counts one. Answers how long to wait if the key is over its limit.
    pub(super) fn count(&self, key: K) -> Option<Duration> {
        let now = Instant::now();
        let mut counts = self.counts.lock().unwrap_or_else(|poison| poison.into_inner());
        if counts.len() >= Self::MAX_KEYS {
            counts.retain(|_, (since, _)| now.duration_since(*since) < Self::WINDOW);
        }
        if counts.len() >= Self::MAX_KEYS {
            counts.clear();
        }
        let (since, count) = counts.entry(key).or_insert((now, 0));
        if now.duration_since(*since) >= Self::WINDOW {
            (*since, *count) = (now, 0);
        }
        *count = count.saturating_add(1);
        (*count > self.limit).then(|| Self::WINDOW.saturating_sub(now.duration_since(*since)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_key_has_its_own_minute() {
        let counts = PerMinute::new(2);
        assert_eq!([counts.count("a"), counts.count("a"), counts.count("b")], [None; 3]);
        assert_eq!(counts.count("a"), Some(Duration::from_secs(60)));
        tokio::time::advance(Duration::from_secs(59)).await;
        assert_eq!(counts.count("a"), Some(Duration::from_secs(1)), "a refused try does not make it longer");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(counts.count("a"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_bounded() {
        let counts = PerMinute::new(1);
        (0..3 * PerMinute::<usize>::MAX_KEYS).for_each(|key| assert_eq!(counts.count(key), None));
        assert!(counts.counts.lock().expect("no panic").len() <= PerMinute::<usize>::MAX_KEYS);
    }
}
