//! The mark: what was durable, written where a loss of the store's own files does not reach it.
//!
//! A write-ahead file that is gone, or shorter than it was, looks to SQLite like one that was just made. The mark
//! says how long both files are at least, and which commits the write-ahead file holds at least. Everything it says
//! was synced before it said so, so an honest disk never falls behind it, whenever the power fails.
//!
//! ```text
//! 0     magic │ count │ is open │ wal bytes │ store bytes │ generation │ salt │ frames │ CRC-32
//! 4096  the same: the two take turns, so that one is whole while the other is written
//! ```

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::file::private;

const MAGIC: u64 = u64::from_le_bytes(*b"RIVRWIT1");
const SLOT: u64 = 4096;
const WORDS: usize = 8;
const CRC: usize = WORDS * 8;
const BYTES: usize = CRC + 4;

/// Which run of the write-ahead file: it counts up and changes its salt whenever it begins anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Generation {
    pub number: u32,
    pub salt: [u8; 8],
}

/// Lower bounds of what is on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DurabilityMark {
    pub count: u64,
    /// False if the store was closed: then the write-ahead file holds nothing that the store does not.
    pub is_open: bool,
    pub wal_bytes: u64,
    pub store_bytes: u64,
    pub generation: Generation,
    /// Of whole commits in that generation.
    pub frames: u64,
}

/// The write-ahead file as a start finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wal {
    /// None if it has no header.
    pub generation: Option<Generation>,
    pub frames: u64,
}

impl DurabilityMark {
    fn encode(&self) -> [u8; BYTES] {
        let words: [u64; WORDS] = [
            MAGIC,
            self.count,
            u64::from(self.is_open),
            self.wal_bytes,
            self.store_bytes,
            u64::from(self.generation.number),
            u64::from_le_bytes(self.generation.salt),
            self.frames,
        ];
        let mut bytes = [0; BYTES];
        for (slot_bytes, word) in bytes.chunks_exact_mut(8).zip(words) {
            slot_bytes.copy_from_slice(&word.to_le_bytes());
        }
        let crc = crc32fast::hash(&bytes[..CRC]);
        bytes[CRC..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8; BYTES]) -> Option<Self> {
        let word = |n: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[n * 8..n * 8 + 8]);
            u64::from_le_bytes(word)
        };
        let is_whole = crc32fast::hash(&bytes[..CRC]).to_le_bytes() == bytes[CRC..] && word(0) == MAGIC;
        is_whole.then(|| Self {
            count: word(1),
            is_open: word(2) != 0,
            wal_bytes: word(3),
            store_bytes: word(4),
            generation: Generation { number: word(5) as u32, salt: word(6).to_le_bytes() },
            frames: word(7),
        })
    }

    /// The newer of the two that is whole. None without a file, or if neither is: then it says nothing.
    pub fn read(path: &Path) -> std::io::Result<Option<Self>> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let slot = |slot_bytes: u64| {
            let mut bytes = [0; BYTES];
            file.read_exact_at(&mut bytes, slot_bytes).ok().and_then(|()| Self::decode(&bytes))
        };
        Ok([slot(0), slot(SLOT)].into_iter().flatten().max_by_key(|mark| mark.count))
    }

    /// Writes it over the older of the two, and waits for the disk.
    pub fn write(&self, file: &File) -> std::io::Result<()> {
        file.write_all_at(&self.encode(), (self.count % 2) * SLOT)?;
        file.sync_data()
    }

    /// Makes the file in its full size, so that writing it later takes no space.
    pub fn make(path: &Path) -> std::io::Result<File> {
        let file = private().open(path)?;
        let length = file.metadata()?.len();
        if length < 2 * SLOT {
            file.write_all_at(&vec![0; (2 * SLOT - length) as usize], length)?;
            file.sync_all()?;
        }
        Ok(file)
    }

    /// What the store's file lacks.
    pub fn missing_in_store(&self, length: u64) -> Option<String> {
        let synced = self.store_bytes;
        (length < synced).then(|| match length {
            0 => format!("it is missing or empty, and {synced} bytes of it were synced"),
            _ => format!("it has {length} bytes, and {synced} were synced"),
        })
    }

    /// What the write-ahead file lacks by its length alone; None for no such file.
    pub fn missing_length(&self, length: Option<u64>) -> Option<String> {
        let made = self.wal_bytes;
        match length {
            _ if !self.is_open => None,
            None => Some(format!("it is missing, it had {made} bytes; {}", self.holds())),
            Some(length) if length < made => {
                Some(format!("it has {length} bytes, it had {made}; {}", self.holds()))
            }
            Some(_) => None,
        }
    }

    /// What a write-ahead file of full length lacks.
    pub fn missing_commits(&self, wal: &Wal) -> Option<String> {
        if !self.is_open || self.frames == 0 {
            return None;
        }
        match wal.generation {
            None => Some(format!("its header is gone; {}", self.holds())),
            Some(found) if found == self.generation => (wal.frames < self.frames)
                .then(|| format!("it holds {} whole frames; {}", wal.frames, self.holds())),
            Some(found) if found.number > self.generation.number => None,
            Some(_) => Some(format!("it is not the one that was written last; {}", self.holds())),
        }
    }

    fn holds(&self) -> String {
        match self.frames {
            0 => "commits that are nowhere else may have been in it".to_owned(),
            frames => format!("at least {frames} frames of synced commits were in it"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark() -> DurabilityMark {
        let generation = Generation { number: 7, salt: [3; 8] };
        DurabilityMark { count: 1, is_open: true, wal_bytes: 100, store_bytes: 50, generation, frames: 4 }
    }

    #[test]
    fn what_falls_behind_is_named_and_what_went_on_is_not() {
        let (same, later) = (mark().generation, Generation { number: 8, salt: [4; 8] });
        let wal = |generation, frames| Wal { generation, frames };
        for sound in [wal(Some(same), 4), wal(Some(same), 9), wal(Some(later), 0)] {
            assert_eq!(mark().missing_commits(&sound), None, "{sound:?}");
        }
        let earlier = Generation { number: 6, ..later };
        let closed = DurabilityMark { is_open: false, ..mark() };
        for (behind, word) in [
            (wal(Some(same), 3), "holds 3"),
            (wal(None, 0), "header"),
            (wal(Some(earlier), 9), "not the one"),
        ] {
            let message = mark().missing_commits(&behind).unwrap_or_default();
            assert!(message.contains(word), "{behind:?}: {message}");
            assert_eq!(closed.missing_commits(&behind), None);
        }
        assert_eq!(mark().missing_length(Some(100)), None);
        for short in [None, Some(0), Some(99)] {
            assert!(mark().missing_length(short).is_some() && closed.missing_length(short).is_none());
        }
        assert_eq!(mark().missing_in_store(50), None);
        assert!(mark().missing_in_store(49).is_some() && mark().missing_in_store(0).is_some());
    }

    #[test]
    fn the_older_mark_replaces_a_half_written_one() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("witness");
        assert_eq!(DurabilityMark::read(&path).expect("readable"), None);
        let file = DurabilityMark::make(&path).expect("made");
        assert_eq!(DurabilityMark::read(&path).expect("readable"), None, "zeros say nothing");
        let older = mark();
        let newer = DurabilityMark { count: 2, frames: 6, ..older };
        older.write(&file).expect("written");
        newer.write(&file).expect("written");
        assert_eq!(DurabilityMark::read(&path).expect("readable"), Some(newer));
        let bytes = std::fs::read(&path).expect("readable");
        for bit in 0..BYTES * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &damaged).expect("written");
            assert_eq!(DurabilityMark::read(&path).expect("readable"), Some(older), "bit {bit}");
        }
    }
}
