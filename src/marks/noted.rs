//! Notes which marks were reached, for whoever steps the broker.
//!
//! It must not know what a mark means. Nothing is decided by what is kept here.

use std::cell::Cell;

use super::Mark;

const WORDS: usize = Mark::ALL.len().div_ceil(64);

thread_local! {
    /// A bit for each mark. A simulated broker lives on one thread, and several may run at a time.
    static REACHED: [Cell<u64>; WORDS] = const { [const { Cell::new(0) }; WORDS] };
}

impl Mark {
    /// The situation is there.
    #[inline]
    pub fn reached(self) {
        let number = self as usize;
        REACHED.with(|words| words[number / 64].set(words[number / 64].get() | 1 << (number % 64)));
    }

    /// The marks that were reached on this thread since it was last asked, in the order of the list.
    pub fn take_reached() -> Vec<Mark> {
        let mut reached = Vec::new();
        REACHED.with(|words| {
            for (word, marks) in words.iter().zip(Mark::ALL.chunks(64)) {
                let bits = word.take();
                if bits != 0 {
                    reached.extend((0..).zip(marks).filter(|(bit, _)| bits >> bit & 1 == 1).map(|(_, mark)| *mark));
                }
            }
        });
        reached
    }
}
