//! Every byte cut off, every bit flipped: whatever a reader still gets is what was committed, and what it no longer
//! gets is told.
//!
//! `RIVERRUN_SWEEP=all` takes every bit of every event, and of the rest far more; without it every bit of
//! one event and one segment, one bit of each byte of the others, and fewer of the rest.

mod support;

use std::ops::Range;
use std::path::Path;

use riverrun_log::{EventStore, Maintenance, Random, SeededRandom};
use riverrun_log_sqlite::{OpenLogError, STORE, SqliteOptions};
use support::*;

const SESSIONS: [(&str, u64); 3] = [("live", 3), ("packed", 3), ("both", 5)];

/// Large enough that nothing is copied before its time, small enough that every length can be tried.
const WAL: u64 = 480 << 10;

/// The files of a store.
#[derive(Clone)]
struct Files {
    store: Vec<u8>,
    /// A closed log has none.
    wal: Option<Vec<u8>>,
    witness: Vec<u8>,
}

impl Files {
    fn read(directory: &Path) -> Self {
        let read = |name: &str| std::fs::read(directory.join(name)).ok();
        Self {
            store: read(STORE).expect("a store"),
            wal: read(&format!("{STORE}-wal")),
            witness: read("witness").expect("a witness"),
        }
    }

    fn write(&self, directory: &Path) {
        let write = |name: &str, bytes: &[u8]| std::fs::write(directory.join(name), bytes).expect("writable");
        write(STORE, &self.store);
        write("witness", &self.witness);
        if let Some(wal) = &self.wal {
            write(&format!("{STORE}-wal"), wal);
        }
    }
}

/// In memory if the system has such a place: a sweep opens a store thousands of times.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.expect("a directory")
}

/// A small log as a killed process leaves it: nothing, or everything, is still in the write-ahead file.
fn sample(checkpointed: bool) -> Files {
    let directory = folder();
    // Large enough that nothing is copied before its time.
    let log = open_with(SqliteOptions { wal_bytes: WAL, ..options(directory.path()) });
    let epoch = own(&*log);
    for (name, _) in SESSIONS {
        let key = create(&*log, name);
        (0..3).for_each(|_| append(&*log, &key, epoch, 1));
        if name != "live" {
            log.seal(&key, seq(3)).wait().expect("sealed");
        }
    }
    (0..2).for_each(|_| append(&*log, &key("both"), epoch, 1));
    if checkpointed {
        drop(log);
    } else {
        // The witness is at most a second behind.
        std::thread::sleep(std::time::Duration::from_millis(1_500));
    }
    Files::read(directory.path())
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Outcome {
    /// The sessions that are shorter than they were, or gone, and did not say so when read.
    short: Vec<&'static str>,
    /// The store would not open, the check found something, or the start said what it dropped.
    is_told: bool,
}

/// Opens what is left. `support::read` panics on a record that was never appended.
fn look(files: &Files) -> Outcome {
    let directory = folder();
    files.write(directory.path());
    let Ok(log) = try_open(SqliteOptions { wal_bytes: WAL, ..options(directory.path()) }) else {
        return Outcome { is_told: true, ..Outcome::default() };
    };
    let mut outcome = Outcome { is_told: log.recovered().is_some(), ..Outcome::default() };
    for (name, count) in SESSIONS {
        match read(&log, &key(name)) {
            Ok(found) if found == count => {}
            Err(riverrun_log::LogError::Corrupt { .. } | riverrun_log::LogError::Failed(_)) => {}
            Ok(_) | Err(_) => outcome.short.push(name),
        }
    }
    outcome.is_told |= !log.verify().wait().is_ok_and(|found| found.defects.is_empty());
    outcome
}

fn flip(bytes: &mut [u8], bit: usize) {
    bytes[bit / 8] ^= 1 << (bit % 8);
}

fn is_exhaustive() -> bool {
    std::env::var("RIVERRUN_SWEEP").is_ok_and(|value| value == "all")
}

/// Which bits of which bytes.
struct Bits {
    length: usize,
    /// Every bit.
    dense: Vec<Range<usize>>,
    /// One bit of each byte, or every one.
    thin: Vec<Range<usize>>,
    /// So many bits anywhere, or forty times as many.
    sample: usize,
}

impl Bits {
    fn all(&self) -> Vec<usize> {
        let every = |ranges: &[Range<usize>]| -> Vec<usize> {
            ranges.iter().flat_map(|range| range.start * 8..range.end * 8).collect()
        };
        let mut bits = every(&self.dense);
        match is_exhaustive() {
            true => bits.extend(every(&self.thin)),
            false => bits.extend(self.thin.iter().cloned().flatten().map(|byte| byte * 8 + byte % 8)),
        }
        let random = SeededRandom::new(7);
        let sample = self.sample * if is_exhaustive() { 40 } else { 1 };
        bits.extend((0..sample).map(|_| {
            let mut bytes = [0; 8];
            random.fill(&mut bytes);
            (u64::from_le_bytes(bytes) % (self.length as u64 * 8)) as usize
        }));
        bits.sort_unstable();
        bits.dedup();
        bits
    }
}

fn places_of(needle: &[u8], bytes: &[u8]) -> Vec<usize> {
    (0..bytes.len() - needle.len()).filter(|at| bytes[*at..].starts_with(needle)).collect()
}

/// Where events lie in a store: the stored text and the headers before it, and what zstd made of packed ones.
fn events(bytes: &[u8]) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let around = |needle: &[u8], before: usize, after: usize| {
        let places = places_of(needle, bytes).into_iter();
        places.map(|at| at - before..(at + after).min(bytes.len())).collect()
    };
    (around(b"record ", 40, 70), around(b"\x28\xb5\x2f\xfd", 16, 180))
}

fn sweep(name: &str, sound: &Files, bits: &[usize], damage: impl Fn(&mut Files, usize)) {
    let (mut told, mut undetected) = (0, Vec::new());
    for bit in bits {
        let mut files = sound.clone();
        damage(&mut files, *bit);
        let outcome = look(&files);
        told += usize::from(outcome.is_told);
        if !outcome.short.is_empty() && !outcome.is_told {
            undetected.push((*bit, outcome.short));
        }
    }
    println!("{name}: {} flipped, {told} told, undetected {}", bits.len(), undetected.len());
    assert!(undetected.is_empty(), "{undetected:?}");
}

#[test]
fn no_flipped_bit_of_the_store_goes_unnoticed() {
    let sound = sample(true);
    assert_eq!(look(&sound), Outcome::default());
    let (plain, packed) = events(&sound.store);
    let dense = plain.iter().take(1).chain(packed.iter().take(1)).cloned().collect();
    let thin = plain.into_iter().chain(packed).collect();
    let bits = Bits { length: sound.store.len(), dense, thin, sample: 500 }.all();
    sweep("bits of the store", &sound, &bits, |files, bit| flip(&mut files.store, bit));
}

#[test]
fn no_flipped_bit_of_the_write_ahead_file_goes_unnoticed() {
    let sound = sample(false);
    assert_eq!(look(&sound), Outcome::default());
    let wal = sound.wal.as_ref().expect("killed");
    let used = wal.iter().rposition(|byte| *byte != 0).expect("something was committed") + 1;
    // The header and the headers of all frames.
    let thin = (32..used).step_by(4120).map(|at| at..at + 24).collect();
    let header = 0..32;
    let bits = Bits { length: used, dense: vec![header], thin, sample: 500 }.all();
    sweep("bits of the write-ahead file", &sound, &bits, |files, bit| {
        flip(files.wal.as_mut().expect("killed"), bit)
    });
}

/// Shortens a file of a store byte by byte to nothing, and then removes it. Every length is refused, with everything
/// left as it is, or opens with every commit.
fn shorten(name: &str, sound: &Files) {
    let directory = folder();
    let path = directory.path().join(name);
    sound.write(directory.path());
    let full = std::fs::metadata(&path).expect("there").len();
    let file = std::fs::OpenOptions::new().write(true).open(&path).expect("writable");
    let mut refused = 0;
    for length in (0..full).rev() {
        file.set_len(length).expect("cut");
        refuse(directory.path(), &path, &format!("{length} of {full} bytes"));
        assert_eq!(std::fs::metadata(&path).expect("there").len(), length, "a refusal changed {name}");
        refused += 1;
    }
    std::fs::remove_file(&path).expect("removed");
    refuse(directory.path(), &path, "removed");
    assert!(!path.exists(), "a refusal made {name}");
    assert_eq!(look(sound), Outcome::default());
    println!("{name}: {refused}/{full} shorter lengths told, and its removal");
}

fn refuse(directory: &Path, path: &Path, how: &str) {
    match try_open(SqliteOptions { wal_bytes: WAL, ..options(directory) }) {
        Err(OpenLogError::Damaged { path: named, .. }) => assert_eq!(named, path, "{how}"),
        Err(error) => panic!("{how}: {error}"),
        Ok(_) => panic!("{how}: opened"),
    }
}

#[test]
fn every_truncated_write_ahead_file_of_a_killed_log_is_reported() {
    // Opened a second time, because making the tables takes most of a first write-ahead file.
    let directory = folder();
    sample(true).write(directory.path());
    let log = open(directory.path());
    let epoch = own(&*log);
    append(&*log, &create(&*log, "more"), epoch, 1);
    let killed = Files::read(directory.path());
    assert!(killed.wal.as_ref().is_some_and(|wal| wal.starts_with(b"\x37\x7f\x06")), "nothing was committed");
    shorten(&format!("{STORE}-wal"), &killed);
}

#[test]
fn every_truncated_store_of_a_killed_log_is_reported() {
    shorten(STORE, &sample(false));
}

#[test]
fn every_truncated_store_of_a_closed_log_is_reported() {
    shorten(STORE, &sample(true));
}

#[test]
fn a_closed_log_needs_no_write_ahead_file() {
    let sound = sample(true);
    assert!(sound.wal.is_none());
    assert_eq!(look(&sound), Outcome::default());
}

/// Behind the newest frame. What follows may be left of the run in which the tables were made: its salt is another.
fn end_of_commits(wal: &[u8]) -> usize {
    const HEAD: usize = 32;
    const FRAME: usize = 24 + 4096;
    let salt = &wal[16..24];
    let frames = wal[HEAD..].chunks_exact(FRAME).take_while(|frame| frame[8..16] == *salt).count();
    assert!(frames > 0, "nothing was committed");
    HEAD + frames * FRAME
}

/// Zeros in place of what was synced, in a file of full length. What the witness has is told; what was committed after
/// it was last written may be taken for a commit that was never synced, and is then gone as a whole.
#[test]
fn zeros_in_place_of_marked_commits_are_reported() {
    let sound = sample(false);
    let wal = sound.wal.as_ref().expect("killed");
    let used = end_of_commits(wal);
    let cuts: Vec<usize> = (0..used).step_by(if is_exhaustive() { 61 } else { 1_021 }).collect();
    let mut told = 0;
    for cut in &cuts {
        let mut files = sound.clone();
        files.wal = Some(wal.iter().enumerate().map(|(n, byte)| if n < *cut { *byte } else { 0 }).collect());
        let outcome = look(&files);
        assert!(outcome.is_told, "zeros from {cut} of {used}: {outcome:?}");
        told += 1;
    }
    println!("{STORE}-wal: zeros from {told}/{} places on told", cuts.len());
}

/// A witness that is damaged in any way says less, and never something false.
#[test]
fn a_shorter_witness_keeps_nothing_from_opening() {
    for checkpointed in [false, true] {
        let sound = sample(checkpointed);
        for cut in [0, 1, 67, 68, 4095, 4096, 4097, 4163, 4164, 8191] {
            let mut files = sound.clone();
            files.witness.truncate(cut);
            let outcome = look(&files);
            assert!(outcome.short.is_empty() && !outcome.is_told, "{cut}: {outcome:?}");
        }
    }
}

#[test]
fn without_a_mark_a_lost_write_ahead_file_is_still_reported() {
    for wal in [None, Some(Vec::new()), Some(vec![0; WAL as usize])] {
        let lost = Files { wal, witness: Vec::new(), ..sample(false) };
        let directory = folder();
        lost.write(directory.path());
        refuse(directory.path(), &directory.path().join(format!("{STORE}-wal")), "without a witness");
    }
}
