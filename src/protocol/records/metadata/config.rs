//! Records of the metadata log about configurations.
//!
//! It must not know what replaying them does.

use crate::protocol::declare::messages;

messages! {
    /// A configuration key was set, or with a null value removed.
    pub struct ConfigRecord<'a>: versions 0..=0, flexible 0.. {
        resource_type: i8 => 0..;
        resource_name: &'a str => 0..;
        name: &'a str => 0..;
        value: Option<&'a str> = Some("") => 0..;
    }
}
