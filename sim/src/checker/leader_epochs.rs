//! In which leader epochs the last reading has found records: an epoch ends where the next one begins that has any, for ever.
//!
//! It must not know how the broker keeps epochs.

use std::collections::BTreeMap;

/// By partition and epoch: the first offset that was read, and the offset behind the last.
#[derive(Debug, Default)]
pub(crate) struct LeaderEpochs {
    read: BTreeMap<i32, BTreeMap<i32, (i64, i64)>>,
}

impl LeaderEpochs {
    /// The last reading has found this offset in this epoch.
    pub(crate) fn read(&mut self, partition: i32, epoch: i32, offset: i64) {
        let offsets = self.read.entry(partition).or_default().entry(epoch).or_insert((offset, offset + 1));
        *offsets = (offsets.0.min(offset), offsets.1.max(offset + 1));
    }

    /// What must be told of an epoch of a partition whose present epoch is `latest`, and whose log ends at `end`: the epoch that ends there, and where. An epoch
    /// without records ends where its forerunner does.
    pub(crate) fn end_of(&self, partition: i32, epoch: i32, (latest, end): (i32, i64)) -> (i32, i64) {
        if epoch > latest {
            return (-1, -1);
        }
        let none = BTreeMap::new();
        let read = self.read.get(&partition).unwrap_or(&none);
        let next = read.range(epoch + 1..).next().map_or(end, |(_, (start, _))| *start);
        let holder =
            if epoch == latest { Some(latest) } else { read.range(..=epoch).next_back().map(|(holder, _)| *holder) };
        (holder.unwrap_or(epoch), next)
    }

    /// The offset behind the last that was read of a partition.
    pub(crate) fn end_of_reading(&self, partition: i32) -> i64 {
        let ends = self.read.get(&partition).into_iter().flat_map(BTreeMap::values);
        ends.map(|(_, end)| *end).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_ends_where_the_next_one_begins_that_has_records() {
        let mut epochs = LeaderEpochs::default();
        for (epoch, offset) in [(1, 0), (1, 1), (3, 2), (3, 3), (4, 4)] {
            epochs.read(0, epoch, offset);
        }
        let told = [0, 1, 2, 3, 4, 5, 6, 7].map(|epoch| epochs.end_of(0, epoch, (6, 5)));
        assert_eq!(told, [(0, 0), (1, 2), (1, 2), (3, 4), (4, 5), (4, 5), (6, 5), (-1, -1)]);
        assert_eq!([0, 1].map(|partition| epochs.end_of_reading(partition)), [5, 0]);
        assert_eq!(epochs.end_of(1, 0, (0, 0)), (0, 0));
    }
}
