//! Citations in what a model wrote.

use riverrun_event::{Annotation, ReferenceToBlock};
use riverrun_fold::{Marker, Scanner};

use super::Pool;

/// Follows a text that arrives in pieces. A marker may be split over any of them.
#[derive(Debug, Clone, Default)]
pub struct Citations {
    text: String,
    scanner: Scanner,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Found {
    /// Places in the whole text, in code points.
    pub annotations: Vec<Annotation>,
    /// Markers whose number is not in the pool; they stay text.
    pub unknown: Vec<Marker>,
}

impl Citations {
    /// The citations that are complete with this piece.
    pub fn push(&mut self, piece: &str, pool: &Pool) -> Found {
        self.text.push_str(piece);
        let mut found = Found::default();
        self.scanner.scan(&self.text, |marker| found.add(marker, pool));
        found
    }

    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Found {
    fn add(&mut self, marker: Marker, pool: &Pool) {
        if !pool.contains(marker.number) {
            return self.unknown.push(marker);
        }
        self.annotations.push(Annotation::ReferenceToBlock(ReferenceToBlock {
            reference_id: marker.number,
            start_index: marker.start,
            end_index: marker.end,
        }));
    }
}

/// The citations of a whole text.
pub fn annotate(text: &str, pool: &Pool) -> Found {
    Citations::default().push(text, pool)
}

/// The text for a later turn, whose model knows nothing of this turn's numbers.
pub fn without_citations(text: &str, pool: &Pool) -> String {
    rewrite(text, |marker| if pool.contains(marker.number) { Some(String::new()) } else { None }).0
}

pub(super) fn markers(text: &str) -> Vec<Marker> {
    let mut markers = Vec::new();
    Scanner::default().scan(text, |marker| markers.push(marker));
    markers
}

/// A place in the old text and how far the new one stands behind it from there on, in code points.
pub(super) type Shift = (u64, i64);

/// Puts something else in the place of markers; None leaves one as it is.
pub(super) fn rewrite(
    text: &str,
    mut replace: impl FnMut(&Marker) -> Option<String>,
) -> (String, Vec<Shift>) {
    let (mut out, mut shifts, mut shift) = (String::with_capacity(text.len()), Vec::new(), 0);
    let mut characters = text.chars().enumerate();
    for marker in markers(text) {
        let Some(replacement) = replace(&marker) else { continue };
        let before = (&mut characters).take_while(|(at, _)| (*at as u64) < marker.start);
        out.extend(before.map(|(_, character)| character));
        out.push_str(&replacement);
        // `take_while` took the marker's first character; the rest of the marker goes too.
        let length = marker.end - marker.start - 1;
        (&mut characters).take(length as usize).for_each(drop);
        shift += replacement.chars().count() as i64 - (length + 1) as i64;
        shifts.push((marker.end, shift));
    }
    out.extend(characters.map(|(_, character)| character));
    (out, shifts)
}
