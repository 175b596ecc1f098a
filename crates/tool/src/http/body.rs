//! From an answer to what the tool gives back.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use riverrun_event::{Block, FileBlock, ImageBlock, ImageUrl};
use riverrun_net::ResponseBody;

use crate::ToolOutput;
use crate::scrub::Scrubber;
use crate::written::written;

/// What there is of the body, for an error text. It is cleaned before it is cut: half a secret is one too.
pub(crate) async fn read_tail(mut body: ResponseBody, limit: usize, secrets: Scrubber) -> String {
    const TAIL: usize = 2048;
    let bytes = body.read(limit).await.unwrap_or_default();
    let text = secrets.text(&String::from_utf8_lossy(&bytes));
    let text = text.trim();
    let start = text.char_indices().rev().nth(TAIL).map_or(0, |(at, _)| at);
    text[start..].to_owned()
}

pub(super) fn output(media_type: &str, bytes: &Bytes) -> ToolOutput {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if essence.starts_with("image/") {
        return both(image(&essence, &STANDARD.encode(bytes)));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => written(text).unwrap_or_else(|| ToolOutput {
            structured: serde_json::from_str(text).ok(),
            ..ToolOutput::text(text)
        }),
        Err(_) => {
            let file = FileBlock {
                media_type: Some(essence.clone()),
                size: Some(bytes.len() as u64),
                data: Some(STANDARD.encode(bytes)),
                ..FileBlock::default()
            };
            // A model reads no bytes, but it should know that they came.
            let description = Block::plain(format!("{} bytes of {essence}", bytes.len()));
            ToolOutput {
                content: vec![description],
                block_list: vec![Block::File(file)],
                ..ToolOutput::default()
            }
        }
    }
}

pub(crate) fn image(media_type: &str, base64: &str) -> Block {
    let url = format!("data:{media_type};base64,{base64}");
    Block::Image(ImageBlock {
        image_url: Some(ImageUrl { url, detail: None }),
        media_type: Some(media_type.to_owned()),
        ..ImageBlock::default()
    })
}

fn both(block: Block) -> ToolOutput {
    ToolOutput { content: vec![block.clone()], block_list: vec![block], ..ToolOutput::default() }
}
