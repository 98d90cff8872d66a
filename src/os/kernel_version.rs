//! Refuses a kernel under which a lost write could be acknowledged.
//!
//! It must not know what is written.

use std::io;

use rustix::system::uname;

/// From this version on `syncfs` reports writes that failed in the background; before, it says that all is well.
const OLDEST: (u32, u32) = (5, 8);

/// An error with a sentence for the operator if the kernel is too old.
pub(super) fn check_kernel() -> io::Result<()> {
    check_release(&uname().release().to_string_lossy())
}

fn check_release(release: &str) -> io::Result<()> {
    if version(release).is_some_and(|version| version >= OLDEST) {
        return Ok(());
    }
    let (major, minor) = OLDEST;
    let sentence = format!(
        "this is Linux {release}, and it must be {major}.{minor} or newer: an older one does not report failed writes when a whole file system is synced"
    );
    Err(io::Error::new(io::ErrorKind::Unsupported, sentence))
}

/// Major and minor number of a release such as `6.1.0-18-amd64` or `6.2-rc1`.
fn version(release: &str) -> Option<(u32, u32)> {
    let (major, rest) = release.split_once('.')?;
    let digits = rest.find(|symbol: char| !symbol.is_ascii_digit()).unwrap_or(rest.len());
    Some((major.parse().ok()?, rest.get(..digits)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_hides_failed_writes_is_refused_with_its_version() {
        for release in ["5.8.0", "5.10.0-28-amd64", "6.2-rc1", "6.18.44+", "10.0"] {
            check_release(release).unwrap();
        }
        for release in ["5.7.19", "5.4.0-150-generic", "4.18.0-513.el8", "2.6.60", "", "six.two", "5"] {
            let error = check_release(release).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::Unsupported);
            assert!(error.to_string().contains(&format!("Linux {release}, ")), "{error}");
        }
        check_kernel().expect("the tests run where the broker does");
    }
}
