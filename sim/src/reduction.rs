//! What a run leaves out of what its seed has planned: a shrinker takes away until the violation would go.
//!
//! It must not know who takes away, nor why.

use std::collections::{BTreeMap, BTreeSet};

macro_rules! simplifications {
    ($($(#[doc = $sentence:literal])+ $name:ident;)*) => {
        /// A part of a plan in its simplest form.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Simple {
            $($(#[doc = $sentence])+ $name,)*
        }

        impl Simple {
            /// Every one.
            pub const ALL: &[Simple] = &[$(Simple::$name,)*];

            /// Its name, as capsules write it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Simple::$name => stringify!($name),)*
                }
            }

            /// What it means, in a sentence.
            pub fn sentence(self) -> &'static str {
                match self {
                    $(Simple::$name => concat!($($sentence),+).trim_ascii(),)*
                }
            }
        }
    };
}

simplifications! {
    /// The broker does not go down at the first planned time.
    NoFirstCrash;
    /// The broker does not go down at the second planned time.
    NoSecondCrash;
    /// The time of faults ends without a crash or a stop.
    QuietEndOfChaos;
    /// Everything is read once more without a crash or a stop before.
    QuietEnd;
    /// Clients treat their connections well.
    GoodHabits;
    /// Those who may step take turns.
    InTurn;
    /// A step of a Processor does all that there is to do.
    WholeSteps;
    /// There is one Processor.
    OneProcessor;
    /// There is one request handler in the pool.
    OneHandler;
    /// Processors step no handler: every request goes through the pool.
    OnlyThePool;
    /// There is one log directory.
    OneDirectory;
    /// New topics have one partition.
    OnePartition;
    /// The request queue has its usual length.
    UsualQueue;
    /// Segments roll and index entries come as usual.
    UsualSegments;
    /// Old files are looked after as seldom as usual, and a coordinator waits for its disk as long.
    LateUpkeep;
    /// No limit of memory, descriptors or idle time is in the way.
    NoLimits;
    /// A batch has one record.
    OneRecord;
    /// Nothing is compressed.
    NoCompression;
    /// A producer waits for each answer.
    NoPipeline;
}

impl Simple {
    /// The one of this name.
    pub fn from_name(name: &str) -> Option<Simple> {
        Simple::ALL.iter().copied().find(|simple| simple.name() == name)
    }
}

/// What is left out of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reduction {
    /// The most operations of a client, by its number; one that may do none is not there.
    pub operations: BTreeMap<u32, u32>,
    /// Parts in their simplest form.
    pub simple: BTreeSet<Simple>,
    /// How long faults are about at most, if that is less than planned.
    pub chaos_ns_max: Option<u64>,
}

impl Reduction {
    /// Whether this part is simple.
    pub fn has(&self, simple: Simple) -> bool {
        self.simple.contains(&simple)
    }

    /// What is left of so many operations of a client.
    pub(crate) fn operations(&self, client: u32, planned: u32) -> u32 {
        self.operations.get(&client).map_or(planned, |most| planned.min(*most))
    }
}
