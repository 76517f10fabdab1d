//! A conversation as a tree, whatever its source: repaired, thinned out, and laid into branches.
//!
//! Exports are not to be trusted: parents are missing, children are listed that are not there,
//! links run in circles, and half of the nodes show nothing. What comes out of here has none of
//! that: parents stand before their children, and every message is in exactly one segment.

use std::collections::{HashMap, HashSet};

use scripta_events::Timestamp;
use scripta_events::domain::{MessageStatus, Part, Role};

/// A node as its source has it.
#[derive(Clone, Debug)]
pub struct RawNode {
    /// Its id there.
    pub id: String,
    /// The parent that it names.
    pub parent: Option<String>,
    /// The children that it names.
    pub children: Vec<String>,
    /// What is on it.
    pub content: Content,
}

/// What is on a node.
#[derive(Clone, Debug)]
pub enum Content {
    /// A message.
    Message(Draft),
    /// A message that is not taken: its children take its place.
    PassedOver(Reason),
    /// No message at all, as on a root: its children take its place.
    Nothing,
}

/// Why a node or a conversation was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The source hides it from the person.
    Hidden,
    /// There is nothing in it.
    Empty,
    /// Another node of the conversation has the same id and came first.
    DuplicateId,
    /// It was there in an earlier import, in another place of the history.
    Moved,
}

/// A message before it has an id of ours.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// Who speaks.
    pub role: Role,
    /// What it says.
    pub parts: Vec<Part>,
    /// When it was made, if its source says so.
    pub created_at: Option<Timestamp>,
    /// The model that made it, if its source says so.
    pub model: Option<String>,
    /// Whether it is whole.
    pub status: MessageStatus,
}

/// A repaired tree.
#[derive(Debug, Default)]
pub struct Tree {
    /// The messages, parents before their children.
    pub nodes: Vec<Node>,
    /// The branches: the first is the path to the current node, each other the part of the way
    /// to a leaf that no segment before it has. Together they hold every node once.
    pub segments: Vec<Segment>,
    /// What was passed over: the node's id in the source, and why.
    pub skipped: Vec<(String, Reason)>,
    /// How many links had to be repaired: missing parents and circles.
    pub repaired: usize,
}

/// One message of a tree.
#[derive(Debug)]
pub struct Node {
    /// Its id in the source.
    pub id: String,
    /// Its parent, an index into [`Tree::nodes`].
    pub parent: Option<usize>,
    /// The message.
    pub draft: Draft,
}

/// A run of messages that belong to one branch.
#[derive(Debug, PartialEq, Eq)]
pub struct Segment {
    /// The message that it continues, an index into [`Tree::nodes`]; `None` at a root.
    pub after: Option<usize>,
    /// Its messages in order, indexes into [`Tree::nodes`].
    pub nodes: Vec<usize>,
}

/// Builds the tree. `current` is the node whose path is the first branch; without one that is
/// there, it is the newest leaf.
pub fn build(raw: Vec<RawNode>, current: Option<&str>) -> Tree {
    let mut tree = Tree::default();
    let raw = without_duplicates(raw, &mut tree.skipped);
    let mut links = Links::of(&raw);
    links.cut_circles();
    tree.repaired = links.repaired;
    let kept = thin_out(raw, &links, &mut tree);
    let children = tree.children();
    let current = current.and_then(|id| kept.get(id).copied().flatten());
    let current = current.or_else(|| newest_leaf(&tree.nodes, &children));
    tree.segments = segments(&tree.nodes, &children, current);
    tree
}

impl Tree {
    /// The children of each node, in order.
    fn children(&self) -> Vec<Vec<usize>> {
        let mut children = vec![Vec::new(); self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            if let Some(siblings) = node.parent.and_then(|parent| children.get_mut(parent)) {
                siblings.push(index);
            }
        }
        children
    }

    /// Gives every message a time: its own, else its parent's, else its first child's that has
    /// one, else `fallback`. The order of the tree is not touched by it.
    pub fn fill_times(&mut self, fallback: Timestamp) {
        let mut times: Vec<_> = self.nodes.iter().map(|node| node.draft.created_at).collect();
        for (index, node) in self.nodes.iter().enumerate() {
            let parents = node.parent.and_then(|parent| times.get(parent).copied().flatten());
            if let Some(time) = times.get_mut(index) {
                *time = time.or(parents);
            }
        }
        // Children stand behind their parents, so that going backwards a child is done first.
        for (index, node) in self.nodes.iter().enumerate().rev() {
            let childs = times.get(index).copied().flatten();
            if let Some(time) = node.parent.and_then(|parent| times.get_mut(parent)) {
                *time = time.or(childs);
            }
        }
        for (node, time) in self.nodes.iter_mut().zip(times) {
            node.draft.created_at = Some(time.unwrap_or(fallback));
        }
    }
}

fn without_duplicates(raw: Vec<RawNode>, skipped: &mut Vec<(String, Reason)>) -> Vec<RawNode> {
    let mut seen = HashSet::new();
    let mut unique = Vec::with_capacity(raw.len());
    for node in raw {
        if seen.insert(node.id.clone()) {
            unique.push(node);
        } else {
            skipped.push((node.id, Reason::DuplicateId));
        }
    }
    unique
}

/// Who is whose parent and child, by place in the file.
struct Links {
    parents: Vec<Option<usize>>,
    /// The children that the node itself names, for their order.
    listed: Vec<Vec<usize>>,
    repaired: usize,
}

impl Links {
    fn of(raw: &[RawNode]) -> Links {
        let places: HashMap<&str, usize> =
            raw.iter().enumerate().map(|(place, node)| (node.id.as_str(), place)).collect();
        let mut listed_by: HashMap<&str, &str> = HashMap::new();
        for node in raw {
            for child in &node.children {
                listed_by.entry(child).or_insert(&node.id);
            }
        }
        let mut links = Links { parents: Vec::new(), listed: Vec::new(), repaired: 0 };
        for node in raw {
            let named = node.parent.as_deref().or_else(|| listed_by.get(node.id.as_str()).copied());
            let (parent, repaired) = present(named, &places, &listed_by);
            links
                .parents
                .push(parent.filter(|parent| places.get(node.id.as_str()) != Some(parent)));
            links.repaired += usize::from(repaired);
            let children = node.children.iter().filter_map(|child| places.get(child.as_str()));
            links.listed.push(children.copied().collect());
        }
        links
    }

    /// Makes a root of one node of each circle: the one that stands first in the file.
    fn cut_circles(&mut self) {
        let mut done = vec![false; self.parents.len()];
        for start in 0..self.parents.len() {
            let mut path = Vec::new();
            let mut on_path = HashSet::new();
            let mut at = Some(start);
            while let Some(place) = at.filter(|place| done.get(*place) == Some(&false)) {
                if !on_path.insert(place) {
                    let circle = path.iter().skip_while(|other| **other != place);
                    let first = circle.min().copied().unwrap_or(place);
                    if let Some(parent) = self.parents.get_mut(first) {
                        *parent = None;
                        self.repaired += 1;
                    }
                    break;
                }
                path.push(place);
                at = self.parents.get(place).copied().flatten();
            }
            for place in path {
                if let Some(done) = done.get_mut(place) {
                    *done = true;
                }
            }
        }
    }

    /// The children of each node and the roots, in the order that the nodes themselves give, and
    /// then that of the file.
    fn ordered(&self) -> (Vec<usize>, Vec<Vec<usize>>) {
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.parents.len()];
        let mut placed = HashSet::new();
        let is_child = |parent: usize, child: usize| self.parents.get(child) == Some(&Some(parent));
        for (parent, listed) in self.listed.iter().enumerate() {
            let own = listed.iter().copied().filter(|child| is_child(parent, *child));
            let fresh: Vec<usize> = own.filter(|child| placed.insert(*child)).collect();
            if let Some(list) = children.get_mut(parent) {
                *list = fresh;
            }
        }
        let mut roots = Vec::new();
        for (child, parent) in self.parents.iter().enumerate() {
            match parent.and_then(|parent| children.get_mut(parent)) {
                None => roots.push(child),
                Some(list) if placed.insert(child) => list.push(child),
                Some(_) => {}
            }
        }
        (roots, children)
    }
}

/// The nearest ancestor that is there, by what missing ones are listed under; and whether the
/// one that was named is missing.
fn present<'a>(
    named: Option<&'a str>,
    places: &HashMap<&str, usize>,
    listed_by: &HashMap<&'a str, &'a str>,
) -> (Option<usize>, bool) {
    let mut at = named;
    let mut seen = HashSet::new();
    while let Some(id) = at.filter(|id| seen.insert(*id)) {
        if let Some(place) = places.get(id) {
            return (Some(*place), Some(id) != named);
        }
        at = listed_by.get(id).copied();
    }
    (None, named.is_some())
}

/// Walks down from the roots and keeps the messages; what shows nothing is passed over, and its
/// children take its place. Returns where each id of the source came to: itself, or its nearest
/// kept ancestor.
fn thin_out(raw: Vec<RawNode>, links: &Links, tree: &mut Tree) -> HashMap<String, Option<usize>> {
    let (roots, children) = links.ordered();
    let mut raw: Vec<Option<RawNode>> = raw.into_iter().map(Some).collect();
    let mut kept = HashMap::with_capacity(raw.len());
    let mut stack: Vec<(usize, Option<usize>)> =
        roots.into_iter().rev().map(|r| (r, None)).collect();
    while let Some((place, parent)) = stack.pop() {
        let Some(node) = raw.get_mut(place).and_then(Option::take) else { continue };
        let here = match node.content {
            Content::Message(draft) => {
                tree.nodes.push(Node { id: node.id.clone(), parent, draft });
                Some(tree.nodes.len() - 1)
            }
            Content::PassedOver(reason) => {
                tree.skipped.push((node.id.clone(), reason));
                parent
            }
            Content::Nothing => parent,
        };
        kept.insert(node.id, here);
        let below = children.get(place).into_iter().flatten().rev();
        stack.extend(below.map(|child| (*child, here)));
    }
    kept
}

/// The last child of the last child … of the last root: sources append what is newer.
fn newest_leaf(nodes: &[Node], children: &[Vec<usize>]) -> Option<usize> {
    let mut at = nodes.iter().rposition(|node| node.parent.is_none())?;
    while let Some(last) = children.get(at).and_then(|children| children.last()) {
        at = *last;
    }
    Some(at)
}

fn segments(nodes: &[Node], children: &[Vec<usize>], current: Option<usize>) -> Vec<Segment> {
    let mut used = vec![false; nodes.len()];
    let leaves = (0..nodes.len()).filter(|index| children.get(*index).is_some_and(Vec::is_empty));
    let mut segments = Vec::new();
    for end in current.into_iter().chain(leaves) {
        let mut way = Vec::new();
        let mut at = Some(end);
        while let Some(index) = at.filter(|index| used.get(*index) == Some(&false)) {
            if let Some(used) = used.get_mut(index) {
                *used = true;
            }
            way.push(index);
            at = nodes.get(index).and_then(|node| node.parent);
        }
        if !way.is_empty() {
            way.reverse();
            segments.push(Segment { after: at, nodes: way });
        }
    }
    segments
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    fn draft(text: &str) -> Draft {
        Draft {
            role: Role::User,
            parts: vec![Part::Text { text: text.to_owned() }],
            created_at: None,
            model: None,
            status: MessageStatus::Complete,
        }
    }

    fn node(id: &str, parent: Option<&str>, children: &[&str]) -> RawNode {
        RawNode {
            id: id.to_owned(),
            parent: parent.map(str::to_owned),
            children: children.iter().map(|child| (*child).to_owned()).collect(),
            content: Content::Message(draft(id)),
        }
    }

    fn hidden(mut node: RawNode) -> RawNode {
        node.content = Content::PassedOver(Reason::Hidden);
        node
    }

    /// The segments as `after>a,b`.
    fn shape(tree: &Tree) -> Vec<String> {
        let name = |index: &usize| tree.nodes[*index].id.clone();
        let one = |segment: &Segment| {
            let nodes: Vec<_> = segment.nodes.iter().map(name).collect();
            format!("{}>{}", segment.after.as_ref().map(name).unwrap_or_default(), nodes.join(","))
        };
        tree.segments.iter().map(one).collect()
    }

    #[test]
    fn the_path_to_the_current_node_is_first_and_each_other_leaf_a_fork() {
        // Children stand before their parents in the file, on purpose.
        let raw = vec![
            node("c2", Some("b"), &[]),
            node("b", Some("a"), &["c1", "c2"]),
            node("c1", Some("b"), &["d"]),
            node("d", Some("c1"), &[]),
            node("a", None, &["b", "e"]),
            node("e", Some("a"), &[]),
        ];
        assert_eq!(shape(&build(raw.clone(), Some("c2"))), [">a,b,c2", "b>c1,d", "a>e"]);
        assert_eq!(shape(&build(raw.clone(), Some("d"))), [">a,b,c1,d", "b>c2", "a>e"]);
        // An inner current node: what is below it continues it.
        assert_eq!(shape(&build(raw.clone(), Some("b"))), [">a,b", "b>c1,d", "b>c2", "a>e"]);
        // None, or one that isn't there: the newest leaf.
        assert_eq!(shape(&build(raw.clone(), None))[0], ">a,e");
        assert_eq!(shape(&build(raw, Some("zzz")))[0], ">a,e");
    }

    #[test]
    fn what_is_hidden_is_passed_over_and_its_children_stay() {
        let raw = vec![
            hidden(node("root", None, &["s"])),
            hidden(node("s", Some("root"), &["a"])),
            node("a", Some("s"), &["h"]),
            hidden(node("h", Some("a"), &["b", "c"])),
            node("b", Some("h"), &[]),
            node("c", Some("h"), &["t"]),
            hidden(node("t", Some("c"), &[])),
        ];
        let tree = build(raw, Some("t"));
        assert_eq!(shape(&tree), [">a,c", "a>b"]);
        assert_eq!(tree.skipped.len(), 4);
    }

    #[test]
    fn missing_parents_circles_and_duplicates_are_repaired() {
        // m is missing, but a lists it: its child belongs under a. x's parent is nowhere.
        let raw = vec![
            node("a", None, &["m"]),
            node("n", Some("m"), &[]),
            node("x", Some("gone"), &[]),
            node("p", Some("q"), &["q"]),
            node("q", Some("p"), &["p"]),
            node("self", Some("self"), &["self"]),
            node("a", None, &[]),
        ];
        let tree = build(raw, Some("n"));
        assert_eq!(shape(&tree), [">a,n", ">x", ">p,q", ">self"]);
        assert_eq!(tree.skipped, [("a".to_owned(), Reason::DuplicateId)]);
        assert_eq!(tree.repaired, 3);
    }

    #[test]
    fn a_deep_tree_needs_no_deep_stack() {
        let depth = 100_000;
        let name = |n: usize| format!("n{n}");
        let raw = (0..depth).map(|n| RawNode {
            id: name(n),
            parent: (n > 0).then(|| name(n - 1)),
            children: vec![name(n + 1)],
            content: Content::Message(draft("x")),
        });
        let tree = build(raw.collect(), None);
        assert_eq!(tree.segments.len(), 1);
        assert_eq!(tree.segments[0].nodes.len(), depth);
    }

    #[test]
    fn times_come_from_the_neighbours() {
        let mut raw =
            vec![node("a", None, &["b"]), node("b", Some("a"), &["c"]), node("c", Some("b"), &[])];
        if let Content::Message(draft) = &mut raw[1].content {
            draft.created_at = Some(Timestamp(7));
        }
        let mut tree = build(raw, None);
        tree.fill_times(Timestamp(99));
        let times: Vec<_> = tree.nodes.iter().map(|node| node.draft.created_at.unwrap()).collect();
        assert_eq!(times, [Timestamp(7); 3]);
        let mut tree = build(vec![node("a", None, &[])], None);
        tree.fill_times(Timestamp(99));
        assert_eq!(tree.nodes[0].draft.created_at, Some(Timestamp(99)));
    }
}
