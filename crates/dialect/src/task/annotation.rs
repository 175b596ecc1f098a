//! Annotations, with their offsets in the reader's unit.

use riverrun_event::Annotation;

use crate::OffsetUnit;
use crate::members::{Members, write_list};

/// Where stretches of one text are, in one unit.
///
/// Stored offsets are code points. An offset behind the end of the text stays what it is in code points, and is the
/// end of the text in the other units.
pub(crate) struct Offsets {
    /// Code points and the same place in the unit, by code points; empty when the unit is code points.
    known: Vec<(u64, u64)>,
}

impl Offsets {
    /// Goes through the text once, whatever the number of annotations.
    pub(crate) fn of(text: &str, annotations: &[Annotation], unit: OffsetUnit) -> Self {
        let mut wanted: Vec<u64> = match unit {
            OffsetUnit::CodePoint => Vec::new(),
            OffsetUnit::Utf16 | OffsetUnit::Utf8 => annotations.iter().flat_map(ends).collect(),
        };
        wanted.sort_unstable();
        let mut known = Vec::with_capacity(wanted.len());
        let (mut characters, mut code_points, mut offset_in_unit) = (text.chars(), 0, 0);
        for offset in wanted {
            while code_points < offset {
                let Some(character) = characters.next() else { break };
                code_points += 1;
                offset_in_unit += width(character, unit);
            }
            known.push((offset, offset_in_unit));
        }
        Self { known }
    }

    pub(crate) fn at(&self, code_point: u64) -> u64 {
        let found = self.known.binary_search_by_key(&code_point, |(offset, _)| *offset);
        found.map_or(code_point, |at| self.known[at].1)
    }
}

fn ends(annotation: &Annotation) -> Vec<u64> {
    match annotation {
        Annotation::ReferenceToBlock(reference) => vec![reference.start_index, reference.end_index],
        Annotation::Other(_) => Vec::new(),
    }
}

pub(super) fn width(character: char, unit: OffsetUnit) -> u64 {
    match unit {
        OffsetUnit::CodePoint => 1,
        OffsetUnit::Utf16 => character.len_utf16() as u64,
        OffsetUnit::Utf8 => character.len_utf8() as u64,
    }
}

/// Annotations of other types are the sender's, verbatim.
pub(super) fn write_annotations(out: &mut String, text: &str, annotations: &[Annotation], unit: OffsetUnit) {
    let offsets = Offsets::of(text, annotations, unit);
    write_list(out, annotations, |out, annotation| match annotation {
        Annotation::ReferenceToBlock(reference) => {
            write_reference(
                out,
                reference.reference_id,
                offsets.at(reference.start_index),
                offsets.at(reference.end_index),
            );
        }
        Annotation::Other(opaque) => out.push_str(opaque.raw.get()),
    });
}

pub(super) fn write_reference(out: &mut String, reference_id: u64, start: u64, end: u64) {
    let mut members = Members::open(out);
    members.text("type", "reference_to_block");
    members.number("reference_id", reference_id);
    members.number("start_index", start);
    members.number("end_index", end);
    members.close();
}
