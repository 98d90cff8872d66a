//! Records of the metadata log about features.
//!
//! It must not know what replaying them does.

use crate::protocol::declare::messages;

messages! {
    /// The cluster settled on a level of a feature.
    pub struct FeatureLevelRecord<'a>: versions 0..=0, flexible 0.. {
        name: &'a str => 0..;
        feature_level: i16 => 0..;
    }
}
