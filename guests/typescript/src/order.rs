//! Tokens whose lines do not follow one another. Compiled code has some: decorators of members are told before their class,
//! which begins further up. Code has one order, so some of them cannot stand in their lines; the fewest are left out of it.

/// Which of the tokens can stand in their lines, by the lines that they are from; 0 is no line. None: all of them.
pub(crate) fn kept(lines: &[u32]) -> Option<Vec<bool>> {
    let placed = |line: &&u32| **line > 0;
    if lines.iter().filter(placed).is_sorted() {
        return None;
    }
    // The longest series of lines that do not fall. `ends[n]` is the token with the lowest line at which one of n + 1 ends.
    let mut ends: Vec<u32> = Vec::new();
    let mut before = vec![u32::MAX; lines.len()];
    for (token, line) in lines.iter().enumerate().filter(|(_, line)| placed(line)) {
        let length = ends.partition_point(|end| lines[*end as usize] <= *line);
        if length > 0 {
            before[token] = ends[length - 1];
        }
        // A source has at most as many tokens as bytes.
        let token = token as u32;
        match ends.get_mut(length) {
            Some(end) => *end = token,
            None => ends.push(token),
        }
    }
    let mut kept = vec![false; lines.len()];
    let mut at = ends.last().copied();
    while let Some(token) = at.filter(|token| *token != u32::MAX) {
        kept[token as usize] = true;
        at = Some(before[token as usize]);
    }
    Some(kept)
}
