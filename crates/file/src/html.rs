//! The text of a page, as its reader sees it: no scripts, no styles, a line for each block.
//!
//! Only the tokenizer of the parser is used. It builds no tree, so nesting costs nothing.

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::{RawKind, Rawtext, Rcdata, ScriptData};
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

use crate::sink::TextSink;

/// What is fed at once; between two pieces the limits are looked at.
const PIECE: usize = 16 << 10;

pub(crate) fn text(page: &str, limit: usize, mut is_late: impl FnMut() -> bool) -> Option<(String, bool)> {
    let reader = Reader(RefCell::new(State { sink: TextSink::new(limit), hidden: None }));
    let tokenizer = Tokenizer::new(reader, TokenizerOpts::default());
    let queue = BufferQueue::default();
    let mut remaining = page;
    while !remaining.is_empty() && !tokenizer.sink.0.borrow().sink.is_full() {
        if is_late() {
            return None;
        }
        let (piece, behind) = remaining.split_at(remaining.floor_char_boundary(PIECE));
        queue.push_back(StrTendril::from_slice(piece));
        // The sink never asks to stop, so a piece is taken whole.
        let _ = tokenizer.feed(&queue);
        remaining = behind;
    }
    tokenizer.end();
    Some(tokenizer.sink.0.into_inner().sink.into_text())
}

struct State {
    sink: TextSink,
    /// The element whose text no reader sees.
    hidden: Option<&'static str>,
}

struct Reader(RefCell<State>);

/// Elements whose text is not the page's.
const HIDDEN: &[&str] = &["script", "style", "noscript", "template", "iframe", "object", "svg", "textarea"];
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "br",
    "dd",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "nav",
    "ol",
    "option",
    "p",
    "pre",
    "section",
    "table",
    "title",
    "tr",
    "ul",
];

impl TokenSink for Reader {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut state = self.0.borrow_mut();
        match token {
            Token::CharacterTokens(text) if state.hidden.is_none() => state.sink.push_flowing(&text),
            Token::TagToken(tag) => return state.tag(&tag),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

impl State {
    fn tag(&mut self, tag: &Tag) -> TokenSinkResult<()> {
        let name: &str = &tag.name;
        let hidden = HIDDEN.iter().copied().find(|known| *known == name);
        match (tag.kind, hidden) {
            (TagKind::StartTag, Some(hidden)) if !tag.self_closing => {
                self.hidden.get_or_insert(hidden);
            }
            (TagKind::EndTag, Some(hidden)) if self.hidden == Some(hidden) => self.hidden = None,
            _ if self.hidden.is_some() => {}
            (TagKind::StartTag, _) if name == "li" => {
                self.sink.line();
                self.sink.push("- ");
            }
            (TagKind::StartTag, _) if matches!(name, "td" | "th") => self.sink.tab(),
            _ if BLOCKS.contains(&name) => self.sink.line(),
            _ => {}
        }
        match (tag.kind, name) {
            (TagKind::StartTag, "script") => raw(ScriptData),
            (TagKind::StartTag, "style" | "iframe" | "noscript") => raw(Rawtext),
            (TagKind::StartTag, "textarea" | "title") => raw(Rcdata),
            _ => TokenSinkResult::Continue,
        }
    }
}

fn raw(kind: RawKind) -> TokenSinkResult<()> {
    TokenSinkResult::RawData(kind)
}
