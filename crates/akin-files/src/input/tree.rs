//! Parses HTML within bounds: a page of some kilobytes can otherwise be made to take hours or all
//! of the memory. The tokenizer compares each attribute of a tag with all earlier attributes, and
//! the tree builder repeats the unclosed formatting elements (`<b>`, `<font>`, …) in every
//! paragraph.

use std::borrow::Cow;
use std::cell::{Cell, Ref, RefCell};

use dom_query::{Document, NodeId};
use foldhash::HashMap;
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeBuilderOpts, TreeSink};
use html5ever::{Attribute, ParseOpts, QualName, parse_document};

use super::sink::{PageBudget, PageCost};

/// Larger pages are refused: they are not prose.
pub const PAGE_BYTES_MAX: usize = 8 << 20;
/// The work of the tree builder grows with the depth.
pub const DEPTH_MAX: u32 = 1_000;
/// The attributes of a tag. The work of the tokenizer grows with their square.
const ATTRIBUTES_MAX: usize = 500;
/// Later `<html>` and `<body>` tags add their attributes to the first tag. Further tags are
/// ignored.
const MERGES_MAX: u32 = 100;
/// A page may have so many elements, and another element for each byte.
const ELEMENTS_MIN: usize = 10_000;
/// The bounds are checked each time after this number of bytes, in which some tens of
/// thousands of elements can be made.
const STEP_BYTES: usize = 1 << 8;
/// Bytes of memory for each byte of a page: its texts, and the attributes of its tags.
const BYTES_PER_BYTE: usize = 32;
/// Bytes of memory for each element, with the texts before and after its tags, while the tree is
/// read and copied.
const BYTES_PER_NODE: usize = 1_500;
/// Each possible tag is counted separately, so a page of unclosed tags would be read many times.
const PASSES_MAX: usize = 16;

/// The tree of a page.
///
/// # Errors
/// The page breaks one of the bounds, or its memory is refused.
pub fn parse(html: &str, budget: &mut PageBudget<'_>) -> Result<Document, String> {
    if html.len() > PAGE_BYTES_MAX {
        return Err(format!("the page is larger than {PAGE_BYTES_MAX} bytes"));
    }
    budget(PageCost::Memory(html.len() * BYTES_PER_BYTE))?;
    check_tags(html.as_bytes())?;
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let options = ParseOpts { tree_builder, ..ParseOpts::default() };
    let mut parser = parse_document(BoundedTree::default(), options);
    // The texts of the tree are parts of the page.
    let page = StrTendril::from_slice(html);
    let (mut start, mut reserved) = (0, 0);
    while start < html.len() {
        let mut end = html.len().min(start + STEP_BYTES);
        while !html.is_char_boundary(end) {
            end += 1;
        }
        parser.process(page.subtendril(start as u32, (end - start) as u32));
        let nodes = parser.tokenizer.sink.sink.check(end)?;
        budget(PageCost::Memory((nodes - reserved) * BYTES_PER_NODE))?;
        (start, reserved) = (end, nodes);
    }
    let elements = parser.finish();
    elements.check(html.len())?;
    Ok(elements.document)
}

/// Counts the attributes of each tag. Only a parser knows which `<` begins a tag and which stands
/// in a comment or a script, so attributes are counted after every `<` that could begin a tag.
fn check_tags(html: &[u8]) -> Result<(), String> {
    let mut work_left = html.len() * PASSES_MAX;
    for at in memchr::memchr_iter(b'<', html) {
        let tag = &html[at + 1..];
        let name = tag.strip_prefix(b"/").unwrap_or(tag);
        if !name.first().is_some_and(u8::is_ascii_alphabetic) {
            continue;
        }
        let (attributes, end) = attributes(name);
        if attributes > ATTRIBUTES_MAX {
            return Err(format!("a tag has more than {ATTRIBUTES_MAX} attributes"));
        }
        work_left = work_left.checked_sub(end).ok_or("too many of its tags are not closed")?;
    }
    Ok(())
}

/// How many attributes a tag has, by the states of an HTML tokenizer, and where it ends. Counting
/// ends where there are too many.
fn attributes(tag: &[u8]) -> (usize, usize) {
    let ends_name = |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
    let mut at = find(tag, 0, ends_name);
    let mut count = 0;
    while at < tag.len() && count <= ATTRIBUTES_MAX {
        match tag[at] {
            b'>' => return (count, at),
            b'/' => at += 1,
            byte if byte.is_ascii_whitespace() => at += 1,
            _ => {
                count += 1;
                at = after_attribute(tag, at);
            }
        }
    }
    (count, at)
}

fn after_attribute(tag: &[u8], start: usize) -> usize {
    let ends_name = |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>' | b'=');
    let is_no_space = |byte: u8| !byte.is_ascii_whitespace();
    // A name may begin with the sign.
    let name_end = find(tag, start + 1, ends_name);
    let at = find(tag, name_end, is_no_space);
    if tag.get(at) != Some(&b'=') {
        return name_end;
    }
    let value = find(tag, at + 1, is_no_space);
    match tag.get(value) {
        Some(quote @ (b'"' | b'\'')) => {
            let end = memchr::memchr(*quote, &tag[value + 1..]);
            end.map_or(tag.len(), |end| value + 1 + end + 1)
        }
        _ => find(tag, value, |byte| byte.is_ascii_whitespace() || byte == b'>'),
    }
}

/// Where the first of these bytes is from a place on, or the end.
fn find(tag: &[u8], from: usize, is: impl Fn(u8) -> bool) -> usize {
    tag[from..].iter().position(|byte| is(*byte)).map_or(tag.len(), |at| from + at)
}

/// A tree that counts its elements and its depth.
#[derive(Default)]
struct BoundedTree {
    document: Document,
    depths: RefCell<HashMap<NodeId, u32>>,
    /// Elements, comments and processing instructions.
    nodes: Cell<usize>,
    depth: Cell<u32>,
    merges: Cell<u32>,
}

impl BoundedTree {
    /// How many nodes there are beside texts.
    fn check(&self, bytes: usize) -> Result<usize, String> {
        if self.depth.get() > DEPTH_MAX {
            return Err(format!("the page has more than {DEPTH_MAX} elements in each other"));
        }
        let nodes = self.nodes.get();
        if nodes > ELEMENTS_MIN + bytes {
            return Err("the page makes more elements than it has bytes".into());
        }
        Ok(nodes)
    }

    fn count(&self, node: NodeId) -> NodeId {
        self.nodes.set(self.nodes.get() + 1);
        node
    }

    fn place(&self, child: &NodeOrText<NodeId>, parent: NodeId) {
        let NodeOrText::AppendNode(child) = child else { return };
        let mut depths = self.depths.borrow_mut();
        let depth = depths.get(&parent).map_or(1, |depth| depth + 1);
        depths.insert(*child, depth);
        self.depth.set(self.depth.get().max(depth));
    }
}

impl TreeSink for BoundedTree {
    type Handle = NodeId;
    type Output = Self;
    type ElemName<'a> = Ref<'a, QualName>;

    fn finish(self) -> Self {
        self
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> NodeId {
        self.document.get_document()
    }

    fn elem_name<'a>(&'a self, target: &'a NodeId) -> Self::ElemName<'a> {
        self.document.elem_name(target)
    }

    fn create_element(
        &self,
        name: QualName,
        attributes: Vec<Attribute>,
        flags: ElementFlags,
    ) -> NodeId {
        self.count(self.document.create_element(name, attributes, flags))
    }

    fn create_comment(&self, text: StrTendril) -> NodeId {
        self.count(self.document.create_comment(text))
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> NodeId {
        self.count(self.document.create_pi(target, data))
    }

    fn append(&self, parent: &NodeId, child: NodeOrText<NodeId>) {
        self.place(&child, *parent);
        self.document.append(parent, child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &NodeId,
        previous: &NodeId,
        child: NodeOrText<NodeId>,
    ) {
        self.place(&child, *previous);
        self.document.append_based_on_parent_node(element, previous, child);
    }

    fn append_doctype_to_document(&self, name: StrTendril, public: StrTendril, system: StrTendril) {
        self.document.append_doctype_to_document(name, public, system);
    }

    fn get_template_contents(&self, target: &NodeId) -> NodeId {
        let contents = self.document.get_template_contents(target);
        let mut depths = self.depths.borrow_mut();
        let depth = depths.get(target).copied().unwrap_or(0);
        depths.insert(contents, depth);
        contents
    }

    fn same_node(&self, a: &NodeId, b: &NodeId) -> bool {
        a == b
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.document.set_quirks_mode(mode);
    }

    fn append_before_sibling(&self, sibling: &NodeId, child: NodeOrText<NodeId>) {
        let parent = self.document.tree.parent_of(sibling).map(|parent| parent.id);
        self.place(&child, parent.unwrap_or(*sibling));
        self.document.append_before_sibling(sibling, child);
    }

    fn add_attrs_if_missing(&self, target: &NodeId, attributes: Vec<Attribute>) {
        let merges = self.merges.get() + 1;
        self.merges.set(merges);
        if merges <= MERGES_MAX {
            self.document.add_attrs_if_missing(target, attributes);
        }
    }

    fn remove_from_parent(&self, target: &NodeId) {
        self.document.remove_from_parent(target);
    }

    fn reparent_children(&self, node: &NodeId, new_parent: &NodeId) {
        self.document.reparent_children(node, new_parent);
    }

    fn is_mathml_annotation_xml_integration_point(&self, target: &NodeId) -> bool {
        self.document.is_mathml_annotation_xml_integration_point(target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(html: &str) -> Result<Document, String> {
        super::parse(html, &mut |_| Ok(()))
    }

    #[track_caller]
    fn refused(html: &str, why: &str) {
        match parse(html) {
            Ok(_) => panic!("it is parsed"),
            Err(reason) => assert!(reason.contains(why), "{reason}"),
        }
    }

    #[test]
    fn long_pages_are_refused() {
        let page = |bytes: usize| "x".repeat(bytes);
        assert!(parse(&page(PAGE_BYTES_MAX)).is_ok());
        refused(&page(PAGE_BYTES_MAX + 1), "larger than 8388608 bytes");
    }

    #[test]
    fn deep_pages_are_read_or_refused() {
        let deep = "<div>".repeat(200) + "text";
        assert_eq!(parse(&deep).unwrap().select("div").length(), 200);
        refused(&("<div>".repeat(2_000) + "text"), "in each other");
        // Elements that need no end are nested in drawings.
        refused(&("<svg>".to_owned() + &"<td>".repeat(5_000)), "in each other");
        assert!(parse(&"<p>a<b>b</b><br>".repeat(2_000)).is_ok());
    }

    fn numbered(count: usize, text: impl Fn(usize) -> String) -> String {
        (0..count).map(text).collect()
    }

    #[test]
    fn a_tag_has_a_bounded_number_of_attributes() {
        let named = |count| numbered(count, |n| format!(" a{n}"));
        for (before, after) in [
            ("<p", ">"),
            ("</p", ">"),
            ("<p a = 'x'", ""),
            ("<p\ta=\"<\"/", "/>"),
            ("<script><a b=\"</script><p", ">"),
            ("<!-- <a b=\"--><p", ">"),
        ] {
            let page = |count| format!("{before}{}{after}", named(count));
            assert!(parse(&page(400)).is_ok(), "{before}");
            refused(&page(80_000), "more than 500 attributes");
        }
        let [title, alt] = ["a b = < ", "x > y "].map(|text| text.repeat(5_000));
        assert!(parse(&format!("<p title='{title}' alt=\"{alt}\">")).is_ok());
        refused(&"<a".repeat(20_000), "not closed");
    }

    #[test]
    fn unclosed_formatting_does_not_multiply() {
        let formats = numbered(800, |n| format!("<b a{n}>"));
        refused(&format!("<p>{formats}{}", "<p>x".repeat(20_000)), "more elements than");
        let merged = numbered(50_000, |n| format!("<html a{n}>"));
        assert!(parse(&merged).is_ok());
    }
}
