//! Which node has which slot.

use std::fmt;

use super::link::Link;
use super::reply::Reply;

pub const SLOTS: usize = 16_384;

/// Where a node listens.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    pub host: String,
    pub port: u16,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl Address {
    /// `host:port`. A node that does not know its own name leaves the host out: it means itself.
    pub fn parse(text: &str, itself: &Self) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        Self::of(host, port.parse().ok()?, itself)
    }

    fn of(host: &str, port: u16, itself: &Self) -> Option<Self> {
        let host = if host.is_empty() { &itself.host } else { host };
        (port != 0).then(|| Self { host: host.to_owned(), port })
    }
}

/// The slot of a key: of its hash tag, if it has one.
pub fn slot_of(key: &[u8]) -> u16 {
    let tag = memchr::memchr(b'{', key).and_then(|open| {
        let rest = &key[open + 1..];
        memchr::memchr(b'}', rest).filter(|length| *length > 0).map(|length| &rest[..length])
    });
    let crc = tag
        .unwrap_or(key)
        .iter()
        .fold(0_u16, |crc, byte| (crc << 8) ^ CRC16[usize::from((crc >> 8) as u8 ^ byte)]);
    crc % SLOTS as u16
}

/// CRC-16/XMODEM, by the leading byte.
const CRC16: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = ((byte as u16) << 8, 0);
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

/// The owner of every slot: a number in `nodes`.
#[derive(Clone)]
pub struct Slots {
    pub nodes: Vec<(Address, Link)>,
    owners: Box<[u16]>,
}

const NOBODY: u16 = u16::MAX;

impl Slots {
    /// From the reply to `CLUSTER SLOTS` by `node`. `link` gives the link to a node. `None` if no
    /// slot has an owner.
    pub fn read(
        reply: Reply,
        node: &Address,
        mut link: impl FnMut(&Address) -> Link,
    ) -> Option<Self> {
        let mut slots = Self { nodes: Vec::new(), owners: vec![NOBODY; SLOTS].into() };
        for range in reply.array() {
            let mut parts = range.array().into_iter();
            let mut number = || usize::try_from(parts.next()?.integer()?).ok();
            let (first, last) = (number()?, number()?);
            let mut master = parts.next()?.array().into_iter();
            let host = master.next()?.text().unwrap_or_default();
            let port = u16::try_from(master.next()?.integer()?).ok()?;
            let owner = slots.number_of(&Address::of(&host, port, node)?, &mut link)?;
            slots.owners.get_mut(first..=last)?.fill(owner);
        }
        (!slots.nodes.is_empty()).then_some(slots)
    }

    fn number_of(&mut self, address: &Address, link: impl FnOnce(&Address) -> Link) -> Option<u16> {
        let known = self.nodes.iter().position(|(known, _)| known == address);
        let number = known.unwrap_or_else(|| {
            self.nodes.push((address.clone(), link(address)));
            self.nodes.len() - 1
        });
        u16::try_from(number).ok().filter(|number| *number != NOBODY)
    }

    /// The number of a slot's owner.
    pub fn owner(&self, slot: u16) -> Option<usize> {
        let owner = *self.owners.get(usize::from(slot))?;
        (owner != NOBODY).then_some(usize::from(owner))
    }

    /// Notes that another node has a slot.
    pub fn move_slot(&mut self, slot: u16, to: &Address, link: impl FnOnce(&Address) -> Link) {
        let owner = self.number_of(to, link);
        if let (Some(owner), Some(place)) = (owner, self.owners.get_mut(usize::from(slot))) {
            *place = owner;
        }
    }

    /// The nodes with slots, in order.
    pub fn masters(&self) -> Vec<Address> {
        let mut has_slots = vec![false; self.nodes.len()];
        for owner in self.owners.iter().filter(|owner| **owner != NOBODY) {
            has_slots[usize::from(*owner)] = true;
        }
        let masters = self.nodes.iter().zip(has_slots).filter(|(_, has_slots)| *has_slots);
        let mut masters: Vec<_> = masters.map(|((address, _), _)| address.clone()).collect();
        masters.sort_unstable();
        masters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!(slot_of(b"123456789"), 0x31c3);
        assert_eq!(slot_of(b"foo{hash_tag}"), slot_of(b"hash_tag"));
        assert_eq!(slot_of(b"{user1000}.following"), slot_of(b"user1000"));
        assert_eq!(slot_of(b"foo{{bar}}zap"), slot_of(b"{bar"));
        assert_eq!(slot_of(b"foo{bar}{zap}"), slot_of(b"bar"));
        assert_ne!(slot_of(b"foo{}{bar}"), slot_of(b"bar"));
        assert_ne!(slot_of(b"foo{bar"), slot_of(b"bar"));
    }

    #[test]
    fn a_node_that_leaves_its_host_out_means_itself() {
        let itself = Address { host: "10.0.0.1".into(), port: 1 };
        let of = |text| Address::parse(text, &itself).map(|address| address.to_string());
        assert_eq!(of("10.0.0.2:6379").as_deref(), Some("10.0.0.2:6379"));
        assert_eq!(of(":6379").as_deref(), Some("10.0.0.1:6379"));
        assert_eq!(of("::1:6379").as_deref(), Some("::1:6379"));
        assert_eq!((of("10.0.0.2"), of("10.0.0.2:0"), of("10.0.0.2:x")), (None, None, None));
    }
}
