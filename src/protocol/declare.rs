//! The macro with which every message is declared once: structure, default values, reader and writer for all versions.
//!
//! It must not know any message. A declaration reads:
//!
//! ```text
//! messages! {
//!     /// What the message is for.
//!     pub struct SomeRequest<'a>: versions 0..=4, flexible 3.. {
//!         name: &'a str => 0..;                                      // in every version
//!         topics: Option<Vec<SomeTopic<'a>>> => 1.., nullable 2..;   // from 1 on; null is legal from 2 on
//!         leader_epoch: i32 = -1 => 2..=3;                           // a default other than the type's own
//!         rack: Option<&'a str> => 4.., tag 0;                       // a tagged field; tags in ascending order
//!     }
//!     /// A structure inside it. Its versions are those of the message.
//!     pub struct SomeTopic<'a> { … }
//! }
//! ```
//!
//! An `Option` without `nullable` is nullable wherever it exists; a tagged one always is. `flexible NEVER..` is a message without flexible versions.

/// Stands in a declaration for a message that has no flexible version.
pub(super) const NEVER: i16 = i16::MAX;

/// Declares messages and the structures inside them; see the file's head.
macro_rules! messages {
    ($(
        $(#[$doc:meta])*
        pub struct $name:ident $(<$life:lifetime>)? $(: versions $first:literal..=$last:literal, flexible $flexible:tt..)? {
            $($fields:tt)*
        }
    )+) => {
        $(
            $crate::protocol::declare::structure! {
                $(#[$doc])* $name [$($life)?] { $($fields)* }
            }
            $crate::protocol::declare::message! { $name [$($life)?] [$($first, $last, $flexible)?] }
        )+
    };
}

/// Implements `Message` for a structure that has versions of its own.
macro_rules! message {
    ($name:ident [$($life:lifetime)?] []) => {};
    ($name:ident [] [$($versions:tt)+]) => {
        $crate::protocol::declare::message! { @build $name, 'wire, [], $($versions)+ }
    };
    ($name:ident [$life:lifetime] [$($versions:tt)+]) => {
        $crate::protocol::declare::message! { @build $name, $life, [<$life>], $($versions)+ }
    };
    (@build $name:ident, $life:lifetime, [$($generics:tt)*], $first:literal, $last:literal, $flexible:tt) => {
        impl<$life> $crate::protocol::wire::Message<$life> for $name $($generics)* {
            const NAME: &'static str = stringify!($name);
            const VERSION_MIN: i16 = $first;
            const VERSION_MAX: i16 = $last;

            fn decode(
                decoder: &mut $crate::protocol::codec::Decoder<$life>,
                version: i16,
            ) -> Result<Self, $crate::protocol::codec::DecodeError> {
                if !($first..=$last).contains(&version) {
                    return Err($crate::protocol::codec::DecodeError::UnsupportedVersion { version });
                }
                let format = $crate::protocol::wire::Format { version, is_flexible: version >= $flexible };
                $crate::protocol::wire::Wire::decode(decoder, format)
            }

            fn encode(&self, encoder: &mut $crate::protocol::codec::Encoder, version: i16) {
                let format = $crate::protocol::wire::Format { version, is_flexible: version >= $flexible };
                $crate::protocol::wire::Wire::encode(self, encoder, format);
            }

            fn sample(sampler: &mut $crate::protocol::sample::Sampler, version: i16) -> Self {
                let format = $crate::protocol::wire::Format { version, is_flexible: version >= $flexible };
                $crate::protocol::wire::Wire::sample(sampler, format)
            }
        }
    };
}

/// Defines one structure and implements `Wire` for it.
macro_rules! structure {
    ($(#[$doc:meta])* $name:ident [] { $($fields:tt)* }) => {
        $crate::protocol::declare::structure! { @build $(#[$doc])* $name, 'wire, [] { $($fields)* } }
    };
    ($(#[$doc:meta])* $name:ident [$life:lifetime] { $($fields:tt)* }) => {
        $crate::protocol::declare::structure! { @build $(#[$doc])* $name, $life, [<$life>] { $($fields)* } }
    };
    (@build $(#[$doc:meta])* $name:ident, $life:lifetime, [$($generics:tt)*] { $(
        $(#[$field_doc:meta])*
        $field:ident: $type:ty $(= $default:expr)? => $versions:expr $(, nullable $nullable:expr)? $(, tag $tag:literal)?;
    )* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "field names and meanings are the protocol's own")]
        pub struct $name $($generics)* {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        /// The protocol's default values, which also stand for fields that a version lacks.
        impl $($generics)* Default for $name $($generics)* {
            fn default() -> Self {
                $name { $($field: $crate::protocol::declare::default!($($default)?),)* }
            }
        }

        #[allow(unused_mut, unused_variables, reason = "not every structure has fields, or tagged ones")]
        impl<$life> $crate::protocol::wire::Wire<$life> for $name $($generics)* {
            #[inline]
            fn bytes_min(format: $crate::protocol::wire::Format) -> usize {
                let mut bytes = usize::from(format.is_flexible);
                $($crate::protocol::declare::if_tagged! { [$($tag)?] {} else {
                    if ($versions).contains(&format.version) {
                        bytes += <$type as $crate::protocol::wire::Wire<$life>>::bytes_min(format);
                    }
                } })*
                bytes
            }

            #[inline]
            fn decode(
                decoder: &mut $crate::protocol::codec::Decoder<$life>,
                format: $crate::protocol::wire::Format,
            ) -> Result<Self, $crate::protocol::codec::DecodeError> {
                $(let mut $field: $type = $crate::protocol::declare::if_tagged! { [$($tag)?] {
                    $crate::protocol::declare::default!($($default)?)
                } else {
                    if ($versions).contains(&format.version) {
                        $crate::protocol::declare::decode!(decoder, format $(, $nullable)?)
                    } else {
                        $crate::protocol::declare::default!($($default)?)
                    }
                } };)*
                if format.is_flexible {
                    for _ in 0..decoder.get_unsigned_varint()? {
                        let tag = decoder.get_unsigned_varint()?;
                        let bytes = decoder.get_tag_size()?;
                        match tag {
                            $($($tag if ($versions).contains(&format.version) => {
                                $field = decoder.get_tagged(tag, bytes, |decoder| {
                                    $crate::protocol::wire::Wire::decode(decoder, format)
                                })?;
                            }
                            $tag => return Err($crate::protocol::codec::DecodeError::TagNotInVersion { tag }),)?)*
                            _ => {
                                decoder.take(bytes)?;
                            }
                        }
                    }
                }
                Ok($name { $($field,)* })
            }

            #[inline]
            fn encode(&self, encoder: &mut $crate::protocol::codec::Encoder, format: $crate::protocol::wire::Format) {
                $($crate::protocol::declare::if_tagged! { [$($tag)?] {} else {
                    if ($versions).contains(&format.version) {
                        $crate::protocol::declare::encode!(&self.$field, encoder, format $(, $nullable)?);
                    }
                } })*
                if format.is_flexible {
                    let mut tagged_fields = 0;
                    $($crate::protocol::declare::if_tagged! { [$($tag)?] {
                        let default: $type = $crate::protocol::declare::default!($($default)?);
                        let $field = ($versions).contains(&format.version) && self.$field != default;
                        tagged_fields += u32::from($field);
                    } else {} })*
                    encoder.put_unsigned_varint(tagged_fields);
                    $($(if $field {
                        encoder.put_tagged($tag, |encoder| {
                            $crate::protocol::wire::Wire::encode(&self.$field, encoder, format);
                        });
                    })?)*
                }
            }

            fn sample(sampler: &mut $crate::protocol::sample::Sampler, format: $crate::protocol::wire::Format) -> Self {
                $name { $($field: if ($versions).contains(&format.version) {
                    $crate::protocol::declare::sample!(sampler, format $(, $nullable)?)
                } else {
                    $crate::protocol::declare::default!($($default)?)
                },)* }
            }
        }
    };
}

/// Makes a structure one that can be null as a whole: a marker byte, negative for null, stands before it.
macro_rules! nullable_structure {
    ($name:ident<$life:lifetime>) => {
        impl<$life> $crate::protocol::wire::Nullable<$life> for $name<$life> {
            fn bytes_min_nullable(_: $crate::protocol::wire::Format) -> usize {
                1
            }

            fn decode_nullable(
                decoder: &mut $crate::protocol::codec::Decoder<$life>,
                format: $crate::protocol::wire::Format,
            ) -> Result<Option<Self>, $crate::protocol::codec::DecodeError> {
                if decoder.get_i8()? < 0 {
                    return Ok(None);
                }
                $crate::protocol::wire::Wire::decode(decoder, format).map(Some)
            }

            fn encode_nullable(
                value: Option<&Self>,
                encoder: &mut $crate::protocol::codec::Encoder,
                format: $crate::protocol::wire::Format,
            ) {
                encoder.put_i8(if value.is_some() { 1 } else { -1 });
                if let Some(value) = value {
                    $crate::protocol::wire::Wire::encode(value, encoder, format);
                }
            }

            fn encode_empty(encoder: &mut $crate::protocol::codec::Encoder, format: $crate::protocol::wire::Format) {
                $crate::protocol::wire::Wire::encode(&Self::default(), encoder, format);
            }
        }
    };
}

/// The declared default, or the type's own.
macro_rules! default {
    () => {
        Default::default()
    };
    ($default:expr) => {
        $default
    };
}

/// Chooses code by whether a field is tagged.
macro_rules! if_tagged {
    ([] { $($tagged:tt)* } else { $($regular:tt)* }) => { $($regular)* };
    ([$tag:literal] { $($tagged:tt)* } else { $($regular:tt)* }) => { $($tagged)* };
}

/// Reads one field.
macro_rules! decode {
    ($decoder:ident, $format:ident) => {
        $crate::protocol::wire::Wire::decode($decoder, $format)?
    };
    ($decoder:ident, $format:ident, $nullable:expr) => {
        $crate::protocol::wire::decode_option($decoder, $format, ($nullable).contains(&$format.version))?
    };
}

/// Writes one field.
macro_rules! encode {
    ($value:expr, $encoder:ident, $format:ident) => {
        $crate::protocol::wire::Wire::encode($value, $encoder, $format)
    };
    ($value:expr, $encoder:ident, $format:ident, $nullable:expr) => {
        $crate::protocol::wire::encode_option($value, $encoder, $format, ($nullable).contains(&$format.version))
    };
}

/// Draws one field.
macro_rules! sample {
    ($sampler:ident, $format:ident) => {
        $crate::protocol::wire::Wire::sample($sampler, $format)
    };
    ($sampler:ident, $format:ident, $nullable:expr) => {
        $crate::protocol::wire::sample_option($sampler, $format, ($nullable).contains(&$format.version))
    };
}

pub(super) use {decode, default, encode, if_tagged, message, messages, nullable_structure, sample, structure};
