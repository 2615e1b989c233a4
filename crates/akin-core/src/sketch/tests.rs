use super::mix::SplitMix;
use super::*;

const METHODS: [Method; 2] = [Method::Fast32, Method::Permutations];

fn settings(method: Method, slots: u32, bits: u32) -> SketchSettings {
    SketchSettings { slots, bits, seed: Some(0), method }
}

/// The number of elements that two sets share, and the numbers of elements that only one set has.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    shared: u64,
    only_a: u64,
    only_b: u64,
}

impl Sizes {
    fn resemblance(self) -> f64 {
        self.shared as f64 / self.union() as f64
    }

    fn union(self) -> u64 {
        self.shared + self.only_a + self.only_b
    }

    /// Two sets of random elements with these counts, generated in ascending order because sorting
    /// is slow.
    fn pair(self, random: &mut SplitMix, element_of: fn(u64) -> u64) -> (ShingleSet, ShingleSet) {
        let mut left = self;
        let (mut a, mut b) = (Vec::new(), Vec::new());
        let mut element = 0;
        while left.union() > 0 {
            element += random.next() % (u64::MAX / self.union());
            let draw = random.next() % left.union();
            if draw < left.shared {
                left.shared -= 1;
                a.push(element_of(element));
                b.push(element_of(element));
            } else if draw < left.shared + left.only_a {
                left.only_a -= 1;
                a.push(element_of(element));
            } else {
                left.only_b -= 1;
                b.push(element_of(element));
            }
        }
        (ShingleSet::from_ascending(a).unwrap(), ShingleSet::from_ascending(b).unwrap())
    }
}

const fn sizes(shared: u64, only_a: u64, only_b: u64) -> Sizes {
    Sizes { shared, only_a, only_b }
}

/// Sets from 1 element to thousands, of equal size and nested, with resemblances from 0 to 0.95.
const SIZES: [Sizes; 16] = [
    sizes(0, 1, 1),
    sizes(1, 0, 1),
    sizes(1, 1, 1),
    sizes(4, 0, 1),
    sizes(1, 10, 9),
    sizes(10, 5, 5),
    sizes(20, 0, 80),
    sizes(60, 20, 20),
    sizes(95, 5, 0),
    sizes(80, 10, 10),
    sizes(200, 100, 100),
    sizes(400, 50, 50),
    sizes(600, 0, 400),
    sizes(100, 950, 950),
    sizes(1800, 100, 100),
    sizes(5400, 300, 300),
];

fn as_it_is(element: u64) -> u64 {
    element
}

/// The share of agreeing slots is unbiased, and its error is at most that of independent slots.
///
/// A mean of `trials` may be off by 4 of its standard errors; a standard error measured by `trials`
/// is itself uncertain by 1/√(2·trials), and 10 % is at least three times that.
fn assert_unbiased(
    settings: &SketchSettings,
    sizes: Sizes,
    trials: u32,
    element_of: fn(u64) -> u64,
) {
    let mut random = SplitMix::new(sizes.union());
    let sketcher = Sketcher::new(settings.clone());
    let estimator = Estimator::new(settings);
    let accidents = (-f64::from(settings.bits)).exp2();
    let expected = sizes.resemblance() * (1.0 - accidents) + accidents;
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..trials {
        let (a, b) = sizes.pair(&mut random, element_of);
        let (a, b) = (sketcher.sketch(&a), sketcher.sketch(&b));
        let agreeing = estimator.agreeing(a.as_bytes(), b.as_bytes());
        let error = f64::from(agreeing) / f64::from(settings.slots) - expected;
        sum += error;
        squares += error * error;
    }
    let trials = f64::from(trials);
    let (bias, error) = (sum / trials, (squares / trials).sqrt());
    let independent = (expected * (1.0 - expected) / f64::from(settings.slots)).sqrt();
    let what = format!("{settings:?}, {sizes:?}: bias {bias}, error {error} for {independent}");
    assert!(bias.abs() <= 4.0 * independent / trials.sqrt(), "{what}");
    assert!(error <= 1.1 * independent, "{what}");
}

#[test]
fn fast_sketches_are_unbiased_at_every_size() {
    for sizes in SIZES {
        assert_unbiased(&settings(Method::Fast32, 128, 8), sizes, 600, as_it_is);
        assert_unbiased(&settings(Method::Fast32, 64, 8), sizes, 600, as_it_is);
    }
}

#[test]
fn wide_slots_are_unbiased() {
    for (bits, sizes) in [(16, sizes(20, 10, 10)), (32, sizes(20, 10, 10)), (16, sizes(3, 0, 3))] {
        for method in METHODS {
            assert_unbiased(&settings(method, 128, bits), sizes, 600, as_it_is);
        }
    }
}

#[test]
fn permutations_are_unbiased() {
    for sizes in SIZES.into_iter().filter(|sizes| sizes.union() <= 100) {
        assert_unbiased(&settings(Method::Permutations, 128, 8), sizes, 600, as_it_is);
    }
    for sizes in [sizes(800, 100, 100), sizes(50, 475, 475)] {
        assert_unbiased(&settings(Method::Permutations, 16, 16), sizes, 600, as_it_is);
    }
}

#[test]
fn shingles_with_equal_bits_do_no_harm() {
    for sizes in [sizes(1, 0, 1), sizes(10, 5, 5), sizes(20, 0, 80), sizes(400, 50, 50)] {
        let fast = settings(Method::Fast32, 128, 8);
        assert_unbiased(&fast, sizes, 500, |it| it & !0xffff);
        assert_unbiased(&fast, sizes, 500, |it| it >> 16);
        assert_unbiased(&fast, sizes, 500, |it| it / 1000 * 1000);
    }
}

/// Short and long documents, from unlike to nearly equal; some of them so nearly that most sketches
/// agree in every slot.
const COVERED_SIZES: [Sizes; 12] = [
    sizes(0, 3, 4),
    sizes(1, 10, 9),
    sizes(3, 1, 1),
    sizes(10, 5, 5),
    sizes(40, 1, 0),
    sizes(80, 10, 10),
    sizes(200, 1900, 1900),
    sizes(600, 0, 400),
    sizes(1000, 500, 500),
    sizes(1900, 50, 50),
    sizes(2496, 2, 1),
    sizes(3997, 1, 2),
];

/// The number of pairs, of `trials`, with an exact value in the interval of their estimate.
fn covered(settings: &SketchSettings, sizes: Sizes, trials: u32) -> u32 {
    let (sketcher, estimator) = (Sketcher::new(settings.clone()), Estimator::new(settings));
    let mut random = SplitMix::new(sizes.union() ^ 5);
    let is_covered = |_: &u32| {
        let (a, b) = sizes.pair(&mut random, as_it_is);
        let [a, b] = [a, b].map(|set| match settings.method {
            // Clients compute the same as k permutations.
            Method::Foreign => sketcher.sketch_minima(&signature(settings.slots, &set)),
            _ => sketcher.sketch(&set),
        });
        let agreeing = estimator.agreeing(a.as_bytes(), b.as_bytes());
        let (low, high) = estimator.estimate(agreeing).interval;
        (low..=high).contains(&sizes.resemblance())
    };
    (0..trials).filter(is_covered).count() as u32
}

/// The minimum of each of `slots` hash functions over the set.
fn signature(slots: u32, set: &ShingleSet) -> Vec<u64> {
    let minimum = |slot: u32| {
        let hashes = set.as_slice().iter().map(|it| SplitMix::new(it ^ u64::from(slot)).next());
        hashes.min().unwrap()
    };
    (0..slots).map(minimum).collect()
}

#[test]
fn the_interval_covers_the_resemblance_at_every_method() {
    const TRIALS: u32 = 300;
    let methods = [Method::Fast32, Method::Permutations, Method::Foreign];
    for method in methods {
        for bits in [8, 16, 32] {
            let settings = settings(method, 128, bits);
            let slow = matches!(method, Method::Permutations | Method::Foreign);
            let chosen = COVERED_SIZES.iter().filter(|sizes| !slow || sizes.union() <= 100);
            let covered: Vec<u32> =
                chosen.map(|sizes| covered(&settings, *sizes, TRIALS)).collect();
            let (sum, trials) = (covered.iter().sum::<u32>(), TRIALS * covered.len() as u32);
            assert!(sum * 100 >= trials * 93, "{settings:?}: {covered:?} of {TRIALS} each");
            // Three standard errors below 93 %.
            assert!(
                covered.iter().all(|it| it * 1000 >= TRIALS * 886),
                "{settings:?}: {covered:?}"
            );
        }
    }
}

#[test]
fn sketches_do_not_depend_on_order() {
    let mut random = SplitMix::new(9);
    for method in METHODS {
        let sketcher = Sketcher::new(settings(method, 64, 8));
        for count in [1, 2, 50, 300] {
            let mut shingles: Vec<u64> = (0..count).map(|_| random.next()).collect();
            let sketch = sketcher.sketch(&ShingleSet::from_shingles(shingles.clone()).unwrap());
            shingles.reverse();
            shingles.extend_from_within(..shingles.len() / 2);
            assert_eq!(sketcher.sketch_shingles(&shingles), sketch);
            let again = sketcher.sketch(&ShingleSet::from_shingles(shingles).unwrap());
            assert_eq!(sketch, again);
            assert_eq!(Sketch::from_bytes(sketch.as_bytes().into()), sketch);
        }
    }
}

#[test]
fn fewer_bits_are_the_low_bytes_of_more() {
    let set = ShingleSet::from_shingles((0..40).map(|n| n * n).collect()).unwrap();
    for method in METHODS {
        let [bytes8, bytes16, bytes32] = [8, 16, 32].map(|bits| {
            let settings = settings(method, 20, bits);
            let sketch = Sketcher::new(settings.clone()).sketch(&set);
            assert_eq!(sketch.as_bytes().len(), settings.sketch_bytes());
            sketch.as_bytes().to_vec()
        });
        let low = |keep: usize| {
            let slots = bytes32.chunks(4);
            slots.flat_map(|slot| &slot[..keep]).copied().collect::<Vec<u8>>()
        };
        assert_eq!((bytes8, bytes16), (low(1), low(2)));
    }
}

#[test]
fn another_seed_makes_another_sketch() {
    let set = ShingleSet::from_shingles((0..100).collect()).unwrap();
    for method in METHODS {
        let [a, b] = [0, 1].map(|seed| {
            let settings = SketchSettings { seed: Some(seed), ..settings(method, 128, 16) };
            Sketcher::new(settings).sketch(&set)
        });
        let agreeing = Estimator::new(&settings(method, 128, 16));
        assert!(agreeing.agreeing(a.as_bytes(), b.as_bytes()) <= 1);
    }
}

#[test]
fn settings_name_their_faults() {
    for slots in [0, 12, 18, 1028] {
        let faults = settings(Method::Fast32, slots, 8).faults();
        assert_eq!(faults, [format!("slots must be a multiple of 4 from 16 to 1024, not {slots}")]);
    }
    let both = settings(Method::Fast32, 15, 12).faults();
    assert_eq!(both.len(), 2);
    assert_eq!(both[1], "bits must be 8, 16 or 32, not 12");
    assert!(settings(Method::Fast32, 16, 32).faults().is_empty());
    assert!(settings(Method::Fast32, 1024, 8).faults().is_empty());
}

#[test]
fn every_level_makes_the_same_sketches() {
    let mut random = SplitMix::new(11);
    for (method, slots, bits) in [
        (Method::Fast32, 128, 8),
        (Method::Fast32, 100, 16),
        (Method::Fast32, 1024, 32),
        (Method::Permutations, 36, 8),
    ] {
        let sketcher = Sketcher::new(settings(method, slots, bits));
        for count in [1, 9, 64, 200, 700, 3_000] {
            let shingles: Vec<u64> = (0..count).map(|_| random.next()).collect();
            for level in Level::available() {
                let sketch = sketcher.clone().with_level(level).sketch_shingles(&shingles);
                assert_eq!(sketch, sketcher.sketch_shingles(&shingles), "{level:?}, {count}");
            }
        }
    }
}
