//! The words of a hosted item, in blocks that fit an event.

use std::borrow::Cow;

use crate::{Block, DataBlock, HostedItem, RawJson, TextBlock};

/// What a word of a hosted item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostedWord {
    /// The thing itself as it began.
    Begun,
    /// The service's frames about it while it worked.
    Frame,
    /// The thing itself as it ended.
    Whole,
}

/// A word longer than this is told in pieces: an event that is too large would lose its longest texts.
const PIECE: usize = 32 << 10;

/// Marks a text that goes on in the next block.
const PART: &str = "part";

impl HostedWord {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            HostedWord::Begun => "begun",
            HostedWord::Frame => "frame",
            HostedWord::Whole => "whole",
        }
    }

    fn parse(tag: &str) -> Option<Self> {
        [HostedWord::Begun, HostedWord::Frame, HostedWord::Whole]
            .into_iter()
            .find(|word| word.as_str() == tag)
    }

    /// The blocks that encode this frame.
    pub fn blocks(self, json: &RawJson) -> Vec<Block> {
        let tag = || self.as_str().to_owned();
        if json.get().len() <= PIECE {
            let block =
                DataBlock { data: Some(json.clone()), tags: Some(vec![tag()]), ..DataBlock::default() };
            return vec![Block::Json(block)];
        }
        let mut blocks = Vec::new();
        let mut remaining = json.get();
        while !remaining.is_empty() {
            let (piece, after) = remaining.split_at(remaining.floor_char_boundary(PIECE));
            let mut tags = vec![tag()];
            if !after.is_empty() {
                tags.push(PART.to_owned());
            }
            blocks.push(Block::Text(TextBlock {
                text: piece.to_owned(),
                tags: Some(tags),
                ..TextBlock::default()
            }));
            remaining = after;
        }
        blocks
    }
}

impl HostedItem {
    /// The word that begins at this block, and the block behind it; None if it is not there, or not whole yet.
    pub fn word(&self, at: usize) -> Option<(HostedWord, Cow<'_, str>, usize)> {
        let blocks = self.block_list.as_deref().unwrap_or_default();
        let mut joined = String::new();
        for (index, block) in blocks.iter().enumerate().skip(at) {
            let (tags, text) = match block {
                Block::Json(block) => (&block.tags, block.data.as_ref().map_or("null", RawJson::get)),
                Block::Text(block) => (&block.tags, block.text.as_str()),
                _ => return None,
            };
            let tags = tags.as_deref().unwrap_or_default();
            let word = HostedWord::parse(tags.first()?)?;
            if tags.iter().any(|tag| tag == PART) {
                joined.push_str(text);
            } else if joined.is_empty() {
                return Some((word, Cow::Borrowed(text), index + 1));
            } else {
                joined.push_str(text);
                return Some((word, Cow::Owned(joined), index + 1));
            }
        }
        None
    }

    /// The item as far as it is known: whole, else its first form. None if that cannot be read.
    pub fn object(&self) -> Option<RawJson> {
        let (mut at, mut newest) = (0, None);
        while let Some((word, text, next)) = self.word(at) {
            if word != HostedWord::Frame {
                newest = Some(text);
            }
            at = next;
        }
        RawJson::parse(newest?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(words: &[(HostedWord, &str)]) -> HostedItem {
        let block_list = words
            .iter()
            .flat_map(|(word, text)| word.blocks(&RawJson::parse(*text).expect("JSON")))
            .collect();
        HostedItem { block_list: Some(block_list), ..HostedItem::default() }
    }

    #[test]
    fn words_of_any_size_come_back_as_they_were() {
        let long = format!("{{\"a\":\"{}\"}}", "é\\\"".repeat(PIECE));
        let told = [
            (HostedWord::Begun, "{}"),
            (HostedWord::Frame, long.as_str()),
            (HostedWord::Whole, long.as_str()),
        ];
        let item = item(&told);
        let (mut at, mut found) = (0, Vec::new());
        while let Some((word, text, next)) = item.word(at) {
            found.push((word, text.into_owned()));
            at = next;
        }
        let wanted: Vec<_> = told.iter().map(|(word, text)| (*word, (*text).to_owned())).collect();
        assert_eq!(found, wanted);
        assert_eq!(at, item.block_list.as_ref().map_or(0, Vec::len));
        assert_eq!(item.object().map(|raw| raw.get().len()), Some(long.len()));
        for block in item.block_list.iter().flatten() {
            let size = serde_json::to_string(block).expect("a block is JSON").len();
            assert!(size < 3 * PIECE, "{size}");
        }
    }

    #[test]
    fn a_word_whose_last_piece_is_missing_is_no_word() {
        let long = format!("\"{}\"", "a".repeat(PIECE));
        let mut item = item(&[(HostedWord::Begun, "{}"), (HostedWord::Whole, &long)]);
        item.block_list.as_mut().map(Vec::pop);
        assert_eq!(item.word(1), None);
        assert_eq!(item.object().as_ref().map(RawJson::get), Some("{}"));
    }
}
