//! The atomic steps. Each touches keys of a single slot, and a node runs a script without
//! interruption. Each may be repeated: a client that lost its connection does not know whether the
//! reply or the request was lost.

use bytes::Bytes;

use super::command::Command;

/// A script. Nodes that have it know it by its SHA-1.
#[derive(Clone, Copy, Debug)]
pub struct Script {
    pub text: &'static str,
}

impl Script {
    /// The SHA-1 of its text, in hexadecimal digits.
    pub fn hash_of(&self) -> Bytes {
        let digest =
            ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, self.text.as_bytes());
        let digit = |half: u8| b"0123456789abcdef"[usize::from(half)];
        let digits = digest.as_ref().iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
        digits.collect()
    }

    /// All keys must be in the same slot.
    pub fn call(self, keys: Vec<Bytes>, arguments: Vec<Bytes>) -> Command {
        Command::script(self, keys, arguments)
    }
}

/// Adds a member to the entry of its set, and creates the entry if needed: what follows if a plain
/// `SET NX` of the entry finds an entry.
///
/// Atomic, so that the sets are compared, and that no member is added to an entry that is being
/// removed. A member that is in the entry already is left there: the call is repeated.
///
/// Returns 0 if the member is in the entry itself; 1 if the entry is being removed, so that the
/// caller must try again; 2 if a different set has the fingerprint; 3 if the member is among the
/// members.
///
/// Keys: entry, members, arriving, counters. Arguments: entry, member, where in the entry the
/// length of the first member is, 1 if other documents wait for this document, the number of keys
/// or nothing.
pub const FILE: Script = Script {
    text: r"
local function rest(entry)
  local at = tonumber(ARGV[3])
  local set = at + 1 + string.byte(entry, at)
  return string.sub(entry, at + 1, set - 1), string.sub(entry, set)
end
local entry = redis.call('GET', KEYS[1])
local first, set = rest(ARGV[1])
if entry then
  local state = string.byte(entry)
  if state == 68 then return 1 end
  local their_first, their_set = rest(entry)
  if their_set ~= set then return 2 end
  if state == 65 then
    if their_first == ARGV[2] then return 0 end
    redis.call('SETRANGE', KEYS[1], 0, 'M')
    redis.call('ZADD', KEYS[2], 0, their_first)
  end
else
  redis.call('SET', KEYS[1], ARGV[1])
  if ARGV[5] ~= '' then redis.call('HINCRBY', KEYS[4], 'p', ARGV[5]) end
  if first == ARGV[2] then return 0 end
end
local added = redis.call('ZADD', KEYS[2], 0, ARGV[2])
if entry and added == 1 then redis.call('HINCRBY', KEYS[4], 'c', 1) end
if ARGV[4] == '1' then redis.call('ZADD', KEYS[3], 'NX', 0, ARGV[2]) end
return 3",
};

/// Takes a member out of an entry, and begins to remove an entry without members.
///
/// Atomic, so that no process adds a member between the read of the members and the mark. The
/// command that frees memory comes first, see [`REMOVE`].
///
/// Returns the head of the entry, without members, if this call has marked it: the caller must then
/// remove its postings and call [`END`]. Only the call that marked an entry does so; a slow process
/// could otherwise remove postings that were written again since. The mark has the token of the
/// call, so that the call may be repeated.
///
/// Keys: entry, members, arriving, counters, queue. Arguments: member, where in the entry the
/// length of the first member is, now, fingerprint, token.
pub const UNFILE: Script = Script {
    text: r"
redis.call('ZREM', KEYS[3], ARGV[1])
local removed = redis.call('ZREM', KEYS[2], ARGV[1])
local entry = redis.call('GET', KEYS[1])
if not entry then return false end
local state = string.byte(entry)
local at = tonumber(ARGV[2])
local head = string.sub(entry, 1, at)
if state == 68 then return string.sub(entry, -8) == ARGV[5] and head end
if state == 65 then
  if string.sub(entry, at + 1, at + string.byte(entry, at)) ~= ARGV[1] then return false end
elseif redis.call('EXISTS', KEYS[2]) == 1 then
  if removed == 1 then redis.call('HINCRBY', KEYS[4], 'c', -1) end
  return false
end
redis.call('SETRANGE', KEYS[1], 0, 'D')
redis.call('APPEND', KEYS[1], ARGV[5])
redis.call('ZADD', KEYS[5], ARGV[3], 'E' .. ARGV[4])
return head",
};

/// Removes an entry after its postings. Until then no process indexes a set under its fingerprint.
///
/// Keys: entry, counters, queue. Arguments: fingerprint, the number of keys or nothing.
pub const END: Script = Script {
    text: r"
local entry = redis.call('GET', KEYS[1])
if entry and string.byte(entry) == 68 then
  redis.call('DEL', KEYS[1])
  if ARGV[2] ~= '' then redis.call('HINCRBY', KEYS[2], 'p', -tonumber(ARGV[2])) end
end
redis.call('ZREM', KEYS[3], 'E' .. ARGV[1])
return 0",
};

/// Puts a mark in the place of a lost entry, see [`super::scrub`].
///
/// Atomic, so that a mark is always noted. Returns 1 if this call has marked it.
///
/// Keys: entry, queue. Arguments: mark, now, fingerprint.
pub const MARK_LOST: Script = Script {
    text: r"
local entry = redis.call('GET', KEYS[1])
if entry then return entry == ARGV[1] and 1 or 0 end
redis.call('ZADD', KEYS[2], ARGV[2], 'E' .. ARGV[3])
redis.call('SET', KEYS[1], ARGV[1])
return 1",
};

/// Makes a pending version live in place of its predecessor, or with a time of expiry: what follows
/// if a plain `RENAMENX` is not enough.
///
/// Atomic, so that readers see either version, that the predecessor's remains are noted when no
/// other key names it any more, and that a version is never live with another version's expiry.
///
/// Returns 0 if it is not pending, 1 if `over` is not the live version, or 2 and the replaced
/// record.
///
/// Keys: document, pending, ids, expiries, queue. Arguments: id, expiry or nothing, now, over or
/// nothing.
pub const MAKE_LIVE: Script = Script {
    text: r"
if redis.call('EXISTS', KEYS[2]) == 0 then return {0, ''} end
local old = redis.call('GET', KEYS[1])
if ARGV[4] ~= '' then
  local expiry = redis.call('ZSCORE', KEYS[4], ARGV[1])
  if not old or string.sub(old, 2, 7) ~= ARGV[4] then return {1, ''} end
  if expiry and tonumber(expiry) <= tonumber(ARGV[3]) then return {1, ''} end
end
redis.call('RENAME', KEYS[2], KEYS[1])
if ARGV[2] ~= '' then
  redis.call('ZADD', KEYS[4], ARGV[2], ARGV[1])
elseif old then
  redis.call('ZREM', KEYS[4], ARGV[1])
end
redis.call('ZADD', KEYS[3], 0, ARGV[1])
if not old then return {2, ''} end
redis.call('ZADD', KEYS[5], ARGV[3], 'R' .. string.sub(old, 2, 15) .. ARGV[1])
return {2, old}",
};

/// Lists an id if it has a live version, and else no longer.
///
/// Atomic, so that the id of a version that becomes live, or is removed, at the same time is not
/// left in the wrong state.
///
/// Keys: document, ids. Arguments: id.
pub const LIST_AGAIN: Script = Script {
    text: r"
if redis.call('EXISTS', KEYS[1]) == 1 then return redis.call('ZADD', KEYS[2], 0, ARGV[1]) end
return redis.call('ZREM', KEYS[2], ARGV[1])",
};

/// Removes a live version.
///
/// Atomic, so that only the version that was read is removed, and that its leftover is noted when
/// no other key names it any more. The commands that free memory come first: a node without memory
/// executes a script to its end if it has begun to write, and refuses a script that begins by
/// adding.
///
/// Returns the record, or nothing. The record is kept for a while under the key of the call, so
/// that the call may be repeated.
///
/// Keys: document, ids, expiries, queue, removed. Arguments: id, ordinal or nothing, now, `alive`
/// or `expired`, for how many milliseconds the record is kept.
pub const REMOVE: Script = Script {
    text: r"
local done = redis.call('GET', KEYS[5])
if done then return done end
local old = redis.call('GET', KEYS[1])
if not old then return false end
if ARGV[2] ~= '' and string.sub(old, 2, 7) ~= ARGV[2] then return false end
local expiry = redis.call('ZSCORE', KEYS[3], ARGV[1])
local expired = expiry and tonumber(expiry) <= tonumber(ARGV[3])
if ARGV[4] == 'alive' and expired then return false end
if ARGV[4] == 'expired' and not expired then return false end
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('ZADD', KEYS[4], ARGV[3], 'R' .. string.sub(old, 2, 15) .. ARGV[1])
redis.call('SET', KEYS[5], old, 'PX', ARGV[5])
return old",
};

/// Reads a page of the ids of a part, without the ids of documents that have expired.
///
/// Atomic, so that an expired document that is removed at the same time is not taken for a document
/// that does not expire.
///
/// Returns the number of ids that were read, the last of them or nothing, and the ids of documents
/// that have not expired.
///
/// Keys: ids, expiries. Arguments: where the page begins, how many ids, now.
pub const LIST: Script = Script {
    text: r"
local ids = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], '+', 'LIMIT', 0, ARGV[2])
local page = {#ids, ids[#ids] or ''}
for _, id in ipairs(ids) do
  local expiry = redis.call('ZSCORE', KEYS[2], id)
  if not expiry or tonumber(expiry) > tonumber(ARGV[3]) then page[#page + 1] = id end
end
return page",
};

/// Claims an item of a queue for the repair. Only a single process gets it, and no other process
/// until the item is as old again.
///
/// Returns 1 if the caller has it. Keys: queue. Arguments: leftover, the time before which it must
/// have been noted, now.
pub const CLAIM: Script = Script {
    text: r"
local since = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not since or tonumber(since) > tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])
return 1",
};

/// Takes numbers from a counter that is never behind the clock: no number is given twice even if a
/// failover has lost the last increments, as long as the nodes' clocks differ by less than the
/// failover took.
///
/// Returns the last of the numbers. Keys: counter. Arguments: how many, numbers for each second,
/// the second since the epoch at which they begin.
pub const TAKE: Script = Script {
    text: r"
local now = redis.call('TIME')
local by_clock = math.floor((now[1] - ARGV[3] + now[2] / 1000000) * ARGV[2])
local last = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), by_clock) + ARGV[1]
redis.call('SET', KEYS[1], string.format('%.0f', last))
return last",
};

/// Creates a collection, unless its name exists.
///
/// Returns 1 if it was created, and the collection of that name.
///
/// Keys: collections, changes, numbers. Arguments: name, its settings without the number.
pub const CREATE: Script = Script {
    text: r"
local there = redis.call('HGET', KEYS[1], ARGV[1])
if there then return {0, there} end
local number = redis.call('INCR', KEYS[3])
local made = number .. ' ' .. ARGV[2]
redis.call('HSET', KEYS[1], ARGV[1], made)
redis.call('INCR', KEYS[2])
return {1, made}",
};

/// Begins to replace a collection, unless that is being done.
///
/// Returns the number of the successor, or 0.
///
/// Keys: collections, numbers, replacing. Arguments: name, its stored description, now.
pub const BEGIN_REPLACING: Script = Script {
    text: r"
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
if redis.call('HEXISTS', KEYS[3], ARGV[1]) == 1 then return 0 end
local number = redis.call('INCR', KEYS[2])
redis.call('HSET', KEYS[3], ARGV[1], 'o ' .. ARGV[3] .. ' ' .. number)
return number",
};

/// Replaces a note.
///
/// Returns 1, or 0 if another note stands. Keys: replacing. Arguments: name, the old note, the new.
pub const NOTE_REPLACING: Script = Script {
    text: r"
local note = redis.call('HGET', KEYS[1], ARGV[1])
if note ~= ARGV[2] and note ~= ARGV[3] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1",
};

/// Gives the name of a collection to its successor.
///
/// Returns 1, or 0 if another note or another collection stands.
///
/// Keys: collections, changes, dropped, replacing. Arguments: name, the descriptions of the old and
/// of the new collection, the note, now.
pub const REPLACE: Script = Script {
    text: r"
local listed = redis.call('HGET', KEYS[1], ARGV[1])
if listed == ARGV[3] then return 1 end
if listed ~= ARGV[2] then return 0 end
if redis.call('HGET', KEYS[4], ARGV[1]) ~= ARGV[4] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('HDEL', KEYS[4], ARGV[1])
redis.call('ZADD', KEYS[3], ARGV[5], string.match(ARGV[2], '^%d+'))
redis.call('INCR', KEYS[2])
return 1",
};

/// Ends a replacement that has not given the name to the successor, which is dropped.
///
/// Keys: replacing, dropped. Arguments: name, the note, the successor's number, now.
pub const END_REPLACING: Script = Script {
    text: r"
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('ZADD', KEYS[2], ARGV[4], ARGV[3])
return 1",
};

/// Drops a collection, and notes its number and the time so that its keys are removed.
///
/// Keys: collections, changes, dropped. Arguments: name, its stored description, now.
pub const DROP: Script = Script {
    text: r"
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('ZADD', KEYS[3], ARGV[3], string.match(ARGV[2], '^%d+'))
redis.call('INCR', KEYS[2])
return 1",
};
