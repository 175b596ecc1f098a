//! From an answer to what the tool gives back.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use riverrun_event::{Block, FileBlock, ImageBlock, ImageUrl};

use crate::ToolOutput;
use crate::scrub::Scrubber;
use crate::written::written;

#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("the answer has more than {0} bytes")]
    TooLong(usize),
    #[error("the answer broke off: {0}")]
    Broken(String),
}

pub(crate) async fn read(mut body: Incoming, limit: usize) -> Result<Bytes, BodyError> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| BodyError::Broken(error.to_string()))?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > limit {
            return Err(BodyError::TooLong(limit));
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes.into())
}

/// What there is of the body, for an error text. It is cleaned before it is cut: half a secret is one too.
pub(crate) async fn read_tail(body: Incoming, limit: usize, secrets: Scrubber) -> String {
    const TAIL: usize = 2048;
    let bytes = read(body, limit).await.unwrap_or_default();
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
            let told = Block::plain(format!("{} bytes of {essence}", bytes.len()));
            ToolOutput { content: vec![told], block_list: vec![Block::File(file)], ..ToolOutput::default() }
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
