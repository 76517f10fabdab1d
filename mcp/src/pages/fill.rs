//! Filling a page within its two limits.

use serde::Serialize;

/// The most characters of JSON on a page: what a model can take in one answer. The first item is
/// always on its page, or one over the budget could never be reached.
pub(crate) const MAX_PAGE_CHARACTERS: usize = 262_144;

/// A page that is being filled.
pub(crate) struct Fill<T> {
    items: Vec<T>,
    limit: usize,
    left: usize,
}

impl<T: Serialize> Fill<T> {
    /// An empty page of at most `limit` items.
    pub(crate) fn new(limit: usize) -> Fill<T> {
        Fill { items: Vec::new(), limit, left: MAX_PAGE_CHARACTERS }
    }

    /// Whether `limit` items are on the page.
    pub(crate) fn is_full(&self) -> bool {
        self.items.len() >= self.limit
    }

    /// Puts an item on the page if it has room for it, and says whether it had.
    pub(crate) fn offer(&mut self, item: T) -> bool {
        if self.is_full() {
            return false;
        }
        // One more for the comma. What can't be serialised takes no room, and fails later, where
        // the whole page is.
        let size = serde_json::to_string(&item).map_or(0, |json| json.chars().count() + 1);
        if size > self.left && !self.items.is_empty() {
            return false;
        }
        self.left = self.left.saturating_sub(size);
        self.items.push(item);
        true
    }

    /// The items, in the order they were offered.
    pub(crate) fn into_items(self) -> Vec<T> {
        self.items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_ends_at_its_limit_of_items() {
        let mut page = Fill::new(2);
        assert!(page.offer("a"));
        assert!(page.offer("b"));
        assert!(!page.offer("c"));
        assert_eq!(page.into_items(), ["a", "b"]);
    }

    #[test]
    fn a_page_ends_at_its_characters_and_always_has_its_first_item() {
        let huge = "x".repeat(2 * MAX_PAGE_CHARACTERS);
        let mut page = Fill::new(10);
        assert!(page.offer(huge.as_str()));
        assert!(!page.offer("y"));

        // Characters, not bytes: each of these has three.
        let half = "€".repeat(MAX_PAGE_CHARACTERS / 2 - 3);
        let mut page = Fill::new(10);
        assert!(page.offer(half.as_str()));
        assert!(page.offer(half.as_str()));
        assert!(!page.offer("y"));
        assert_eq!(page.into_items().len(), 2);
    }
}
