//! Parts that many payloads have.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer, value::SeqAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::catalogue::macros::payload;
use crate::catalogue::{Part, RawJson};

payload! {
    /// What a model call consumed and produced, in tokens.
    Usage optional {
        /// Tokens of the input, cached ones included.
        input_tokens "input_tokens": u64,
        /// Tokens of the input that came from a cache.
        cached_input_tokens "cached_input_tokens": u64,
        /// Tokens of the input that were written to a cache.
        cache_write_input_tokens "cache_write_input_tokens": u64,
        /// Tokens of the output, reasoning included.
        output_tokens "output_tokens": u64,
        /// Tokens of the output that were reasoning.
        reasoning_tokens "reasoning_tokens": u64,
        /// Input and output together.
        total_tokens "total_tokens": u64,
    };

    /// Why something failed.
    ErrorInfo {
        /// What happened, for a person.
        message: String,
    } optional {
        /// A stable name of the failure.
        code: String,
        /// The kind of failure: `provider`, `tool`, `timeout`, `policy`, …
        category: String,
        /// True if the same work may succeed later.
        retryable: bool,
        /// What to do about it.
        advice: String,
        /// What the service said that failed, in its own words.
        upstream: Box<UpstreamError>,
    };

    /// A service's own words for its failure, as callers of that service know them.
    UpstreamError optional {
        /// The HTTP status of its answer.
        status: u32,
        /// Its name of the failure.
        code: String,
        /// The member of the request that it complains of.
        param: String,
        /// How long it asked to wait, in milliseconds.
        retry_after_ms "retry_after_ms": u64,
    };

    /// A blob that is kept outside the event.
    BlobDescription {
        /// Where the blob is.
        r#ref: String,
    } optional {
        /// The blob's media type.
        media_type "media_type": String,
        /// The blob's content encoding.
        encoding: String,
        /// The blob's size in bytes.
        size: u64,
        /// The blob's digest, as `algorithm:hex`.
        digest: String,
        /// Who keeps the blob.
        owner: String,
        /// True if the blob holds only a part.
        truncated: bool,
        /// True if something was taken out of the blob.
        redacted: bool,
        /// When the blob goes away, RFC 3339.
        expires_at "expires_at": String,
    };
}

/// Where something large is: a bare reference, or a reference with what is known about the blob.
#[derive(Debug, Clone, PartialEq)]
pub enum BlobRef {
    /// The name alone.
    Bare(String),
    /// The name with what is known of the content.
    Described(Box<BlobDescription>),
}

impl BlobRef {
    /// Where the blob is.
    pub fn as_str(&self) -> &str {
        match self {
            BlobRef::Bare(reference) => reference,
            BlobRef::Described(description) => &description.r#ref,
        }
    }
}

impl Default for BlobRef {
    fn default() -> Self {
        BlobRef::Bare(String::new())
    }
}

impl Serialize for BlobRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            BlobRef::Bare(reference) => serializer.serialize_str(reference),
            BlobRef::Described(description) => description.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for BlobRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RefVisitor;
        impl<'de> Visitor<'de> for RefVisitor {
            type Value = BlobRef;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a reference: a string or an object with `ref`")
            }
            fn visit_str<E>(self, text: &str) -> Result<BlobRef, E> {
                Ok(BlobRef::Bare(text.to_owned()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<BlobRef, A::Error> {
                BlobDescription::deserialize(MapAccessDeserializer::new(map))
                    .map(|it| BlobRef::Described(it.into()))
            }
        }
        deserializer.deserialize_any(RefVisitor)
    }
}

impl JsonSchema for BlobRef {
    fn schema_name() -> Cow<'static, str> {
        "BlobRef".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Where something large is: a bare reference, or a reference with what is known about the blob.",
            "oneOf": [{ "type": "string" }, generator.subschema_for::<BlobDescription>()],
        })
    }
}

/// What a turn was asked: a text, or parts.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// One text.
    Text(String),
    /// Texts, images and files, in order.
    Parts(Vec<Part>),
}

impl Default for Input {
    fn default() -> Self {
        Input::Text(String::new())
    }
}

impl From<&str> for Input {
    fn from(text: &str) -> Self {
        Input::Text(text.to_owned())
    }
}

impl Input {
    /// The text of all text parts, one after the other.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Input::Text(text) => Cow::Borrowed(text),
            Input::Parts(parts) => Cow::Owned(parts.iter().filter_map(Part::text).collect()),
        }
    }
}

impl Serialize for Input {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Input::Text(text) => serializer.serialize_str(text),
            Input::Parts(parts) => parts.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Input {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InputVisitor;
        impl<'de> Visitor<'de> for InputVisitor {
            type Value = Input;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an input: a string or an array of parts")
            }
            fn visit_str<E>(self, text: &str) -> Result<Input, E> {
                Ok(Input::Text(text.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, parts: A) -> Result<Input, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(parts)).map(Input::Parts)
            }
        }
        deserializer.deserialize_any(InputVisitor)
    }
}

impl JsonSchema for Input {
    fn schema_name() -> Cow<'static, str> {
        "Input".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "What a turn was asked: a text, or parts.",
            "oneOf": [{ "type": "string" }, generator.subschema_for::<Vec<Part>>()],
        })
    }
}

/// Named values of the caller, opaque to us.
pub type Metadata = RawJson;
