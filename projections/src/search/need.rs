//! What every match of a pattern must contain: trigrams of its folded text.

use std::collections::BTreeSet;

use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

use super::fold::{fold, fold_text};

/// The most texts that a part of a pattern is spelled out as.
const MAX_TEXTS: usize = 16;

/// The longest text that is spelled out, in bytes: a repetition can ask for any length.
const MAX_TEXT_BYTES: usize = 256;

/// The most characters of a class that is looked into; a larger one says too little.
const MAX_CLASS: u32 = 64;

/// The most trigrams asked of the index for one pattern: more cost more than they exclude.
const MAX_TRIGRAMS: usize = 512;

/// Three folded characters, as one number.
pub(super) type Trigram = u64;

/// What the folded text must contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// Nothing in particular.
    Nothing,
    /// All of these trigrams (never none).
    Trigrams(BTreeSet<Trigram>),
    /// What each of these says (never none).
    All(Vec<Need>),
    /// What at least one of these says (never none).
    Any(Vec<Need>),
}

/// What every match of a pattern needs, whether or not it ignores case.
pub(super) fn need(pattern: &Hir) -> Need {
    let mut left = MAX_TRIGRAMS;
    analyse(pattern).need().weakened(&mut left)
}

/// The trigrams of a text, in its order, as often as they are there.
pub(super) fn trigrams(text: &str) -> impl Iterator<Item = Trigram> {
    let windows = text.chars().map(fold).scan(0_u64, |window, character| {
        // 21 bits hold any character.
        *window = ((*window << 21) | u64::from(u32::from(character))) & ((1 << 63) - 1);
        Some(*window)
    });
    windows.skip(2)
}

/// What is known of a part of a pattern.
enum Part {
    /// A match of it, folded, is exactly one of these texts.
    Texts(BTreeSet<String>),
    /// A match of it contains at least this.
    Needs(Need),
}

fn analyse(part: &Hir) -> Part {
    match part.kind() {
        // Assertions take no text, so that what stands around them stays together.
        HirKind::Empty | HirKind::Look(_) => one(String::new()),
        HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
            Ok(text) => one(fold_text(text)),
            Err(_) => Part::Needs(Need::Nothing),
        },
        HirKind::Class(class) => analyse_class(class),
        HirKind::Repetition(repetition) => analyse_repetition(repetition),
        HirKind::Capture(capture) => analyse(&capture.sub),
        HirKind::Concat(parts) => concatenate(parts.iter().map(analyse)),
        HirKind::Alternation(parts) => alternate(parts.iter().map(analyse).collect()),
    }
}

fn analyse_class(class: &Class) -> Part {
    let mut texts = BTreeSet::new();
    let mut seen = 0_u32;
    let ranges: Vec<(u32, u32)> = match class {
        Class::Unicode(class) => {
            class.ranges().iter().map(|range| (range.start().into(), range.end().into())).collect()
        }
        Class::Bytes(class) if class.is_ascii() => {
            class.ranges().iter().map(|range| (range.start().into(), range.end().into())).collect()
        }
        Class::Bytes(_) => return Part::Needs(Need::Nothing),
    };
    for (start, end) in ranges {
        seen = seen.saturating_add(end - start + 1);
        if seen > MAX_CLASS {
            return Part::Needs(Need::Nothing);
        }
        texts.extend((start..=end).filter_map(char::from_u32).map(|it| fold(it).to_string()));
    }
    spelled(texts)
}

fn analyse_repetition(repetition: &Repetition) -> Part {
    let inner = analyse(&repetition.sub);
    match (repetition.min, repetition.max, inner) {
        (0, Some(1), Part::Texts(mut texts)) => {
            texts.insert(String::new());
            spelled(texts)
        }
        (0, _, _) => Part::Needs(Need::Nothing),
        (min, Some(max), Part::Texts(texts)) if min == max && min <= MAX_TEXT_BYTES as u32 => {
            let copies = (0..min).map(|_| Part::Texts(texts.clone()));
            concatenate(copies)
        }
        (_, _, inner) => Part::Needs(inner.need()),
    }
}

fn concatenate(parts: impl Iterator<Item = Part>) -> Part {
    let mut run = BTreeSet::from([String::new()]);
    let mut needs = Vec::new();
    for part in parts {
        match part {
            Part::Texts(texts) => match joined(&run, &texts) {
                Some(longer) => run = longer,
                None => needs.push(Part::Texts(std::mem::replace(&mut run, texts)).need()),
            },
            Part::Needs(need) => {
                needs.push(Part::Texts(std::mem::take(&mut run)).need());
                run.insert(String::new());
                needs.push(need);
            }
        }
    }
    if needs.is_empty() {
        return Part::Texts(run);
    }
    needs.push(Part::Texts(run).need());
    Part::Needs(all(needs))
}

fn alternate(parts: Vec<Part>) -> Part {
    let mut texts = BTreeSet::new();
    for part in &parts {
        match part {
            Part::Texts(more) => texts.extend(more.iter().cloned()),
            Part::Needs(_) => return Part::Needs(any(parts.into_iter().map(Part::need).collect())),
        }
    }
    spelled(texts)
}

/// Every text of the one followed by every text of the other, if that is not too much.
fn joined(left: &BTreeSet<String>, right: &BTreeSet<String>) -> Option<BTreeSet<String>> {
    if left.len().saturating_mul(right.len()) > MAX_TEXTS {
        return None;
    }
    let mut joined = BTreeSet::new();
    for (first, second) in left.iter().flat_map(|first| right.iter().map(move |it| (first, it))) {
        // A single long literal stays whole: only joining has to stop.
        if first.len().saturating_add(second.len()) > MAX_TEXT_BYTES && !first.is_empty() {
            return None;
        }
        joined.insert(format!("{first}{second}"));
    }
    Some(joined)
}

fn one(text: String) -> Part {
    Part::Texts(BTreeSet::from([text]))
}

/// Texts, or what they have in common if they are too many.
fn spelled(texts: BTreeSet<String>) -> Part {
    match texts.len() {
        // A class without members never matches; nothing is claimed about it.
        0 => Part::Needs(Need::Nothing),
        1..=MAX_TEXTS => Part::Texts(texts),
        _ => Part::Needs(Part::Texts(texts).need()),
    }
}

impl Part {
    fn need(self) -> Need {
        match self {
            Part::Needs(need) => need,
            Part::Texts(texts) => any(texts
                .iter()
                .map(|text| {
                    let found: BTreeSet<Trigram> = trigrams(text).collect();
                    if found.is_empty() { Need::Nothing } else { Need::Trigrams(found) }
                })
                .collect()),
        }
    }
}

fn all(mut needs: Vec<Need>) -> Need {
    needs.retain(|need| *need != Need::Nothing);
    match needs.len() {
        0 => Need::Nothing,
        1 => needs.remove(0),
        _ => Need::All(needs),
    }
}

fn any(mut needs: Vec<Need>) -> Need {
    if needs.is_empty() || needs.contains(&Need::Nothing) {
        return Need::Nothing;
    }
    if needs.len() == 1 { needs.remove(0) } else { Need::Any(needs) }
}

impl Need {
    fn count(&self) -> usize {
        match self {
            Need::Nothing => 0,
            Need::Trigrams(trigrams) => trigrams.len(),
            Need::All(needs) | Need::Any(needs) => needs.iter().map(Need::count).sum(),
        }
    }

    /// The same with at most `left` trigrams, by asking for less.
    fn weakened(self, left: &mut usize) -> Need {
        match self {
            Need::Nothing => Need::Nothing,
            Need::Trigrams(trigrams) => {
                let kept: BTreeSet<Trigram> = trigrams.into_iter().take(*left).collect();
                *left -= kept.len();
                if kept.is_empty() { Need::Nothing } else { Need::Trigrams(kept) }
            }
            Need::All(needs) => all(needs.into_iter().map(|need| need.weakened(left)).collect()),
            Need::Any(needs) => {
                let needs = Need::Any(needs);
                if needs.count() > *left {
                    return Need::Nothing;
                }
                *left -= needs.count();
                needs
            }
        }
    }

    /// Whether a folded text with these trigrams has what is needed.
    #[cfg(test)]
    pub(super) fn is_met_by(&self, found: &BTreeSet<Trigram>) -> bool {
        match self {
            Need::Nothing => true,
            Need::Trigrams(wanted) => wanted.is_subset(found),
            Need::All(needs) => needs.iter().all(|need| need.is_met_by(found)),
            Need::Any(needs) => needs.iter().any(|need| need.is_met_by(found)),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn of(pattern: &str) -> Need {
        let mut parser = regex_syntax::ParserBuilder::new();
        need(&parser.case_insensitive(true).build().parse(pattern).unwrap())
    }

    fn met(pattern: &str, text: &str) -> bool {
        of(pattern).is_met_by(&trigrams(text).collect())
    }

    #[test]
    fn literals_classes_and_alternatives_exclude_other_texts() {
        assert!(met("kassel", "in KASSEL") && !met("kassel", "kasse"));
        assert!(met("ba[rz]", "baz") && !met("ba[rz]", "bag"));
        assert!(met("(foo|bar)qux", "BARqux") && !met("(foo|bar)qux", "boorqux"));
        assert!(met(r"\bcolou?r\b", "color") && !met(r"\bcolou?r\b", "colr"));
        assert!(met("(?:abcd){2,}", "abcdabcd") && !met("(?:abcd){2,}", "abc"));
        assert!(met("abc.*xyz", "abc-xyz") && !met("abc.*xyz", "abc-xy"));
    }

    #[test]
    fn patterns_without_a_literal_need_nothing() {
        for pattern in ["ab", ".*", r"\w+", "abc|d", "(?:abc)*", "^$", "[a-z]{3}", "(?-u:\\xff)?"] {
            let hir =
                regex_syntax::ParserBuilder::new().utf8(false).build().parse(pattern).unwrap();
            assert_eq!(need(&hir), Need::Nothing, "{pattern}");
        }
    }

    #[test]
    fn a_long_pattern_asks_for_a_bounded_number_of_trigrams() {
        let words: Vec<String> = (0..400).map(|number| format!("word{number}")).collect();
        assert!(of(&words.concat()).count() <= MAX_TRIGRAMS);
        assert!(of(&words.join("|")).count() <= MAX_TRIGRAMS);
    }
}
