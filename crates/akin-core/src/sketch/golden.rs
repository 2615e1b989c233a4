//! Golden sketches. A change of one of these values makes the stored sketches of all collections
//! invalid.

use std::fmt::Write;

use super::*;

/// Method, bits, shingles in the set, and the sketch of 16 slots in hexadecimal. With three
/// shingles most bins are empty, with 200 none.
const GOLDEN: [(Method, u32, u64, &str); 12] = [
    (Method::Fast32, 8, 3, "0bc8ec6215f706f600d93f8b752975de"),
    (Method::Fast32, 8, 200, "d7dd499edc1746a5b74a540ea4a8d304"),
    (Method::Fast32, 16, 3, "0b8ec8c9ec6862051586f78506c6f6d9009fd9743f808bc575da29c87536def4"),
    (Method::Fast32, 16, 200, "d77fddb849499e81dc84178a46dba5b9b7a44abb546c0ed6a456a81ad33704bd"),
    (
        Method::Fast32,
        32,
        3,
        "0b8edcb6c8c96facec68895462052d74158691fff7858d3106c62b16f6d96793\
         009fa98bd9742ab03f805edb8bc5687c75da2ca029c8f2bd75360754def47d4b",
    ),
    (
        Method::Fast32,
        32,
        200,
        "d77f50b6ddb8e0f54949fc969e818a3fdc846147178a931446db9184a5b9f10f\
         b7a400eb4abb5412546c3d020ed61f60a45627a5a81a567bd337c99f04bdd93a",
    ),
    (Method::Permutations, 8, 3, "10a576d1037302b680945c52283e5254"),
    (Method::Permutations, 8, 200, "6f5f2d679dacd3aa0e747e1614a76d56"),
    (
        Method::Permutations,
        16,
        3,
        "1048a5c476b8d147031573fa0270b60480e194825cb5523528733e5e52ac546e",
    ),
    (
        Method::Permutations,
        16,
        200,
        "6fec5fea2d84678f9d9eac59d309aaba0efd74d67e4c16431469a75d6d735648",
    ),
    (
        Method::Permutations,
        32,
        3,
        "104858dfa5c4736f76b82fc0d14765f60315e47173fababe027017eeb604075e\
         80e1a241948224dd5cb5bce05235766b2873b8cb3e5e831a52ace82a546ef808",
    ),
    (
        Method::Permutations,
        32,
        200,
        "6fecb5775fea1b4c2d840b85678f55be9d9e6cd5ac59eb23d3098235aaba5329\
         0efdb4e674d6c6077e4ce6be1643f8ea14699dd5a75d629a6d7376ca564835b8",
    ),
];

#[test]
fn sketches() {
    for (method, bits, count, golden) in GOLDEN {
        let shingles = (1..=count).map(|n| n.wrapping_mul(0x9E37_79B1_85EB_CA87)).collect();
        let set = ShingleSet::from_shingles(shingles).unwrap();
        let settings = SketchSettings { slots: 16, bits, seed: Some(7), method };
        let sketch = Sketcher::new(settings).sketch(&set);
        let mut hex = String::new();
        for byte in sketch.as_bytes() {
            write!(hex, "{byte:02x}").unwrap();
        }
        assert_eq!(hex, golden, "{method:?}, {bits} bits, {count} shingles");
    }
}
