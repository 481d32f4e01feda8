//! Who gets a place, who waits, and who is next.

use futures::FutureExt as _;

use super::*;

fn owner(name: &str) -> Owner {
    Owner::parse(name).unwrap()
}

/// As many places as an owner can have at once.
fn all(fair: &Arc<Fair>, name: &str) -> Vec<Held> {
    std::iter::from_fn(|| fair.take(&owner(name))).collect()
}

#[test]
fn who_takes_all_he_can_leaves_as_much_as_he_has() {
    let fair = Fair::new(64, true, 8);
    let a = all(&fair, "a");
    assert_eq!(a.len(), 32, "alone he has half");
    let b = all(&fair, "b");
    let c = all(&fair, "c");
    assert_eq!((b.len(), c.len()), (16, 8), "nobody's place is taken away");
    assert!(fair.take(&owner("d")).is_some(), "and there is one for whoever comes next");
    // As the greedy give back and take again, they come to the same share.
    let (mut a, mut b, mut c) = (a, b, c);
    for _ in 0..200 {
        for (name, held) in [("a", &mut a), ("b", &mut b), ("c", &mut c)] {
            held.pop();
            held.extend(fair.take(&owner(name)));
            held.extend(fair.take(&owner(name)));
        }
    }
    assert_eq!((a.len(), b.len(), c.len()), (16, 16, 16));
    drop((a, b, c));
    assert_eq!(fair.free(&owner("a")), (64, 0));
}

#[test]
fn where_there_is_one_owner_he_may_have_all() {
    let fair = Fair::new(3, false, 8);
    assert_eq!(all(&fair, "a").len(), 3);
    let fair = Fair::new(0, true, 8);
    assert_eq!(all(&fair, "a").len(), 1, "there is one place at least");
}

#[test]
fn who_holds_least_is_next_and_then_who_was_served_longest_ago() {
    let fair = Fair::new(2, false, 100);
    let mut held = all(&fair, "a");
    let line = |name: &str| (name.to_owned(), fair.line(&owner(name)).unwrap());
    let mut lines = vec![line("a"), line("a"), line("a"), line("b"), line("b"), line("c")];
    let mut served = String::new();
    while let Some(free) = held.pop() {
        drop(free);
        while let Some(at) = lines.iter_mut().position(|(_, line)| {
            line.now_or_never().is_some_and(|place| {
                held.push(place);
                true
            })
        }) {
            served.push_str(&lines.remove(at).0);
        }
    }
    // `a` holds one still, until only his own wait.
    assert_eq!(served, "bcbaaa");
    assert!(lines.is_empty() && fair.holders().is_empty());
}

#[test]
fn one_that_comes_again_and_again_does_not_pass_those_that_wait() {
    let fair = Fair::new(1, false, 100);
    let mut held = all(&fair, "a").pop();
    let mut many: Vec<_> = (0..10).map(|_| fair.line(&owner("a")).unwrap()).collect();
    let mut turns = String::new();
    // `b` always has one in line, never two.
    let mut one = fair.line(&owner("b")).unwrap();
    for _ in 0..8 {
        drop(held.take());
        if let Some(place) = (&mut one).now_or_never() {
            turns.push('b');
            one = fair.line(&owner("b")).unwrap();
            held = Some(place);
            continue;
        }
        let first = many.iter_mut().position(|line| match line.now_or_never() {
            Some(place) => {
                held = Some(place);
                true
            }
            None => false,
        });
        drop(many.remove(first.unwrap()));
        turns.push('a');
    }
    assert_eq!(turns, "abababab");
}

#[test]
fn only_so_many_wait_and_one_owner_leaves_room_for_others() {
    let fair = Fair::new(1, true, 8);
    let held = all(&fair, "a");
    let mut lines = Vec::new();
    let refused = loop {
        match fair.line(&owner("a")) {
            Ok(line) => lines.push(line),
            Err(Full(waiting)) => break waiting,
        }
    };
    assert_eq!((lines.len(), refused), (4, 4));
    let other = fair.line(&owner("b")).unwrap();
    drop((lines, held));
    assert_eq!(other.now_or_never().unwrap().count(), 1);
    let fair = Fair::new(1, false, 3);
    let _held = all(&fair, "a");
    let lines: Vec<_> = std::iter::from_fn(|| fair.line(&owner("a")).ok()).collect();
    assert_eq!(lines.len(), 3);
}

#[test]
fn who_gives_up_waiting_takes_nothing_along() {
    let fair = Fair::new(1, false, 100);
    let held = all(&fair, "a");
    let mut first = fair.line(&owner("b")).unwrap();
    assert!((&mut first).now_or_never().is_none());
    let second = fair.line(&owner("c")).unwrap();
    drop(first);
    drop(held);
    // It is `second`'s now, who does not come to take it.
    assert!(fair.take(&owner("d")).is_none());
    drop(second);
    let place = fair.take(&owner("d")).unwrap();
    let taken = {
        let mut line = fair.line(&owner("d")).unwrap();
        drop(place);
        (&mut line).now_or_never().unwrap()
    };
    assert_eq!(fair.free(&owner("d")), (0, 1), "the line is dropped, the place is not");
    drop(taken);
    assert!(fair.holders().is_empty());
}

#[test]
fn places_are_joined_and_given_back_in_part() {
    let fair = Fair::new(5, false, 100);
    let mut held = fair.take(&owner("a")).unwrap();
    (0..4).for_each(|_| held.join(fair.take(&owner("a")).unwrap()));
    assert_eq!((held.count(), fair.free(&owner("a"))), (5, (0, 5)));
    let mut waits = fair.line(&owner("b")).unwrap();
    held.keep(9);
    assert!((&mut waits).now_or_never().is_none());
    held.keep(2);
    assert!((&mut waits).now_or_never().is_some());
    assert_eq!(fair.free(&owner("a")), (3, 2));
}
