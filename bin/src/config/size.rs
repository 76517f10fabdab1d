//! Sizes as people write them.

use crate::failure::{Failure, Outcome};

/// The units, with their bytes. Those that say no better are the binary ones.
const UNITS: &[(&str, u64)] = &[
    ("", 1),
    ("b", 1),
    ("k", 1 << 10),
    ("kib", 1 << 10),
    ("kb", 1_000),
    ("m", 1 << 20),
    ("mib", 1 << 20),
    ("mb", 1_000_000),
    ("g", 1 << 30),
    ("gib", 1 << 30),
    ("gb", 1_000_000_000),
    ("t", 1 << 40),
    ("tib", 1 << 40),
    ("tb", 1_000_000_000_000),
];

/// The bytes that `text` means, such as `4096`, `64MiB` or `1 GB`; `name` is what it was given for.
pub fn bytes(name: &str, text: &str) -> Outcome<u64> {
    let text = text.trim();
    let end = text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let unit = unit.trim().to_ascii_lowercase();
    let factor = UNITS.iter().find(|(known, _)| *known == unit).map(|(_, factor)| *factor);
    let number = digits.parse::<u64>().ok();
    let bytes = number.zip(factor).and_then(|(number, factor)| number.checked_mul(factor));
    bytes.ok_or_else(|| {
        Failure::usage(format!("{name} is {text:?}; write a size such as 4194304, 64MiB or 1GiB"))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, expected) in [
            ("0", 0),
            ("4096", 4_096),
            ("64MiB", 64 << 20),
            (" 1 gb ", 1_000_000_000),
            ("8k", 8_192),
        ] {
            assert_eq!(bytes("--x", text).unwrap(), expected, "{text}");
        }
        for wrong in ["", "MiB", "-1", "1.5MiB", "9 parsecs", "99999999TiB"] {
            let failure = bytes("--x", wrong).unwrap_err();
            assert!(failure.to_string().contains("--x"), "{failure}");
        }
    }
}
