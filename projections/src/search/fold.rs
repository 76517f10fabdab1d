//! Case folding of single characters, exactly as the `regex` crate ignores case.
//!
//! Simple case folding puts characters into *orbits* (`k`, `K` and the Kelvin sign; `s`, `S` and
//! `ſ`); two characters are the same without regard to case if they are in one orbit. Each is
//! mapped to the smallest of its orbit, one to one, so that a folded text has as many characters
//! as the text.

use std::sync::OnceLock;

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

/// The version of the table, which is the Unicode version of `regex-syntax`. Raise it when the
/// test of the table's digest fails: the index is then rebuilt.
pub(super) const VERSION: u32 = 1;

/// Characters in a page of the table.
const PAGE: usize = 256;

/// Pages that cover every character.
const PAGES: usize = 0x11_0000 / PAGE;

/// Pages are made when one of their characters is first met.
static TABLE: [OnceLock<Box<[char]>>; PAGES] = [const { OnceLock::new() }; PAGES];

/// The smallest character of the orbit.
pub(super) fn fold(character: char) -> char {
    let code = character as usize;
    let page = TABLE.get(code / PAGE).map(|page| page.get_or_init(|| make_page(code / PAGE)));
    let folded = page.and_then(|page| page.get(code % PAGE));
    folded.copied().unwrap_or(character)
}

/// Folds every character of a text.
pub(super) fn fold_text(text: &str) -> String {
    text.chars().map(fold).collect()
}

fn make_page(page: usize) -> Box<[char]> {
    let first = page * PAGE;
    let codes = first..first + PAGE;
    // A surrogate's place is never looked up.
    codes
        .map(|code| u32::try_from(code).ok().and_then(char::from_u32).map_or('\0', smallest))
        .collect()
}

fn smallest(character: char) -> char {
    let mut orbit = ClassUnicode::new([ClassUnicodeRange::new(character, character)]);
    if orbit.try_case_fold_simple().is_err() {
        // Only without the Unicode tables, which the regex crate then lacks as well.
        return character;
    }
    orbit.ranges().first().map_or(character, ClassUnicodeRange::start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_orbit_has_one_smallest_character() {
        assert_eq!(fold_text("kK\u{212a} sSſ µμΜ σςΣ"), "KKK SSS µµµ ΣΣΣ");
        assert_eq!(fold_text("日本 ß"), format!("日本 {}", fold('ẞ')));
    }

    /// If this fails after an update of `regex-syntax`: raise [`VERSION`], then the digest.
    #[test]
    fn the_table_is_the_one_of_this_version() {
        let mut hasher = blake3::Hasher::new();
        for character in '\0'..=char::MAX {
            let folded = fold(character);
            if folded != character {
                hasher.update(&u32::from(character).to_le_bytes());
                hasher.update(&u32::from(folded).to_le_bytes());
            }
        }
        assert_eq!((VERSION, &hasher.finalize().to_hex()[..16]), (1, "d37e80fd46424384"));
    }
}
