//! The map against the standard library's.

use std::collections::BTreeMap;

use super::*;
use crate::testing::Random;

/// Checks that pages are in order, none is empty or too full, and all leaves are equally deep. Answers the depth.
fn check<K: Ord, V>(page: &Page<K, V>) -> usize {
    assert!((1..=FANOUT).contains(&page.len()));
    match &page.body {
        Body::Leaf(items) => {
            assert!(items.is_sorted_by(|a, b| a.0 < b.0));
            1
        }
        Body::Branch(pages) => {
            let depths: Vec<usize> = pages.iter().map(|(_, child)| check(child)).collect();
            assert!(depths.iter().all(|depth| *depth == depths[0]));
            for (first, child) in pages {
                assert!(child.first().is_some_and(|own| first <= own));
            }
            depths[0] + 1
        }
    }
}

#[test]
fn random_changes_leave_the_same_entries_as_a_plain_map() {
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let mut map: Map<u64, u64> = Map::default();
        let mut plain = BTreeMap::new();
        let mut copies = Vec::new();
        let range = [50, 2000][random.below(2)];
        for step in 0..4000 {
            let key = random.below(range) as u64;
            let growing = (step / 1000) % 2 == 0;
            match random.below(if growing { 10 } else { 20 }) {
                0..8 => assert_eq!(map.insert(key, step), plain.insert(key, step)),
                8 => {
                    let (ours, theirs) = (map.get_mut(&key), plain.get_mut(&key));
                    assert_eq!(ours.as_deref(), theirs.as_deref());
                    if let (Some(ours), Some(theirs)) = (ours, theirs) {
                        (*ours, *theirs) = (step, step);
                    }
                }
                _ => assert_eq!(map.remove(&key), plain.remove(&key)),
            }
            assert_eq!(map.len(), plain.len());
            assert_eq!(map.get(&key), plain.get(&key));
            if step % 97 == 0 {
                map.root().map(|root| check(root));
                assert!(map.iter().eq(plain.iter()));
                assert!(map.from(&key).eq(plain.range(key..)));
                copies.push((map.clone(), plain.clone()));
            }
        }
        for (copy, plain) in copies {
            assert!(copy.iter().eq(plain.iter()), "a copy changed with its origin");
        }
    }
}

#[test]
fn emptying_a_large_map_in_any_order_leaves_no_page() {
    for order in 0..3 {
        let mut map: Map<u64, ()> = Map::default();
        for key in 0..5000 {
            map.insert(key, ());
        }
        for step in 0..5000 {
            let key = [step, 4999 - step, step * 2477 % 5000][order];
            assert_eq!(map.remove(&key), Some(()));
            map.root().map(|root| check(root));
        }
        assert!(map.is_empty() && map.root().is_none());
    }
}

#[test]
fn a_change_forgets_the_saved_ids_of_its_path_only() {
    fn ids<K, V>(page: &Page<K, V>, found: &mut (usize, usize)) {
        if page.saved.get().is_some() {
            found.0 += 1
        } else {
            found.1 += 1
        }
        if let Body::Branch(pages) = &page.body {
            pages.iter().for_each(|(_, child)| ids(child, found));
        }
    }
    fn mark<K, V>(page: &Page<K, V>) {
        page.saved.get_or_init(|| ChunkId::of(b""));
        if let Body::Branch(pages) = &page.body {
            pages.iter().for_each(|(_, child)| mark(child));
        }
    }
    let mut map: Map<u64, u64> = Map::default();
    for key in 0..10_000 {
        map.insert(key, 0);
    }
    mark(map.root().unwrap());
    let copy = map.clone();
    *map.get_mut(&5000).unwrap() = 1;
    let (mut ours, mut theirs) = ((0, 0), (0, 0));
    ids(map.root().unwrap(), &mut ours);
    ids(copy.root().unwrap(), &mut theirs);
    assert_eq!(ours.1, check(map.root().unwrap()), "one page a level");
    assert_eq!(theirs.1, 0);
    drop(copy);
    map.insert(5000, 2);
    assert_eq!(map.get_mut(&20_000), None);
    assert_eq!(map.remove(&20_000), None);
    let mut again = (0, 0);
    ids(map.root().unwrap(), &mut again);
    assert_eq!(again, ours, "a miss forgets nothing");
}
