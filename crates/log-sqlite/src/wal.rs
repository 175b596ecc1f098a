//! What the write-ahead file says about itself before SQLite reads it.
//!
//! SQLite takes the file up to the first frame that does not fit, and is silent about what follows. After a power loss
//! that is right: what follows was never synced. After damage it is not: what follows was acknowledged. The frames
//! tell the two apart, because a commit begins only when the one before it is synced.
//!
//! ```text
//! [header][f f F][f F][f ✗ F][f f F]      F: the last frame of a commit
//!          sound       │       └ a later commit: the one with ✗ was synced, so it was damaged since
//!                      └ nothing after its F: it may never have been synced
//! ```

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::durability_mark;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
/// The last bit says in which order the words of a checksum are read.
const MAGIC: u32 = 0x377f_0682;

/// What a start has to know.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Findings {
    /// Synced commits that cannot be read. To open the store would be to drop them, and to write over them.
    pub damage: Option<String>,
    /// The last commit is not whole. If the process was killed or the power failed, nobody was told of it.
    pub torn: Option<String>,
    /// Frames of this generation lie behind the last whole commit; they must not be taken for later ones.
    pub has_remains: bool,
    /// Frames that wait to be copied into the store.
    pub frames: u64,
    /// What is compared with the mark.
    pub state: durability_mark::Wal,
}

/// The generation that the header names; None without a header.
pub fn generation(file: &File) -> std::io::Result<Option<durability_mark::Generation>> {
    let mut header = [0; HEADER];
    match file.read_exact_at(&mut header, 0) {
        Ok(()) => Ok(Generation::read(&header).map(|generation| generation.mark)),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// Where so many frames end, of a store with our pages.
pub const fn end_of(frames: u64) -> u64 {
    HEADER as u64 + frames * (FRAME_HEADER as u64 + 4096)
}

/// Reads the file beside a store. `full_size` is what a store makes it at least, as far as that is known.
pub fn inspect(path: &Path, full_size: u64) -> std::io::Result<Findings> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Findings::default()),
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut header = Vec::with_capacity(HEADER);
    reader.by_ref().take(HEADER as u64).read_to_end(&mut header)?;
    let Some(generation) = Generation::read(&header) else {
        let is_blank = header.iter().all(|byte| *byte == 0);
        return if is_blank { headless(reader) } else { Ok(bad_header()) };
    };
    let mut walk = Walk::new(&generation);
    let mut frame = vec![0; FRAME_HEADER + generation.page_size];
    while read_whole(&mut reader, &mut frame)? {
        walk.step(&generation, &frame);
    }
    let mut findings = walk.findings();
    findings.state = durability_mark::Wal { generation: Some(generation.mark), frames: walk.committed };
    if length < full_size && findings.damage.is_none() && findings.torn.is_none() {
        // It is made full-size before its header is written, and never shortened.
        findings.torn = Some(format!("it has {length} bytes, it was made with {full_size}"));
    }
    Ok(findings)
}

/// A header is synced before the first frame behind it is written.
fn headless(mut reader: impl Read) -> std::io::Result<Findings> {
    let mut frame = [0; FRAME_HEADER];
    let has_frames = read_whole(&mut reader, &mut frame)? && frame.iter().any(|byte| *byte != 0);
    Ok(if has_frames { bad_header() } else { Findings::default() })
}

fn bad_header() -> Findings {
    Findings { damage: Some("its header is damaged".to_owned()), ..Findings::default() }
}

fn read_whole(reader: &mut impl Read, into: &mut [u8]) -> std::io::Result<bool> {
    match reader.read_exact(into) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// What the frames have in common that were written since the file last began anew.
struct Generation {
    page_size: usize,
    is_big_endian: bool,
    mark: durability_mark::Generation,
    checksum: (u32, u32),
}

impl Generation {
    /// None if the header is not whole.
    fn read(header: &[u8]) -> Option<Self> {
        let word = |at| Some(u32::from_be_bytes(header.get(at..at + 4)?.try_into().ok()?));
        let is_big_endian = word(0)? == MAGIC | 1;
        let page_size = usize::try_from(word(8)?).ok()?;
        let mut salt = [0; 8];
        salt.copy_from_slice(header.get(16..24)?);
        let checksum = checksum((0, 0), &header[..24], is_big_endian);
        let is_known =
            word(0)? | 1 == MAGIC | 1 && page_size.is_power_of_two() && (512..=65_536).contains(&page_size);
        let is_sound = is_known && checksum == (word(24)?, word(28)?);
        let mark = durability_mark::Generation { number: word(12)?, salt };
        is_sound.then_some(Self { page_size, is_big_endian, mark, checksum })
    }
}

fn checksum((mut a, mut b): (u32, u32), bytes: &[u8], is_big_endian: bool) -> (u32, u32) {
    let word = |bytes: &[u8]| {
        let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
        if is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    };
    for pair in bytes.chunks_exact(8) {
        a = a.wrapping_add(word(&pair[..4])).wrapping_add(b);
        b = b.wrapping_add(word(&pair[4..])).wrapping_add(a);
    }
    (a, b)
}

/// Frame after frame, as SQLite would go, and then on.
struct Walk {
    checksum: (u32, u32),
    /// Frames so far.
    index: u64,
    /// Frames up to the end of the last whole commit.
    committed: u64,
    /// The first frame that does not fit.
    broken: Option<u64>,
    /// Frames of the generation since the last whole commit.
    since_commit: u64,
    /// Frames of the generation at or behind the broken one: all, and those that end a commit.
    behind: u64,
    commits_behind: u64,
    is_followed: bool,
}

impl Walk {
    fn new(generation: &Generation) -> Self {
        Self {
            checksum: generation.checksum,
            index: 0,
            committed: 0,
            broken: None,
            since_commit: 0,
            behind: 0,
            commits_behind: 0,
            is_followed: false,
        }
    }

    fn step(&mut self, generation: &Generation, frame: &[u8]) {
        self.index += 1;
        let word = |at: usize| u32::from_be_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]]);
        let mut belongs = frame[8..16] == generation.mark.salt;
        let ends_commit = word(4) != 0;
        if self.broken.is_none() {
            let after_head = checksum(self.checksum, &frame[..8], generation.is_big_endian);
            let found = checksum(after_head, &frame[FRAME_HEADER..], generation.is_big_endian);
            let fits = word(0) != 0 && found == (word(16), word(20));
            if fits && belongs {
                self.checksum = found;
                self.since_commit = if ends_commit { 0 } else { self.since_commit + 1 };
                self.committed = if ends_commit { self.index } else { self.committed };
                return;
            }
            self.broken = Some(self.index);
            // What fits but for the mark of its generation is of this one; no older frame could fit.
            belongs |= fits;
        }
        if belongs {
            self.behind += 1;
            self.is_followed |= self.commits_behind > 0;
            self.commits_behind += u64::from(ends_commit);
        }
    }

    /// The frames that fit.
    fn sound(&self) -> u64 {
        self.broken.map_or(self.index, |broken| broken - 1)
    }

    fn findings(&self) -> Findings {
        let has_remains = self.behind > 0 || self.since_commit > 0;
        let Some(broken) = self.broken.filter(|_| self.commits_behind > 0) else {
            return Findings { has_remains, frames: self.sound(), ..Findings::default() };
        };
        let (behind, commits) = (self.behind, self.commits_behind);
        let what =
            format!("frame {broken} does not fit; {behind} frames of {commits} commits lie from there on");
        match self.is_followed {
            true => Findings { damage: Some(what), ..Findings::default() },
            false => Findings { torn: Some(what), has_remains, frames: self.sound(), ..Findings::default() },
        }
    }
}
