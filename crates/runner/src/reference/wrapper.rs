//! How the model is shown which number belongs to what.

use riverrun_event::{Block, Part, TextBlock};

/// Marks the parts that are ours, so that they can be told from what a tool wrote.
const TAG: &str = "added_by_reference_manager";

/// The words around a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wrapper {
    /// `<referencable-item>`
    #[default]
    Item,
    /// `<referencable-result>`
    Result,
}

impl Wrapper {
    pub(super) fn name(self) -> &'static str {
        match self {
            Wrapper::Item => "referencable-item",
            Wrapper::Result => "referencable-result",
        }
    }

    fn opening(self, number: u64) -> String {
        let last = match self {
            Wrapper::Item => "",
            Wrapper::Result => "\n",
        };
        format!("<{}>\nID: {number}{last}", self.name())
    }

    fn closing(self) -> String {
        format!("</{}>", self.name())
    }

    /// Puts markers around each run of parts with the same number. Runs never overlap, so markers never cross.
    pub(super) fn wrap(self, parts: Vec<Part>) -> Vec<Part> {
        let mut out = Vec::with_capacity(parts.len() + 2);
        let mut open = None;
        for part in parts {
            let number = part.ref_id();
            if number != open {
                out.extend(open.map(|number| marker(self.closing(), number)));
                out.extend(number.map(|number| marker(self.opening(number), number)));
                open = number;
            }
            out.push(part);
        }
        out.extend(open.map(|number| marker(self.closing(), number)));
        out
    }
}

fn marker(text: String, number: u64) -> Part {
    let tags = Some(vec![TAG.to_owned()]);
    Block::Text(TextBlock { text, ref_id: Some(number), tags, ..TextBlock::default() })
}

/// True for a part that `wrap` made.
pub(super) fn is_marker(part: &Part) -> bool {
    match part {
        Block::Text(block) => block.tags.iter().flatten().any(|tag| tag == TAG),
        Block::Image(_) | Block::File(_) | Block::Audio(_) | Block::Table(_) | Block::Json(_) => false,
        Block::Html(_) | Block::Item(_) | Block::Other(_) => false,
    }
}

/// A tool's text must not pass for one of our markers: it could give itself another group's number.
pub(super) fn disarm(part: &mut Part) {
    let Some(text) = part.text_mut() else { return };
    for imitated in ["<referencable-", "</referencable-"] {
        if text.contains(imitated) {
            *text = text.replace(imitated, &imitated.replace('<', "&lt;"));
        }
    }
}

/// The same for all that is not ours, of a result that has no number.
pub(crate) fn disarm_all(parts: &mut [Part]) {
    parts.iter_mut().filter(|part| !is_marker(part)).for_each(disarm);
}

/// Gives the part a number, or takes it away. False if parts of this type cannot carry one.
pub(super) fn set_number(part: &mut Part, number: Option<u64>) -> bool {
    let member = match part {
        Block::Text(block) | Block::Html(block) => &mut block.ref_id,
        Block::Image(block) => &mut block.ref_id,
        Block::File(block) => &mut block.ref_id,
        Block::Audio(block) => &mut block.ref_id,
        Block::Table(block) | Block::Json(block) => &mut block.ref_id,
        Block::Other(opaque) => {
            opaque.set_ref_id(number);
            return true;
        }
        Block::Item(_) => return false,
    };
    *member = number;
    true
}
