//! The chunk that nearly every chunk is: some text of the first choice, and nothing else.

use std::borrow::Cow;

use serde::Deserialize;

/// A chunk with any other member is not read so.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plain<'a> {
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    #[serde(borrow)]
    pub model: Cow<'a, str>,
    #[serde(borrow)]
    pub choices: [Choice<'a>; 1],
    #[serde(borrow, default, rename = "object")]
    _object: Option<&'a str>,
    #[serde(default, rename = "created")]
    _created: Option<u64>,
    #[serde(borrow, default)]
    pub system_fingerprint: Option<&'a str>,
    #[serde(borrow, default)]
    pub service_tier: Option<&'a str>,
    #[serde(default, rename = "usage")]
    _usage: (),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Choice<'a> {
    #[serde(borrow)]
    pub delta: Delta<'a>,
    index: u64,
    #[serde(default, rename = "finish_reason")]
    _finish_reason: (),
    #[serde(default, rename = "logprobs")]
    _logprobs: (),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub content: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "role")]
    _role: Option<&'a str>,
}

impl<'a> Plain<'a> {
    pub fn read(data: &'a str) -> Option<Self> {
        serde_json::from_str::<Self>(data).ok().filter(|plain| plain.choices[0].index == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(choice: &str) -> Option<String> {
        let chunk = format!(
            r#"{{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{choice}],"usage":null}}"#
        );
        Plain::read(&chunk)?.choices[0].delta.content.as_deref().map(ToOwned::to_owned)
    }

    #[test]
    fn only_text_of_the_first_choice_is_plain() {
        let text = r#"{"index":0,"delta":{"content":"a\nb"},"logprobs":null,"finish_reason":null}"#;
        assert_eq!(content(text).as_deref(), Some("a\nb"));
        for other in [
            r#"{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}"#,
            r#"{"index":1,"delta":{"content":"a"},"finish_reason":null}"#,
            r#"{"index":0,"delta":{"content":"a","reasoning_content":"b"},"finish_reason":null}"#,
            r#"{"index":0,"delta":{"content":"a","tool_calls":[]},"finish_reason":null}"#,
        ] {
            assert_eq!(content(other), None, "{other}");
        }
    }
}
