use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn characters_cut_by_utf16_units_come_whole(text in "[a你😀𝄞]{0,12}", at in 0_usize..24) {
        let units: Vec<u16> = text.encode_utf16().collect();
        let (first, second) = units.split_at(at.min(units.len()));
        let escaped = |units: &[u16]| -> String { units.iter().map(|unit| format!("\\u{unit:04x}")).collect() };
        let mut joiner = surrogate::Joiner::default();
        let mut joined = String::new();
        for half in [first, second] {
            let json = Json::parse(&format!("{{\"d\":\"{}\"}}", escaped(half))).unwrap();
            let (text, lost) = joiner.join(json.text("d"), json.has_lone_surrogates);
            prop_assert_eq!(lost, 0);
            joined.push_str(&text);
        }
        prop_assert!(!joiner.end());
        prop_assert_eq!(joined, text);
    }
}
