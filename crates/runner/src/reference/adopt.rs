//! What a parent takes from its child: the message, and what the message cites.

use std::collections::BTreeMap;

use riverrun_event::{Annotation, Block, Opaque, Part, RawJson, TextBlock};
use riverrun_log::seeded::{self, Bug};
use serde_json::Value;

use super::Pool;
use super::citation::{Shift, annotate, markers, rewrite, without_citations};
use super::pool::Group;
use super::wrapper::{disarm, set_number};

/// Which of the child's groups the parent's model reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Keep {
    /// Those that its message cites.
    #[default]
    Cited,
    /// Those behind them too.
    All,
    /// None, and its message has no citations.
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Adopted {
    /// For the parent's model: the groups, wrapped, then the message.
    pub content: Vec<Part>,
    /// For the user: the groups' blocks and the message, in the parent's numbers.
    pub block_list: Vec<Block>,
    /// The child's numbers and what they are in the parent's pool.
    pub numbers: BTreeMap<u64, u64>,
    /// Numbers in the message that the child's pool does not have.
    pub unknown: Vec<u64>,
}

impl Pool {
    /// Takes what the child's message cites into this pool, and puts the message in this pool's numbers.
    pub fn adopt(&mut self, child: &Pool, message: &[Block], keep: Keep) -> Adopted {
        let mut adopted = Adopted::default();
        if keep == Keep::Nothing {
            adopted.block_list = message.iter().map(|block| uncited(block, child)).collect();
            adopted.content = adopted.block_list.iter().cloned().map(for_model).collect();
            return adopted;
        }
        for number in wanted(child, message, keep) {
            match child.group(number) {
                Some(group) => self.take(number, group, &mut adopted),
                None => adopted.unknown.push(number),
            }
        }
        adopted.content = self.wrapper.wrap(adopted.content);
        for block in message {
            let block = self.translate(block, &adopted.numbers);
            adopted.block_list.push(block.clone());
            adopted.content.push(for_model(block));
        }
        adopted
    }

    fn take(&mut self, number: u64, group: &Group, adopted: &mut Adopted) {
        let mut group = group.unnumbered();
        if group.block_list.is_empty() {
            // A grandchild's blocks stand in its own items; what the model read is the next best thing to show.
            group.block_list = group.content.clone();
        }
        let new = if seeded::is_on(Bug::KeepChildNumbers) { number } else { self.admit(group) };
        adopted.numbers.insert(number, new);
        let Some(group) = self.group(new) else { return };
        let is_there = adopted.content.iter().any(|part| part.ref_id() == Some(new));
        if !is_there {
            adopted.content.extend(group.content.iter().cloned());
            adopted.block_list.extend(group.block_list.iter().cloned());
        }
    }

    /// A marker that the child's pool did not know becomes `[7]`: left as it was, it would cite the parent's number 7.
    fn translate(&self, block: &Block, numbers: &BTreeMap<u64, u64>) -> Block {
        let mut block = block.clone();
        set_number(&mut block, None);
        let Block::Text(text) = &mut block else { return block };
        let (rewritten, shifts) = rewrite(&text.text, |marker| {
            Some(match numbers.get(&marker.number) {
                Some(number) => format!("[^{number}]"),
                None => format!("[{}]", marker.number),
            })
        });
        let found = annotate(&rewritten, self);
        let others =
            text.annotations.take().into_iter().flatten().filter_map(|annotation| match annotation {
                Annotation::ReferenceToBlock(_) => None,
                Annotation::Other(opaque) => Some(Annotation::Other(moved(opaque, &shifts))),
            });
        let annotations: Vec<Annotation> = found.annotations.into_iter().chain(others).collect();
        text.annotations = Some(annotations).filter(|annotations| !annotations.is_empty());
        text.text = rewritten;
        block
    }
}

/// In the order of their first citation, then the rest if all are kept.
fn wanted(child: &Pool, message: &[Block], keep: Keep) -> Vec<u64> {
    let mut wanted: Vec<u64> = Vec::new();
    for block in message {
        let Block::Text(text) = block else { continue };
        for marker in markers(&text.text) {
            if !wanted.contains(&marker.number) {
                wanted.push(marker.number);
            }
        }
    }
    match keep {
        Keep::Cited | Keep::Nothing => {}
        Keep::All => {
            let remaining: Vec<u64> =
                child.groups().map(|(number, _)| number).filter(|number| !wanted.contains(number)).collect();
            wanted.extend(remaining);
        }
    }
    wanted
}

/// The block without its citations.
fn uncited(block: &Block, pool: &Pool) -> Block {
    let mut block = block.clone();
    set_number(&mut block, None);
    if let Block::Text(text) = &mut block {
        text.text = without_citations(&text.text, pool);
        text.annotations = None;
    }
    block
}

/// The model needs no annotations: it reads the markers.
fn for_model(block: Block) -> Part {
    let mut part = match block {
        Block::Text(text) => Block::Text(TextBlock { annotations: None, ..text }),
        Block::Image(_) | Block::File(_) | Block::Audio(_) | Block::Table(_) | Block::Json(_) => block,
        Block::Html(_) | Block::Item(_) | Block::Other(_) => block,
    };
    disarm(&mut part);
    part
}

/// A provider's own annotation, whose places move with the text before them.
fn moved(opaque: Opaque, shifts: &[Shift]) -> Opaque {
    let Ok(mut value) = serde_json::from_str::<Value>(opaque.raw.get()) else { return opaque };
    for name in ["startIndex", "endIndex", "start_index", "end_index"] {
        let Some(member) = value.get_mut(name) else { continue };
        let Some(old) = member.as_u64() else { continue };
        let shift = shifts.iter().rev().find(|(from, _)| *from <= old).map_or(0, |(_, shift)| *shift);
        *member = Value::from(old.saturating_add_signed(shift));
    }
    match RawJson::parse(value.to_string()) {
        Ok(raw) => Opaque { raw, ..opaque },
        Err(_) => opaque,
    }
}
