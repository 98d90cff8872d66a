//! Delta debugging: a smallest part of a list that still has a property (Zeller and Hildebrandt, 2002).
//!
//! It must not know what the items are.

/// Takes items away as long as `holds` says yes to what is left, in halves first, then in ever smaller parts. The result is 1-minimal if
/// `holds` answers the same question always the same: no single item can go. It is not asked about the whole list.
pub(crate) fn minimise<Item: Copy>(items: &[Item], mut holds: impl FnMut(&[Item]) -> bool) -> Vec<Item> {
    let mut left = items.to_vec();
    if left.is_empty() || holds(&[]) {
        return Vec::new();
    }
    let mut parts = 2;
    while left.len() >= 2 {
        let length = left.len().div_ceil(parts);
        match without_one_part(&left, length, &mut holds) {
            Some(rest) => {
                left = rest;
                parts = parts.saturating_sub(1).max(2);
            }
            None if length == 1 => break,
            None => parts = (2 * parts).min(left.len()),
        }
    }
    left
}

fn without_one_part<Item: Copy>(
    items: &[Item],
    length: usize,
    holds: &mut impl FnMut(&[Item]) -> bool,
) -> Option<Vec<Item>> {
    (0..items.len()).step_by(length).find_map(|start| {
        let end = (start + length).min(items.len());
        let rest: Vec<Item> = items[..start].iter().chain(&items[end..]).copied().collect();
        (!rest.is_empty() && holds(&rest)).then_some(rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_stays_and_the_rest_goes() {
        let items: Vec<u32> = (0..100).collect();
        for needed in [vec![], vec![0], vec![99], vec![3, 50, 51, 98]] {
            let holds = |left: &[u32]| needed.iter().all(|item| left.contains(item));
            assert_eq!(minimise(&items, holds), needed);
        }
    }

    #[test]
    fn few_questions_are_asked() {
        let items: Vec<u32> = (0..1_000).collect();
        let mut asked = 0;
        minimise(&items, |left| {
            asked += 1;
            left.contains(&700)
        });
        assert!(asked < 60, "{asked}");
    }
}
