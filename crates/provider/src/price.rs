//! What a call costs.

use riverrun_event::Usage;
use serde::Deserialize;

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub input: f64,
    /// For input that was cached; the price of input if absent.
    pub cached_input: Option<f64>,
    /// For input that was written to a cache, where the service counts it; a quarter more than input if absent.
    pub cache_write: Option<f64>,
    pub output: f64,
}

/// What Anthropic takes for input that it keeps for five minutes, as a multiple of the price of input.
const CACHE_WRITE: f64 = 1.25;

/// The cost in US dollars. None if the service did not say what it counted: unknown is not nothing.
pub fn cost(price: &Price, usage: &Usage) -> Option<f64> {
    let (input, output) = (usage.input_tokens?, usage.output_tokens?);
    let cached = usage.cached_input_tokens.unwrap_or(0).min(input);
    let cached_price = price.cached_input.unwrap_or(price.input);
    let written = usage.cache_write_input_tokens.unwrap_or(0).min(input - cached);
    let write_price = price.cache_write.unwrap_or(price.input * CACHE_WRITE);
    let parts = [
        (input - cached - written, price.input),
        (cached, cached_price),
        (written, write_price),
        (output, price.output),
    ];
    Some(parts.iter().map(|(tokens, price)| *tokens as f64 * price).sum::<f64>() / 1_000_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_input_is_cheaper_and_unknown_is_none() {
        let price = Price { input: 2.0, cached_input: Some(0.5), cache_write: None, output: 8.0 };
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

    #[test]
    fn input_that_is_written_to_a_cache_has_its_own_price() {
        let price = Price { input: 4.0, cached_input: Some(0.5), cache_write: None, output: 8.0 };
        let usage = Usage {
            input_tokens: Some(1_000_000),
            cached_input_tokens: Some(500_000),
            cache_write_input_tokens: Some(250_000),
            output_tokens: Some(0),
            ..Usage::default()
        };
        assert_eq!(cost(&price, &usage), Some(1.0 + 0.25 + 1.25));
        assert_eq!(cost(&Price { cache_write: Some(8.0), ..price }, &usage), Some(1.0 + 0.25 + 2.0));
        let all = Usage { cache_write_input_tokens: Some(9_000_000), ..usage };
        assert_eq!(cost(&price, &all), Some(0.25 + 2.5), "no more is written than was read");
    }
}
