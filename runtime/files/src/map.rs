//! An ordered map that is copied in constant time and shares what both copies leave alone.
//!
//! Owns: the B+ tree: lookup, change by copying the path of pages to the root, iteration. Each page keeps the id of the
//! chunk that it was saved as until it changes, which is why no crate's map serves here: they do not show their nodes.
//! Does not own: how a page is written (`save`) or read (`load`).

use std::borrow::Borrow;
use std::sync::{Arc, OnceLock};

use crate::ChunkId;

/// Most entries of a page.
pub(crate) const FANOUT: usize = 32;

/// The map. An empty one has no page.
#[derive(Debug)]
pub(crate) struct Map<K, V> {
    root: Option<Arc<Page<K, V>>>,
    len: usize,
}

/// A leaf of entries or a branch of pages, and the chunk that holds it if it was saved as it is.
#[derive(Debug)]
pub(crate) struct Page<K, V> {
    pub(crate) saved: OnceLock<ChunkId>,
    pub(crate) body: Body<K, V>,
}

/// All leaves are equally far from the root, and no page is empty.
#[derive(Clone, Debug)]
pub(crate) enum Body<K, V> {
    /// Entries in ascending order of their keys.
    Leaf(Vec<(K, V)>),
    /// Pages, each with a key that is not above its own first and above all of the page before.
    Branch(Vec<Child<K, V>>),
}

pub(crate) type Child<K, V> = (K, Arc<Page<K, V>>);

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Self { root: None, len: 0 }
    }
}

impl<K, V> Clone for Map<K, V> {
    fn clone(&self) -> Self {
        Self { root: self.root.clone(), len: self.len }
    }
}

/// A copy is about to be changed, so it is not what was saved.
impl<K: Clone, V: Clone> Clone for Page<K, V> {
    fn clone(&self) -> Self {
        Self { saved: OnceLock::new(), body: self.body.clone() }
    }
}

impl<K, V> Map<K, V> {
    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The page that all others hang from.
    pub(crate) fn root(&self) -> Option<&Arc<Page<K, V>>> {
        self.root.as_ref()
    }

    /// A map of pages that are known to be in order, `len` entries in all.
    pub(crate) fn from_root(root: Option<Arc<Page<K, V>>>, len: usize) -> Self {
        Self { root, len }
    }

    /// The entries in ascending order.
    pub(crate) fn iter(&self) -> Iter<'_, K, V> {
        Iter { stack: self.root.as_deref().map(|page| (page, 0)).into_iter().collect() }
    }
}

impl<K: Ord + Clone, V: Clone> Map<K, V> {
    /// The value of a key.
    pub(crate) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let mut page = self.root.as_deref()?;
        loop {
            match &page.body {
                Body::Leaf(items) => return items.get(find(items, key).ok()?).map(|(_, value)| value),
                Body::Branch(pages) => page = &pages.get(slot(pages, key))?.1,
            }
        }
    }

    /// The value of a key, to be changed.
    pub(crate) fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.get(key)?;
        let mut page = own(self.root.as_mut()?);
        loop {
            match &mut page.body {
                Body::Leaf(items) => {
                    let at = find(items, key).ok()?;
                    return items.get_mut(at).map(|(_, value)| value);
                }
                Body::Branch(pages) => {
                    let at = slot(pages, key);
                    page = own(&mut pages.get_mut(at)?.1);
                }
            }
        }
    }

    /// Sets the value of a key; answers the one before.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        let Some(root) = &mut self.root else {
            self.root = Some(Arc::new(Page::new(Body::Leaf(vec![(key, value)]))));
            self.len = 1;
            return None;
        };
        let (old, right) = put(root, key, value);
        if let Some(right) = right {
            let left = root.clone();
            if let Some(first) = left.first() {
                let first = first.clone();
                *root = Arc::new(Page::new(Body::Branch(vec![(first, left), right])));
            }
        }
        self.len += usize::from(old.is_none());
        old
    }

    /// Takes an entry out.
    pub(crate) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.get(key)?;
        let root = self.root.as_mut()?;
        let old = take(root, key)?;
        while let Body::Branch(pages) = &root.body
            && let [(_, only)] = pages.as_slice()
        {
            *root = only.clone();
        }
        self.len -= 1;
        if self.len == 0 {
            self.root = None;
        }
        Some(old)
    }

    /// The entries from the first whose key is not below `key`, in ascending order.
    pub(crate) fn from<Q: Ord + ?Sized>(&self, key: &Q) -> Iter<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let mut stack = Vec::new();
        let mut page = self.root.as_deref();
        while let Some(here) = page {
            match &here.body {
                Body::Leaf(items) => {
                    stack.push((here, find(items, key).unwrap_or_else(|at| at)));
                    page = None;
                }
                Body::Branch(pages) => {
                    let at = slot(pages, key);
                    stack.push((here, at + 1));
                    page = pages.get(at).map(|(_, child)| &**child);
                }
            }
        }
        Iter { stack }
    }
}

impl<K, V> Page<K, V> {
    /// A page that was not saved.
    pub(crate) fn new(body: Body<K, V>) -> Self {
        Self { saved: OnceLock::new(), body }
    }

    fn len(&self) -> usize {
        match &self.body {
            Body::Leaf(items) => items.len(),
            Body::Branch(pages) => pages.len(),
        }
    }

    fn first(&self) -> Option<&K> {
        match &self.body {
            Body::Leaf(items) => items.first().map(|(key, _)| key),
            Body::Branch(pages) => pages.first().map(|(key, _)| key),
        }
    }
}

/// The page, ours alone and no longer what was saved.
fn own<K: Clone, V: Clone>(page: &mut Arc<Page<K, V>>) -> &mut Page<K, V> {
    let page = Arc::make_mut(page);
    page.saved = OnceLock::new();
    page
}

fn find<K: Borrow<Q>, V, Q: Ord + ?Sized>(items: &[(K, V)], key: &Q) -> Result<usize, usize> {
    items.binary_search_by(|(other, _)| other.borrow().cmp(key))
}

/// The page of a branch in which a key lies, if it lies anywhere.
fn slot<K: Borrow<Q>, V, Q: Ord + ?Sized>(pages: &[(K, V)], key: &Q) -> usize {
    pages.partition_point(|(first, _)| first.borrow() <= key).saturating_sub(1)
}

/// Puts an entry below a page; answers the old value, and the right half when the page had to be split.
fn put<K: Ord + Clone, V: Clone>(
    page: &mut Arc<Page<K, V>>,
    key: K,
    value: V,
) -> (Option<V>, Option<Child<K, V>>) {
    let page = own(page);
    match &mut page.body {
        Body::Leaf(items) => {
            match find(items, &key) {
                Ok(at) => return (items.get_mut(at).map(|item| std::mem::replace(&mut item.1, value)), None),
                Err(at) => items.insert(at, (key, value)),
            }
            (None, split(items).map(|(first, half)| (first, Arc::new(Page::new(Body::Leaf(half))))))
        }
        Body::Branch(pages) => {
            let at = slot(pages, &key);
            let Some((first, child)) = pages.get_mut(at) else { return (None, None) };
            if key < *first {
                *first = key.clone();
            }
            let (old, right) = put(child, key, value);
            if let Some(right) = right {
                pages.insert(at + 1, right);
            }
            (old, split(pages).map(|(first, half)| (first, Arc::new(Page::new(Body::Branch(half))))))
        }
    }
}

/// The upper part of a page that is too full. A page that is filled from the left stays nearly full.
fn split<K: Clone, T>(items: &mut Vec<(K, T)>) -> Option<(K, Vec<(K, T)>)> {
    if items.len() <= FANOUT {
        return None;
    }
    let half = items.split_off(FANOUT * 3 / 4);
    items.shrink_to(FANOUT);
    Some((half.first()?.0.clone(), half))
}

/// Takes an entry from below a page, which may be empty afterwards.
fn take<K: Ord + Clone + Borrow<Q>, V: Clone, Q: Ord + ?Sized>(
    page: &mut Arc<Page<K, V>>,
    key: &Q,
) -> Option<V> {
    match &mut own(page).body {
        Body::Leaf(items) => {
            let at = find(items, key).ok()?;
            Some(items.remove(at).1)
        }
        Body::Branch(pages) => {
            let at = slot(pages, key);
            let child = &mut pages.get_mut(at)?.1;
            let old = take(child, key)?;
            if child.len() == 0 {
                pages.remove(at);
            } else if !join(pages, at) && at > 0 {
                join(pages, at - 1);
            }
            Some(old)
        }
    }
}

/// Joins a page with the next when both fit well into one, so that pages stay half full on average.
fn join<K: Clone, V: Clone>(pages: &mut Vec<Child<K, V>>, at: usize) -> bool {
    let (Some((_, left)), Some((_, right))) = (pages.get(at), pages.get(at + 1)) else { return false };
    if left.len() + right.len() > FANOUT * 3 / 4 {
        return false;
    }
    let (_, right) = pages.remove(at + 1);
    let Some((_, left)) = pages.get_mut(at) else { return false };
    match (&mut own(left).body, Arc::unwrap_or_clone(right).body) {
        (Body::Leaf(left), Body::Leaf(right)) => left.extend(right),
        (Body::Branch(left), Body::Branch(right)) => left.extend(right),
        _ => {}
    }
    true
}

/// Entries in ascending order.
#[derive(Debug)]
pub(crate) struct Iter<'a, K, V> {
    stack: Vec<(&'a Page<K, V>, usize)>,
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (page, at) = self.stack.last_mut()?;
            let (page, here) = (*page, *at);
            *at += 1;
            match &page.body {
                Body::Leaf(items) => {
                    if let Some((key, value)) = items.get(here) {
                        return Some((key, value));
                    }
                    self.stack.pop();
                }
                Body::Branch(pages) => match pages.get(here) {
                    Some((_, child)) => self.stack.push((child, 0)),
                    None => {
                        self.stack.pop();
                    }
                },
            }
        }
    }
}

#[cfg(test)]
mod tests;
