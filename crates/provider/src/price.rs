//! What a call costs.

use riverrun_event::Usage;
use serde::Deserialize;

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub input: f64,
    /// For input that was cached; the price of input if absent.
    pub cached_input: Option<f64>,
    pub output: f64,
}

/// The cost in US dollars. None if the service did not say what it counted: unknown is not nothing.
pub fn cost(price: &Price, usage: &Usage) -> Option<f64> {
    let (input, output) = (usage.input_tokens?, usage.output_tokens?);
    let cached = usage.cached_input_tokens.unwrap_or(0).min(input);
    let cached_price = price.cached_input.unwrap_or(price.input);
    let dollars =
        (input - cached) as f64 * price.input + cached as f64 * cached_price + output as f64 * price.output;
    Some(dollars / 1_000_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_input_is_cheaper_and_unknown_is_none() {
        let price = Price { input: 2.0, cached_input: Some(0.5), output: 8.0 };
        let usage = Usage {
            input_tokens: Some(1_000_000),
            cached_input_tokens: Some(500_000),
            output_tokens: Some(250_000),
            ..Usage::default()
        };
        assert_eq!(cost(&price, &usage), Some(1.0 + 0.25 + 2.0));
        assert_eq!(cost(&Price { cached_input: None, ..price }, &usage), Some(4.0));
        assert_eq!(cost(&price, &Usage { output_tokens: None, ..usage }), None);
    }
}
