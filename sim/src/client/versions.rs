//! Which version of an API is spoken: any that the broker has.
//!
//! It must not know what a version can say; who asks says which ones will do.

use std::ops::RangeInclusive;

use klamm::protocol::ApiKey;

use crate::keyed::Draw;

/// Every version will do.
pub(super) const ANY: RangeInclusive<i16> = 0..=i16::MAX;

/// A version of the API that will do.
pub(super) fn one_of(draw: Draw, api_key: ApiKey, will_do: &RangeInclusive<i16>) -> i16 {
    let all = api_key.versions();
    let (first, last) = (*all.start().max(will_do.start()), *all.end().min(will_do.end()));
    let count = u64::try_from(last - first + 1).unwrap_or(1);
    first + i16::try_from(draw.below(count)).unwrap_or(0)
}

/// An API and a version of it as one number, and back.
pub(super) fn to_word(api_key: ApiKey, version: i16) -> u32 {
    u32::from(api_key.code().cast_unsigned()) << 16 | u32::from(version.cast_unsigned())
}

pub(crate) fn from_word(word: u32) -> Option<(ApiKey, i16)> {
    let api_key = ApiKey::from_code(i16::try_from(word >> 16).ok()?)?;
    Some((api_key, i16::try_from(word & 0xffff).ok()?))
}

/// The versions before the first that names topics by their ids, unless the id is known.
pub(super) fn by_name_unless(knows_id: bool, ids_from: i16) -> RangeInclusive<i16> {
    if knows_id { ANY } else { 0..=ids_from - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyed::{Site, draw_config};

    #[test]
    fn a_word_says_the_api_and_the_version() {
        assert_eq!(from_word(to_word(ApiKey::Fetch, 18)), Some((ApiKey::Fetch, 18)));
        assert_eq!(from_word(to_word(ApiKey::DescribeTopicPartitions, 0)), Some((ApiKey::DescribeTopicPartitions, 0)));
    }

    #[test]
    fn every_version_that_will_do_is_spoken() {
        let spoken = |will_do: RangeInclusive<i16>| {
            let drawn = (0..500).map(|seed| one_of(draw_config(seed, Site::ApiVersion, 0), ApiKey::Fetch, &will_do));
            drawn.collect::<std::collections::BTreeSet<i16>>().into_iter().collect::<Vec<_>>()
        };
        assert_eq!(spoken(ANY), (4..=18).collect::<Vec<_>>());
        assert_eq!(spoken(by_name_unless(false, 13)), (4..=12).collect::<Vec<_>>());
        assert_eq!(spoken(10..=i16::MAX), (10..=18).collect::<Vec<_>>());
    }
}
