//! Hashes as clients see them. If the seed is secret, they are hashed again with a one-way
//! function: from the plain hashes and their documents the seed could be computed, as each
//! shingle's hash, and the fingerprint of a set with a single element, are made by reversible
//! steps. Within a collection, equal hashes are still shown as equal.

use ring::digest::{SHA256, digest};

use super::CollectionSettings;

/// The kind of the number, so that equal numbers of two kinds are shown as different numbers. Slots
/// have the kinds above.
const HASH: u32 = 0;

/// The secret seed of a collection, if there is any.
#[derive(Clone, Copy)]
pub struct Mask(Option<u64>);

impl Mask {
    /// The mask of a collection that was made with `settings` and got the seed of `seeded`.
    pub(super) fn new(settings: &CollectionSettings, seeded: &CollectionSettings) -> Self {
        match settings.sketch.seed {
            Some(_) => Self(None),
            None => Self(seeded.sketch.seed),
        }
    }

    /// A shingle's hash or a fingerprint.
    #[must_use]
    pub fn hash(self, hash: u64) -> u64 {
        u64::from_le_bytes(self.bytes(HASH, hash.to_le_bytes()))
    }

    /// The slots of a sketch. Agreeing slots still agree, and other slots agree by accident as
    /// often as before, so sketches can be compared with each other.
    #[must_use]
    pub fn sketch(self, sketch: &[u8], slot_bytes: usize) -> Vec<u8> {
        let slot = |(slot, kind): (&[u8], u32)| {
            let mut value = [0; 8];
            value[..slot_bytes].copy_from_slice(slot);
            self.bytes(kind, value).into_iter().take(slot_bytes)
        };
        sketch.chunks_exact(slot_bytes).zip(HASH + 1..).flat_map(slot).collect()
    }

    fn bytes(self, kind: u32, value: [u8; 8]) -> [u8; 8] {
        let Some(secret) = self.0 else { return value };
        let hashed = [&secret.to_le_bytes()[..], &kind.to_le_bytes(), &value].concat();
        let digest = digest(&SHA256, &hashed);
        *digest.as_ref().first_chunk().expect("a SHA-256 has 32 bytes")
    }
}
