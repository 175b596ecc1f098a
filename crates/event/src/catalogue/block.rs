//! The displayable parts of an item.

use std::fmt;

use schemars::JsonSchema;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::catalogue::macros::{payload, tagged};
use crate::catalogue::{BlobRef, Item, RawJson};

tagged! {
    /// One displayable part of an item, tagged by `type`.
    Block, "One displayable part of an item, tagged by `type`." {
        Text(TextBlock) = "text",
        Image(ImageBlock) = "image" | "image_url" | "input_image" | "output_image",
        File(FileBlock) = "file",
        Audio(AudioBlock) = "audio",
        Table(DataBlock) = "table",
        Json(DataBlock) = "json",
        Html(TextBlock) = "html",
        Item(ItemBlock) = "item",
    }
}

/// A part of what the model reads. It has the same form as a block, which is what the user sees.
pub type Part = Block;

payload! {
    /// Text, or HTML when the type says so.
    TextBlock {
        /// The text.
        text: String,
    } optional {
        /// The number by which this part is cited; parts of one result share it.
        ref_id "ref_id": u64,
        /// What stretches of the text point to.
        annotations: Vec<Annotation>,
        /// The odds of the text's tokens, in the words of the service that counts them.
        logprobs: Vec<RawJson>,
        /// Marks of whoever made the part.
        tags: Vec<String>,
    };

    /// A picture, complete or the newest draft of it.
    ImageBlock optional {
        /// Where the picture is, or the picture itself as a data URL.
        image_url "image_url": ImageUrl,
        /// The picture in the blob store.
        file_ref "file_ref": BlobRef,
        /// The media type.
        media_type "media_type": String,
        /// The number by which this part is cited; parts of one result share it.
        ref_id "ref_id": u64,
        /// Marks of whoever made the part.
        tags: Vec<String>,
    };

    /// A file.
    FileBlock optional {
        /// The file's name.
        name: String,
        /// The media type.
        media_type "media_type": String,
        /// Where the file is.
        url: String,
        /// The file in the blob store.
        file_ref "file_ref": BlobRef,
        /// The file in base 64.
        data: String,
        /// The size in bytes.
        size: u64,
        /// The number by which this part is cited; parts of one result share it.
        ref_id "ref_id": u64,
        /// Marks of whoever made the part.
        tags: Vec<String>,
    };

    /// Sound, complete or the newest stretch of it.
    AudioBlock optional {
        /// The sound in base 64.
        data: String,
        /// The media type.
        media_type "media_type": String,
        /// Where the sound is.
        url: String,
        /// The sound in the blob store.
        file_ref "file_ref": BlobRef,
        /// What is said.
        transcript: String,
        /// The number by which this part is cited; parts of one result share it.
        ref_id "ref_id": u64,
        /// Marks of whoever made the part.
        tags: Vec<String>,
    };

    /// A table or other structured value.
    DataBlock optional {
        /// The value, opaque to us.
        data: RawJson,
        /// What to show when the value cannot be shown.
        text: String,
        /// The number by which this part is cited; parts of one result share it.
        ref_id "ref_id": u64,
        /// Marks of whoever made the part.
        tags: Vec<String>,
    };

    /// An item of a child task, shown inside its parent's tool result.
    ItemBlock {
        /// The child's item.
        item: Box<Item>,
    } optional {
        /// The child task.
        task_id "task_id": String,
    };
}

impl TextBlock {
    /// Marks a text by which the model refuses to answer.
    pub const REFUSAL: &str = "refusal";

    /// True if the model refuses with this text.
    pub fn is_refusal(&self) -> bool {
        self.tags.iter().flatten().any(|tag| tag == Self::REFUSAL)
    }
}

impl Block {
    /// A block of plain text.
    pub fn plain(text: impl Into<String>) -> Self {
        Block::Text(TextBlock { text: text.into(), ..TextBlock::default() })
    }

    /// The text of a text or HTML block.
    pub fn text(&self) -> Option<&str> {
        match self {
            Block::Text(block) | Block::Html(block) => Some(&block.text),
            Block::Table(block) | Block::Json(block) => block.text.as_deref(),
            Block::Image(_) | Block::File(_) | Block::Audio(_) | Block::Item(_) | Block::Other(_) => None,
        }
    }

    /// The text that deltas are added to.
    pub fn text_mut(&mut self) -> Option<&mut String> {
        match self {
            Block::Text(block) | Block::Html(block) => Some(&mut block.text),
            Block::Table(_) | Block::Json(_) | Block::Image(_) | Block::File(_) | Block::Audio(_) => None,
            Block::Item(_) | Block::Other(_) => None,
        }
    }

    /// The base 64 of a file or a sound, that deltas are added to.
    pub fn base64(&self) -> Option<&str> {
        match self {
            Block::File(block) => Some(block.data.as_deref().unwrap_or_default()),
            Block::Audio(block) => Some(block.data.as_deref().unwrap_or_default()),
            Block::Text(_) | Block::Html(_) | Block::Table(_) | Block::Json(_) => None,
            Block::Image(_) | Block::Item(_) | Block::Other(_) => None,
        }
    }

    /// Adds a piece to the base 64 of a file or a sound; false if the two are not one text of base 64.
    pub fn push_base64(&mut self, piece: &str) -> bool {
        let data = match self {
            Block::File(block) => &mut block.data,
            Block::Audio(block) => &mut block.data,
            Block::Text(_) | Block::Html(_) | Block::Table(_) | Block::Json(_) => return false,
            Block::Image(_) | Block::Item(_) | Block::Other(_) => return false,
        };
        let fits = continues_base64(data.as_deref().unwrap_or_default(), piece);
        if fits {
            data.get_or_insert_default().push_str(piece);
        }
        fits
    }

    /// The number by which the block is cited.
    pub fn ref_id(&self) -> Option<u64> {
        match self {
            Block::Text(block) | Block::Html(block) => block.ref_id,
            Block::Image(block) => block.ref_id,
            Block::File(block) => block.ref_id,
            Block::Audio(block) => block.ref_id,
            Block::Table(block) | Block::Json(block) => block.ref_id,
            Block::Other(opaque) => opaque.ref_id(),
            Block::Item(_) => None,
        }
    }
}

/// Pieces of one text of base 64: only the last has padding, and with it the text is whole.
fn continues_base64(data: &str, piece: &str) -> bool {
    let body = piece.trim_end_matches('=');
    let padding = piece.len() - body.len();
    let is_whole = (data.len() + piece.len()).is_multiple_of(4);
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    let is_open = piece.is_empty() || !data.ends_with('=');
    is_open && body.bytes().all(is_digit) && (padding == 0 || (padding <= 2 && is_whole))
}

/// Where a picture is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageUrl {
    /// An address or a data URL.
    pub url: String,
    /// How closely the model looks: `low`, `high`, `auto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl<'de> Deserialize<'de> for ImageUrl {
    /// Some senders write the address alone.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct UrlVisitor;
        impl<'de> Visitor<'de> for UrlVisitor {
            type Value = ImageUrl;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an address: a string or an object with `url`")
            }
            fn visit_str<E>(self, url: &str) -> Result<ImageUrl, E> {
                Ok(ImageUrl { url: url.to_owned(), detail: None })
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ImageUrl, A::Error> {
                let (mut url, mut detail) = (None, None);
                while let Some(name) = map.next_key::<String>()? {
                    match name.as_str() {
                        "url" => url = Some(map.next_value()?),
                        "detail" => detail = map.next_value()?,
                        _ => drop(map.next_value::<serde::de::IgnoredAny>()?),
                    }
                }
                let url = url.ok_or_else(|| serde::de::Error::missing_field("url"))?;
                Ok(ImageUrl { url, detail })
            }
        }
        deserializer.deserialize_any(UrlVisitor)
    }
}

tagged! {
    /// What a stretch of text points to, tagged by `type`.
    Annotation, "What a stretch of text points to, tagged by `type`." {
        ReferenceToBlock(ReferenceToBlock) = "reference_to_block",
    }
}

payload! {
    /// A citation: the stretch `[startIndex, endIndex)` of the text, in code points, points to a numbered part.
    ReferenceToBlock {
        /// The number of the part that is cited.
        reference_id "reference_id": u64,
        /// The first code point of the stretch.
        start_index "start_index": u64,
        /// The code point after the stretch.
        end_index "end_index": u64,
    };
}
