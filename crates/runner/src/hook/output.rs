//! What a hook answers.

use riverrun_event::Input;
use serde::Deserialize;
use serde_json::Value;

use super::HookPoint;

/// An answer. As JSON it has these members in camelCase or snake_case, all optional, and no others.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default, expecting = "an object")]
pub struct HookOutput {
    pub decision: HookDecision,
    /// Why; the model or the user reads it.
    pub reason: Option<String>,
    /// Other arguments for the call, or another input for the turn.
    #[serde(alias = "updated_input")]
    pub updated_input: Option<Value>,
    /// What the model reads in addition.
    #[serde(alias = "additional_context")]
    pub additional_context: Option<String>,
    /// What the model reads instead of the tool's output: a text or parts.
    #[serde(alias = "updated_tool_output")]
    pub updated_tool_output: Option<Input>,
    /// The user is not shown the tool's output.
    #[serde(alias = "suppress_output")]
    pub suppress_output: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookDecision {
    #[default]
    Continue,
    /// Nothing against it. It never overrides a policy or a person.
    Allow,
    Block,
    /// As `Block`.
    Deny,
    /// A person must agree to the call.
    Ask,
}

impl HookDecision {
    pub fn as_str(self) -> &'static str {
        match self {
            HookDecision::Continue => "continue",
            HookDecision::Allow => "allow",
            HookDecision::Block => "block",
            HookDecision::Deny => "deny",
            HookDecision::Ask => "ask",
        }
    }
}

impl HookOutput {
    /// Goes on as it is.
    pub fn proceed() -> Self {
        Self::default()
    }

    pub fn block(reason: impl Into<String>) -> Self {
        Self { decision: HookDecision::Block, reason: Some(reason.into()), ..Self::default() }
    }

    /// A person must agree to the call.
    pub fn ask(reason: impl Into<String>) -> Self {
        Self { decision: HookDecision::Ask, reason: Some(reason.into()), ..Self::default() }
    }

    /// Goes on with other arguments, or another input.
    pub fn update(input: impl Into<Value>) -> Self {
        Self { updated_input: Some(input.into()), ..Self::default() }
    }

    /// The model reads this instead of the tool's output.
    pub fn replace(output: impl Into<String>) -> Self {
        Self { updated_tool_output: Some(Input::Text(output.into())), ..Self::default() }
    }

    pub fn with_context(mut self, text: impl Into<String>) -> Self {
        self.additional_context = Some(text.into());
        self
    }

    pub fn with_reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// What a program wrote; nothing at all is an answer too.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let wrong = |problem: String| format!("its answer is not what a hook answers: {problem}");
        // A struct could be read from a list too.
        let members: serde_json::Map<String, Value> =
            serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        serde_json::from_value(Value::Object(members)).map_err(|error| wrong(error.to_string()))
    }

    /// Err names the first member that means nothing at this point.
    pub(crate) fn check(&self, point: HookPoint) -> Result<(), String> {
        use HookPoint as P;
        let takes_input = matches!(point, P::UserPromptSubmit | P::PreToolUse);
        let takes_output = matches!(point, P::PostToolUse | P::PostToolFailure);
        let misplaced = [
            ("decision `ask`", self.decision == HookDecision::Ask && point != P::PreToolUse),
            ("`updatedInput`", self.updated_input.is_some() && !takes_input),
            ("`updatedToolOutput`", self.updated_tool_output.is_some() && !takes_output),
            ("`suppressOutput`", self.suppress_output && !takes_output),
        ];
        match misplaced.iter().find(|(_, is_misplaced)| *is_misplaced) {
            Some((what, _)) => {
                Err(format!("its answer has {what}, which means nothing at {}", point.as_str()))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_in_both_cases_and_nothing_else_passes_for_one() {
        let read = HookOutput::parse;
        assert_eq!(read(" \n"), Ok(HookOutput::default()));
        assert_eq!(read(r#"{"decision":"deny","reason":"no"}"#).unwrap().decision, HookDecision::Deny);
        let both = [r#"{"updatedInput":{"x":1}}"#, r#"{"updated_input":{"x":1}}"#];
        assert_eq!(read(both[0]), read(both[1]));
        for wrong in ["yes", "[]", "7", r#"{"decision":"maybe"}"#, r#"{"decison":"deny"}"#, r#"{"decision":"#]
        {
            let error = read(wrong).unwrap_err();
            assert!(error.starts_with("its answer is not what a hook answers: "), "{wrong}: {error}");
        }
    }

    #[test]
    fn what_means_nothing_at_a_point_is_named() {
        let ask = HookOutput::ask("?");
        assert_eq!(ask.check(HookPoint::PreToolUse), Ok(()));
        let error = ask.check(HookPoint::Stop).unwrap_err();
        assert_eq!(error, "its answer has decision `ask`, which means nothing at stop");
        assert!(HookOutput::update(1).check(HookPoint::PostToolUse).is_err());
        assert!(HookOutput::replace("x").check(HookPoint::PreToolUse).is_err());
        assert!(HookOutput::replace("x").check(HookPoint::PostToolFailure).is_ok());
    }
}
