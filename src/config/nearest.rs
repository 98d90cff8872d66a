//! Finds the known key that an unknown one was probably meant to be.
//!
//! It must not know what the keys mean.

/// The candidate that is fewest edits away from `name`; `None` if even that one is too far to be a slip.
pub(crate) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let edits_max = (name.chars().count() / 4).clamp(1, 6);
    candidates
        .map(|candidate| (edits(name, candidate), candidate))
        .filter(|(edits, _)| *edits <= edits_max)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours that turn one text into the other.
fn edits(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    let mut previous_left = None;
    for (row, left_character) in left.chars().enumerate() {
        let mut current = vec![row + 1];
        let mut previous_right = None;
        for (column, right_character) in right.iter().copied().enumerate() {
            let replaced = last[column] + usize::from(left_character != right_character);
            let mut fewest = replaced.min(last[column + 1] + 1).min(current[column] + 1);
            let is_swap = previous_left == Some(right_character) && previous_right == Some(left_character);
            if let (true, Some(before)) = (is_swap, column.checked_sub(1).and_then(|at| before_last.get(at))) {
                fewest = fewest.min(before + 1);
            }
            current.push(fewest);
            previous_right = Some(right_character);
        }
        previous_left = Some(left_character);
        before_last = std::mem::replace(&mut last, current);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{edits, nearest};

    #[test]
    fn edits_are_counted() {
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("retnetion", "retention"), 1);
        assert_eq!(edits("same", "same"), 0);
    }

    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not() {
        let names = ["log.retention.ms", "log.retention.hours", "listeners"];
        assert_eq!(nearest("log.retention.msec", names.into_iter()), Some("log.retention.ms"));
        assert_eq!(nearest("log.retention.hour", names.into_iter()), Some("log.retention.hours"));
        assert_eq!(nearest("colour", names.into_iter()), None);
    }
}
