//! Whole numbers in as few bytes as they need: 7 bits a byte, low bits first.

use bytes::BufMut;

/// Appends a number, seven bits to a byte, the lowest first.
pub fn write(out: &mut impl BufMut, mut value: u64) {
    while value >= 0x80 {
        out.put_u8(value as u8 | 0x80);
        value >>= 7;
    }
    out.put_u8(value as u8);
}

/// None if the bytes end early, overflow, or are not the shortest form.
pub fn read(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            return None;
        }
        value |= bits << shift;
        if byte < 0x80 {
            return if byte == 0 && shift > 0 { None } else { Some(value) };
        }
    }
    None
}
