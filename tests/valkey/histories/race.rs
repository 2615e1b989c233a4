//! What must be so of near-duplicates that are posted at once, each under an id of its own.

/// What a document was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is stored. With the ids of the near-duplicates that it was told of.
    Stored(Vec<String>),
    /// It is not stored, as it has near-duplicates.
    Skipped(Vec<String>),
    /// It is unknown whether it is stored.
    Open,
}

pub type Posted = (String, Outcome);

/// Of any two that are stored the later is told of the earlier.
///
/// # Errors
/// The two that are not told of each other.
pub fn check_reported(posted: &[Posted]) -> Result<(), String> {
    let stored = posted.iter().filter_map(|(id, outcome)| match outcome {
        Outcome::Stored(told) => Some((id, told)),
        _ => None,
    });
    let stored: Vec<_> = stored.collect();
    for (at, (a, told_a)) in stored.iter().enumerate() {
        for (b, told_b) in &stored[at + 1..] {
            if !told_a.contains(b) && !told_b.contains(a) {
                return Err(format!("neither {a} nor {b} is told of the other: {posted:?}"));
            }
        }
    }
    Ok(())
}

/// At most one is stored, and the others are skipped because of one of them that may be stored.
///
/// # Errors
/// What is stored besides, or skipped without a reason.
pub fn check_skipped(posted: &[Posted]) -> Result<(), String> {
    let is_stored = |(_, outcome): &&Posted| matches!(outcome, Outcome::Stored(_));
    if posted.iter().filter(is_stored).count() > 1 {
        return Err(format!("several are stored: {posted:?}"));
    }
    for (id, outcome) in posted {
        let Outcome::Skipped(because_of) = outcome else { continue };
        let may_be_stored = |(other, outcome): &Posted| {
            !matches!(outcome, Outcome::Skipped(_)) && because_of.contains(other)
        };
        if !posted.iter().any(may_be_stored) {
            return Err(format!("{id} is skipped without a reason: {posted:?}"));
        }
    }
    Ok(())
}
