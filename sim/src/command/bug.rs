//! A planted bug, by its name: in a build that can plant none, there is none.
//!
//! It must not know what a bug does.

/// Plants the bug of this name in every broker of the process, or none. Names may be written with underscores.
#[cfg(feature = "zoo")]
pub(super) fn plant(name: Option<&str>) -> Result<(), String> {
    use klamm::zoo::Bug;

    let Some(name) = name else {
        klamm::zoo::plant(None);
        return Ok(());
    };
    let bug = Bug::ALL.iter().find(|bug| bug.name() == name.replace('_', " "));
    klamm::zoo::plant(Some(*bug.ok_or_else(|| {
        let names: Vec<&str> = Bug::ALL.iter().map(|bug| bug.name()).collect();
        format!("there is no bug '{name}'; there are: {}", names.join(", "))
    })?));
    Ok(())
}

/// Refuses to plant a bug.
#[cfg(not(feature = "zoo"))]
pub(super) fn plant(name: Option<&str>) -> Result<(), String> {
    name.map_or(Ok(()), |name| {
        Err(format!("this build can plant no bug such as '{name}': build it with the feature zoo"))
    })
}
