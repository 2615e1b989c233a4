//! Checks a data directory that no server has open.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::CollectionName;
use crate::backend::directory::files::{self, failed, name_of, settings_in};
use crate::backend::directory::{
    Expected, Finding, Inspection, inspect, lock_existing, stored_identity,
};
use crate::backend::{BackendError, seeded};
use crate::engine::{CollectionSettings, EngineError};

const TWINS: &str = "move the one with fewer documents away; if it is needed, give it another name \
                     and export it";

/// The results for a data directory.
#[derive(Debug, Default)]
pub struct Verification {
    pub collections: Vec<VerifiedCollection>,
    /// Of the directory itself.
    pub findings: Vec<Finding>,
}

/// The result for the directory of a collection.
#[derive(Debug)]
pub struct VerifiedCollection {
    pub name: CollectionName,
    pub dir: PathBuf,
    pub inspection: Inspection,
}

impl Verification {
    /// Whether nothing is damaged or missing.
    pub fn is_sound(&self) -> bool {
        let is_damaged = |of: &VerifiedCollection| of.inspection.first_damage().is_some();
        !self.collections.iter().any(is_damaged) && !self.findings.iter().any(|it| it.is_damage)
    }
}

/// Reads everything below `root` and changes nothing. `default` has the configured settings of the
/// collection of that name. Blocks.
///
/// # Errors
/// [`BackendError::Store`]: a process has the directory open, or it cannot be read.
pub fn verify_directory(
    root: &Path,
    default: &CollectionSettings,
) -> Result<Verification, EngineError> {
    let _lock = lock_existing(&root.join(CollectionName::default().as_str()))
        .map_err(|error| EngineError::from(BackendError::from(error)))?;
    let mut verification = Verification::default();
    let mut entries = fs::read_dir(root)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(failed(root))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        match name_of(&entry) {
            Some(name) => verification.check(name, entry.path(), default),
            None => verification.findings.push(stranger(&entry.path())),
        }
    }
    verification.check_twins();
    Ok(verification)
}

impl Verification {
    fn check(&mut self, name: CollectionName, dir: PathBuf, default: &CollectionSettings) {
        let settings = match name.is_default() {
            true => Ok(Some(default.clone())),
            false => settings_in(&dir),
        };
        let inspection = match settings {
            Ok(Some(settings)) => {
                // A store with an unreadable seed is inspected as well, and reported as damaged.
                let stored = stored_identity(&dir).ok().flatten();
                let settings = seeded(&settings, stored.as_deref()).unwrap_or(settings);
                inspect(&dir, &Expected::of(&settings))
            }
            Ok(None) => {
                let what = format!("{}: a creation or removal did not complete", dir.display());
                self.findings.push(Finding::note(what, "the next start deletes it"));
                return;
            }
            Err(error) => {
                let remedy = "write its settings to collection.json, as another server or a backup \
                              has them; or move the directory away";
                let findings = vec![Finding::damage(error.to_string(), remedy)];
                Inspection { documents: 0, findings }
            }
        };
        self.collections.push(VerifiedCollection { name, dir, inspection });
    }

    fn check_twins(&mut self) {
        let mut by_name = BTreeMap::<&CollectionName, Vec<&VerifiedCollection>>::new();
        for found in &self.collections {
            by_name.entry(&found.name).or_default().push(found);
        }
        for (name, twins) in by_name {
            if twins.len() > 1 && !is_replaced(&twins) {
                let dirs = twins.iter().map(|twin| {
                    format!("{} with {} documents", twin.dir.display(), twin.inspection.documents)
                });
                let dirs = dirs.collect::<Vec<_>>().join(", ");
                let what = format!("several directories belong to the collection '{name}': {dirs}");
                self.findings.push(Finding::damage(what, TWINS));
            }
        }
    }
}

/// Whether the last directory replaces all other directories, a takeover that a start completes.
fn is_replaced(twins: &[&VerifiedCollection]) -> bool {
    twins.iter().filter(|twin| files::replaced_by(&twin.dir).is_some()).count() + 1 == twins.len()
}

fn stranger(path: &Path) -> Finding {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match name.starts_with('.') {
        true => Finding::note(
            format!("{} is left of a restore or reindex that did not complete", path.display()),
            "the next one deletes it",
        ),
        false => Finding::note(format!("{} is not a collection", path.display()), "it is ignored"),
    }
}
