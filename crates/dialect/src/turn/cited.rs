//! Citations in a text, and what they point to.

use riverrun_event::{Annotation, Block, Item, TextBlock};

use super::View;
use crate::task::annotation::Offsets;

/// One annotation of a text, ready for a foreign protocol.
pub(crate) enum Citation<'a> {
    /// One of ours: the stretch `[start, end)` points to a numbered part of a result.
    Reference { number: u64, start: u64, end: u64, source: Source<'a> },
    /// A provider's own, verbatim.
    Other { tag: &'a str, raw: &'a str },
}

/// What a number points to.
pub(crate) struct Source<'a> {
    pub url: Option<&'a str>,
    pub title: Option<&'a str>,
    pub text: Option<&'a str>,
}

/// The annotations of a text, in order, with offsets in the reader's unit.
pub(crate) fn citations<'a>(view: &View<'a>, block: &'a TextBlock) -> Vec<Citation<'a>> {
    let annotations = block.annotations.as_deref().unwrap_or_default();
    let offsets = Offsets::of(&block.text, annotations, view.unit);
    let cite = |annotation: &'a Annotation| match annotation {
        Annotation::ReferenceToBlock(reference) => Citation::Reference {
            number: reference.reference_id,
            start: offsets.at(reference.start_index),
            end: offsets.at(reference.end_index),
            source: source(view, reference.reference_id),
        },
        Annotation::Other(opaque) => Citation::Other { tag: &opaque.tag, raw: opaque.raw.get() },
    };
    annotations.iter().map(cite).collect()
}

/// The numbered part stands in one of the task's results.
fn source<'a>(view: &View<'a>, number: u64) -> Source<'a> {
    let output = view.root.into_iter().flat_map(|task| &task.output);
    let blocks = output.flat_map(|item| match item {
        Item::ToolResult(result) => result.block_list.as_deref().unwrap_or_default(),
        Item::Message(_)
        | Item::Reasoning(_)
        | Item::ToolCall(_)
        | Item::Handoff(_)
        | Item::Error(_)
        | Item::Hosted(_)
        | Item::Other(_) => &[],
    });
    let mut numbered = blocks.filter(|block| block.ref_id() == Some(number));
    match numbered.next() {
        Some(Block::Image(image)) => {
            Source { url: image.image_url.as_ref().map(|it| it.url.as_str()), title: None, text: None }
        }
        Some(Block::File(file)) => {
            Source { url: file.url.as_deref(), title: file.name.as_deref(), text: None }
        }
        Some(Block::Audio(audio)) => {
            Source { url: audio.url.as_deref(), title: None, text: audio.transcript.as_deref() }
        }
        Some(block) => Source { url: None, title: None, text: block.text() },
        None => Source { url: None, title: None, text: None },
    }
}

impl Source<'_> {
    /// An address even where there is none: such a protocol demands one.
    pub(crate) fn address(&self, number: u64) -> String {
        self.url.map_or_else(|| format!("urn:riverrun:reference:{number}"), str::to_owned)
    }

    /// A name for people: the file's, else the beginning of the text, else the number.
    pub(crate) fn name(&self, number: u64) -> String {
        let first_line = self.text.and_then(|text| text.lines().next()).filter(|line| !line.is_empty());
        let name = self.title.or(first_line).map(|name| name.chars().take(80).collect());
        name.unwrap_or_else(|| format!("[^{number}]"))
    }
}
