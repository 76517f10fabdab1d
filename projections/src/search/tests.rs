//! Search against a plain scan.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::time::Duration;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use regex::RegexBuilder;
use scripta_events::domain::{ChatId, MessageId, Role};
use tempfile::TempDir;

use super::need::{need, trigrams};
use super::{MAX_PATTERN_CHARS, SearchError, SearchQuery};
use crate::testing::History;
use crate::{Options, Projections};

/// Letters of orbits that other case foldings get wrong, and some that no folding touches.
const LETTERS: &[char] = &[
    'a', 'A', 'k', 'K', '\u{212a}', 's', 'S', 'ſ', 'ß', 'ẞ', 'σ', 'ς', 'Σ', 'µ', 'μ', 'Μ', 'ι',
    '\u{345}', 'ͅ', 'Å', 'å', '\u{212b}', 'i', 'I', 'İ', 'ı', 'ǆ', 'ǅ', 'Ǆ', 'θ', 'ϑ', 'ϴ', '日',
    '本', ' ', '\n', '.', '1', '😀',
];

fn text() -> impl Strategy<Value = String> {
    let letter = prop::sample::select(LETTERS);
    prop::collection::vec(letter, 0..24).prop_map(|letters| letters.into_iter().collect())
}

/// Regular expressions over the same letters.
fn pattern() -> impl Strategy<Value = String> {
    let letter = prop::sample::select(LETTERS).prop_map(|it| regex::escape(&it.to_string()));
    let word = prop::collection::vec(letter, 1..5).prop_map(|letters| letters.concat());
    let class = prop::sample::select(vec!["[a-sK]", "[kσ]", ".", r"\w", r"\b", "^", "$", "[^a]"]);
    let leaf = prop_oneof![4 => word, 1 => class.prop_map(str::to_owned)];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            prop::collection::vec(inner.clone(), 2..4)
                .prop_map(|parts| format!("(?:{})", parts.join("|"))),
            (inner, prop::sample::select(vec!["?", "*", "+", "{2}", "{0,1}", "{2,3}"]))
                .prop_map(|(part, times)| format!("(?:{part}){times}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_match_has_what_its_pattern_needs(
        pattern in pattern(),
        text in text(),
        ignore_case: bool,
    ) {
        let mut builder = RegexBuilder::new(&pattern);
        let regex = builder.case_insensitive(ignore_case).build().unwrap();
        let parsed = regex_syntax::ParserBuilder::new()
            .case_insensitive(ignore_case)
            .build()
            .parse(&pattern)
            .unwrap();
        if regex.is_match(&text) {
            prop_assert!(need(&parsed).is_met_by(&trigrams(&text).collect()));
        }
    }
}

struct Corpus {
    projections: Projections,
    /// In the order of results.
    messages: Vec<(ChatId, MessageId, Role, String)>,
    _dir: TempDir,
}

/// Messages in several chats, the later half only in the tail or in young segments.
fn corpus(options: Options) -> Corpus {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let history = History::new();
    let dir = tempfile::tempdir().unwrap();
    let projections = Projections::open(history.shared(), dir.path(), options).unwrap();
    let mut chats = Vec::new();
    for name in ["one", "two"] {
        let project = history.project(name);
        chats.extend((0..3).map(|_| (project, history.chat(project, name))));
    }
    let mut messages = Vec::new();
    for number in 0..400_usize {
        let text = text().new_tree(&mut runner).unwrap().current();
        let (project, chat) = chats[number * 7 % chats.len()];
        let role = [Role::User, Role::Assistant, Role::Tool][number % 3];
        let id = history.say(chat, chat.first_branch(), role, &text);
        messages.push((project, chat, number, id, role, text));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(projections.reach(history.head())).unwrap();
    messages.sort_by_key(|(project, chat, number, ..)| (*project, *chat, *number));
    let messages =
        messages.into_iter().map(|(_, chat, _, id, role, text)| (chat, id, role, text)).collect();
    Corpus { projections, messages, _dir: dir }
}

fn check(corpus: &Corpus, query: &SearchQuery, limit: usize) {
    let source = if query.is_regex { query.pattern.clone() } else { regex::escape(&query.pattern) };
    let regex = RegexBuilder::new(&source).case_insensitive(query.ignore_case).build().unwrap();
    let wanted: Vec<_> = corpus
        .messages
        .iter()
        .filter(|(chat, _, role, _)| {
            query.roles.contains(role) && query.chat.is_none_or(|wanted| wanted == *chat)
        })
        .map(|(_, id, _, text)| (*id, regex.find_iter(text).count() as u64))
        .filter(|(_, count)| *count > 0)
        .collect();
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let page = corpus.projections.search(query, after, limit).unwrap();
        assert!(page.hits.len() <= limit);
        assert_eq!(page.truncated, page.next.is_some());
        for hit in page.hits {
            let fragment = &hit.fragment;
            let shown: String =
                fragment.text.chars().skip(fragment.start).take(fragment.length).collect();
            // Assertions look beyond a fragment: only its shape is checked here.
            assert_eq!(shown.chars().count(), fragment.length);
            found.push((hit.message, hit.match_count));
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found, wanted, "{query:?}");
}

#[test]
fn pages_that_run_out_of_time_lose_nothing() {
    let options = Options { page_time: Duration::ZERO, ..Options::default() };
    let corpus = corpus(options);
    let query = SearchQuery { roles: vec![Role::User, Role::Tool], ..SearchQuery::text("s") };
    check(&corpus, &query, 10);
    let first = corpus.projections.search(&query, None, 10).unwrap();
    assert!(first.hits.len() <= 1 && first.truncated);
}

#[test]
fn search_finds_what_a_scan_finds_in_the_same_order() {
    let corpus = corpus(Options::default());
    let chat = corpus.messages[0].0;
    let config = ProptestConfig::with_cases(400);
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let substring = (0..corpus.messages.len(), 0..20_usize, 1..6_usize).prop_map({
        let texts: Vec<String> = corpus.messages.iter().map(|it| it.3.clone()).collect();
        move |(at, skip, take)| texts[at].chars().skip(skip).take(take).collect::<String>()
    });
    let queries = (pattern(), substring, any::<(bool, bool, bool, bool)>(), 1..50_usize);
    runner
        .run(&queries, |(pattern, substring, (is_regex, ignore_case, tools, narrow), limit)| {
            let pattern = if is_regex { pattern } else { substring };
            if !pattern.is_empty() {
                let mut query = SearchQuery { is_regex, ignore_case, ..SearchQuery::text(pattern) };
                query.chat = narrow.then_some(chat);
                query.roles.extend(tools.then_some(Role::Tool));
                check(&corpus, &query, limit);
            }
            Ok(())
        })
        .unwrap();
}

#[tokio::test]
async fn a_message_is_found_before_it_is_committed_and_after() {
    let history = History::new();
    let dir = tempfile::tempdir().unwrap();
    let projections = history.open(dir.path());
    let project = history.project("p");
    let chat = history.chat(project, "c");
    let query = SearchQuery::text("NEEDLE");
    // Sooner than a commit is due: those that are not in the index are in the tail.
    for number in 1..=50 {
        history.say(chat, chat.first_branch(), Role::User, &format!("a needle, number {number}"));
        projections.reach(history.head()).await.unwrap();
        assert_eq!(projections.search(&query, None, 100).unwrap().hits.len(), number);
    }
    projections.close();
    assert_eq!(projections.search(&query, None, 100).unwrap().hits.len(), 50);
    drop(projections);
    let again = history.open(dir.path());
    assert_eq!(again.search(&query, None, 100).unwrap().hits.len(), 50);
}

#[tokio::test]
async fn a_fragment_is_the_first_match_with_80_characters_around_it() {
    let history = History::new();
    let dir = tempfile::tempdir().unwrap();
    let projections = history.open(dir.path());
    let project = history.project("Alpha");
    let chat = history.chat(project, "Notes");
    let text = format!("{}straße{} Straße", "é".repeat(100), "日".repeat(100));
    history.say(chat, chat.first_branch(), Role::User, &text);
    projections.reach(history.head()).await.unwrap();
    let page = projections.search(&SearchQuery::text("STRAẞE"), None, 1).unwrap();
    let hit = &page.hits[0];
    assert_eq!((hit.project_name.as_str(), hit.chat_title.as_str()), ("Alpha", "Notes"));
    assert_eq!(hit.match_count, 2);
    assert_eq!(hit.fragment.text, format!("{}straße{}", "é".repeat(80), "日".repeat(80)));
    assert_eq!((hit.fragment.start, hit.fragment.length), (80, 6));
    assert!(page.next.is_none() && !page.truncated);
}

#[tokio::test]
async fn patterns_that_are_refused_say_what_to_write_instead() {
    let history = History::new();
    let dir = tempfile::tempdir().unwrap();
    let projections = history.open(dir.path());
    let refused = |pattern: &str| {
        let query = SearchQuery { is_regex: true, ..SearchQuery::text(pattern) };
        projections.search(&query, None, 10).unwrap_err()
    };
    for pattern in ["a(?=b)", "(?<!a)b", "(?!x)y", "(?<=a)b"] {
        assert!(matches!(refused(pattern), SearchError::LookAround), "{pattern}");
    }
    for pattern in [r"(a)\1", r"(?P<x>a)(?P=x)", r"(?<x>a)\k<x>"] {
        assert!(matches!(refused(pattern), SearchError::Backreference), "{pattern}");
    }
    let error = refused(r"\w{1000}{1000}");
    assert!(matches!(error, SearchError::TooLarge { length: 14, .. }), "{error}");
    let error = refused(&"x".repeat(MAX_PATTERN_CHARS + 1));
    assert!(error.to_string().contains("4097") && error.to_string().contains("4096"), "{error}");
    let error = refused("é(");
    assert!(error.to_string().contains("unclosed group (at character 2)"), "{error}");
    assert!(matches!(refused(""), SearchError::Empty));
}
