//! The judge: reads what clients wrote down and the export of the log, and knows nothing else.

use std::collections::HashSet;
use std::fmt;
use std::ops::AddAssign;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::events::{self, Key};

/// The first half of the SHA-256 of an event's JSON.
pub type Digest = [u8; 16];

pub fn digest(text: &str) -> Digest {
    let whole = Sha256::digest(text.as_bytes());
    let mut half = Digest::default();
    half.copy_from_slice(&whole[..16]);
    half
}

/// A producer was told that this event has this place, or that it is stored: then the sequence is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acked {
    pub sequence: u64,
    pub key: Key,
}

/// A follower was shown this event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivered {
    pub sequence: u64,
    pub digest: Digest,
}

/// What was found. All but the first two must be nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    pub acked: u64,
    pub delivered: u64,
    pub lost: u64,
    pub changed: u64,
    pub duplicated: u64,
    /// The first few, in words.
    pub problems: Vec<String>,
}

impl Verdict {
    pub fn is_good(&self) -> bool {
        self.lost + self.changed + self.duplicated == 0 && self.problems.is_empty()
    }

    pub fn problem(&mut self, what: String) {
        if self.problems.len() < 20 {
            self.problems.push(what);
        }
    }

    fn lost(&mut self, what: String) {
        self.lost += 1;
        self.problem(what);
    }

    fn changed(&mut self, what: String) {
        self.changed += 1;
        self.problem(what);
    }

    fn duplicated(&mut self, what: String) {
        self.duplicated += 1;
        self.problem(what);
    }
}

impl AddAssign for Verdict {
    fn add_assign(&mut self, other: Self) {
        self.acked += other.acked;
        self.delivered += other.delivered;
        self.lost += other.lost;
        self.changed += other.changed;
        self.duplicated += other.duplicated;
        other.problems.into_iter().for_each(|what| self.problem(what));
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { acked, delivered, lost, changed, duplicated, .. } = self;
        write!(
            f,
            "acked {acked}, delivered {delivered}, lost {lost}, changed {changed}, duplicated {duplicated}"
        )
    }
}

/// The log of one session as it was exported.
pub struct Exported {
    session: String,
    digests: Vec<Digest>,
    keys: Vec<Option<Key>>,
}

impl Exported {
    /// Reads an export: dense from 1 (G2), every id and key once, every event what its key says.
    pub fn read(session: &str, lines: &[String], verdict: &mut Verdict) -> Self {
        let mut exported = Self { session: session.to_owned(), digests: Vec::new(), keys: Vec::new() };
        let (mut ids, mut keys) = (HashSet::new(), HashSet::new());
        for (expected, line) in (1_u64..).zip(lines) {
            let event: Value = serde_json::from_str(line).unwrap_or_default();
            if event["sequence"].as_u64() != Some(expected) {
                verdict.lost(format!("{session}: the export has {} at {expected}", event["sequence"]));
            }
            if !ids.insert(event["eventId"].to_string()) {
                verdict.duplicated(format!("{session}: event id {} twice, at {expected}", event["eventId"]));
            }
            let key = Key::of(&event);
            if let Some(key) = key {
                if !keys.insert(key) {
                    verdict.duplicated(format!("{session}: {key:?} twice, at {expected}"));
                }
                if !events::is_sound(key, &event) {
                    verdict.changed(format!("{session}: {key:?} at {expected} is {line}"));
                }
            }
            exported.digests.push(digest(line));
            exported.keys.push(key);
        }
        exported
    }

    pub fn head(&self) -> u64 {
        self.digests.len() as u64
    }

    fn place(&self, sequence: u64) -> Option<usize> {
        usize::try_from(sequence.checked_sub(1)?).ok().filter(|place| *place < self.digests.len())
    }

    /// Every acknowledged event is where its producer was told (G1).
    pub fn check_acked(&self, acked: &[Acked], verdict: &mut Verdict) {
        verdict.acked += acked.len() as u64;
        let mut known: HashSet<Key> = HashSet::new();
        if acked.iter().any(|acked| acked.sequence == 0) {
            known.extend(self.keys.iter().flatten());
        }
        for Acked { sequence, key } in acked {
            if *sequence == 0 {
                if !known.contains(key) {
                    verdict.lost(format!("{}: acknowledged {key:?}, it is nowhere", self.session));
                }
                continue;
            }
            match self.place(*sequence).map(|place| self.keys[place]) {
                Some(Some(found)) if found == *key => {}
                Some(found) => verdict.changed(format!(
                    "{}: acknowledged {key:?} at {sequence}, there is {found:?}",
                    self.session
                )),
                None => verdict.lost(format!(
                    "{}: acknowledged {key:?} at {sequence}, the log ends at {}",
                    self.session,
                    self.head()
                )),
            }
        }
    }

    /// Every delivered event is in the log with the same bytes (G1), and the follower saw each once, in order, to the
    /// end (G3).
    pub fn check_delivered(&self, name: &str, delivered: &[Delivered], verdict: &mut Verdict) {
        verdict.delivered += delivered.len() as u64;
        let mut next = 1;
        for Delivered { sequence, digest } in delivered {
            if *sequence < next {
                verdict.duplicated(format!("{name} saw {sequence} when {next} was next"));
            } else if *sequence > next {
                verdict.lost(format!("{name} saw {sequence} when {next} was next"));
            }
            next = sequence + 1;
            match self.place(*sequence).map(|place| self.digests[place]) {
                Some(found) if found == *digest => {}
                Some(_) => verdict.changed(format!("{name} saw other bytes at {sequence}")),
                None => verdict.lost(format!("{name} saw {sequence}, the log ends at {}", self.head())),
            }
        }
        if next <= self.head() {
            verdict.lost(format!("{name} came to {}, the log ends at {}", next - 1, self.head()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(request: u32) -> Key {
        Key { producer: 1, request, place: 0 }
    }

    fn line(sequence: u64, request: u32) -> String {
        let mut event = events::note(key(request));
        event["sequence"] = sequence.into();
        event["eventId"] = format!("evt_{sequence}").into();
        event.to_string()
    }

    /// What the checker says of a log, what a producer was told and what a follower was shown.
    fn check(log: &[String], acked: &[(u64, u32)], shown: &[(u64, &String)]) -> (u64, u64, u64) {
        let mut verdict = Verdict::default();
        let exported = Exported::read("s", log, &mut verdict);
        let acked: Vec<_> =
            acked.iter().map(|(sequence, n)| Acked { sequence: *sequence, key: key(*n) }).collect();
        exported.check_acked(&acked, &mut verdict);
        let shown: Vec<_> =
            shown.iter().map(|(at, text)| Delivered { sequence: *at, digest: digest(text) }).collect();
        exported.check_delivered("follower", &shown, &mut verdict);
        assert_eq!(verdict.is_good(), verdict.problems.is_empty());
        (verdict.lost, verdict.changed, verdict.duplicated)
    }

    #[test]
    fn a_whole_log_is_good_and_every_defect_is_named() {
        let (one, two, three) = (line(1, 1), line(2, 2), line(3, 3));
        let log = [one.clone(), two.clone(), three.clone()];
        let all = [(1, &one), (2, &two), (3, &three)];
        assert_eq!(check(&log, &[(1, 1), (3, 3)], &all), (0, 0, 0));
        assert_eq!(check(&log[..2], &[(3, 3)], &all[..2]), (1, 0, 0), "acknowledged and gone");
        assert_eq!(check(&log, &[(2, 3)], &all), (0, 1, 0), "acknowledged at another place");
        assert_eq!(check(&log[..2], &[], &all), (1, 0, 0), "shown and gone");
        assert_eq!(check(&log, &[], &[all[0], all[2]]), (1, 0, 0), "a gap in what was shown");
        assert_eq!(check(&log, &[], &[all[0], all[0], all[1], all[2]]), (0, 0, 1), "shown twice");
        assert_eq!(check(&log, &[], &all[..2]), (1, 0, 0), "not shown to the end");
        assert_eq!(check(&log, &[], &[all[0], (2, &three), all[2]]), (0, 1, 0), "shown with other bytes");
    }

    #[test]
    fn a_log_must_be_dense_and_hold_nothing_twice_or_changed() {
        let whole = |log: &[String]| {
            let shown: Vec<_> = (1..).zip(log).collect();
            check(log, &[], &shown)
        };
        assert_eq!(whole(&[line(1, 1), line(3, 3)]), (1, 0, 0), "a hole");
        assert_eq!(whole(&[line(1, 1), line(2, 1)]), (0, 0, 1), "a key twice");
        assert_eq!(whole(&[line(1, 1), line(2, 2).replace("evt_2", "evt_1")]), (0, 0, 1), "an id twice");
        assert_eq!(whole(&[line(1, 1).replace("k-1-1-0 ", "k-1-1-0\u{fffd}")]), (0, 1, 0), "other text");
    }
}
