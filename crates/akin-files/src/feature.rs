//! The cargo features of the command line: parts that a binary can be built without.

use super::failure::Failure;

/// A cargo feature.
pub struct Feature {
    name: &'static str,
    what: &'static str,
    pub is_built_in: bool,
}

pub const PARQUET: Feature =
    Feature { name: "parquet", what: "Parquet", is_built_in: cfg!(feature = "parquet") };

pub const HTML: Feature =
    Feature { name: "html", what: "HTML extraction", is_built_in: cfg!(feature = "html") };

impl Feature {
    /// # Errors
    /// This binary was built without the feature: how to get it.
    pub fn require(&self) -> Result<(), Failure> {
        match self.is_built_in {
            true => Ok(()),
            false => Err(Failure::new(self.absent())),
        }
    }

    pub fn absent(&self) -> String {
        let Self { name, what, .. } = self;
        format!(
            "this akin was built without {what}: take a released package, or build it with \
             --features {name}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_feature_is_refused_by_name() {
        let absent = Feature { is_built_in: false, ..PARQUET };
        let Err(Failure::Reported { what, .. }) = absent.require() else { panic!("it is absent") };
        assert!(what.contains("without Parquet: "), "{what}");
        assert!(what.ends_with("--features parquet"), "{what}");
        assert!(Feature { is_built_in: true, ..HTML }.require().is_ok());
    }
}
