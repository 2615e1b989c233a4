use super::*;

const LONG: usize = 1_000;

/// Passages of a corpus with changed words are found as often as predicted.
#[test]
fn edited_passages_are_found_as_often_as_predicted() {
    let settings = PassageSettings::default();
    let index = PassageIndex::new(settings);
    let mut random = Numbers(3);
    let texts: Vec<Vec<u32>> = (0..200)
        .map(|_| (0..LONG).map(|_| (50_000_f64.powf(share(&mut random)) * 20.0) as u32).collect())
        .collect();
    for (id, words) in texts.iter().enumerate() {
        index.insert(id, &text(words)).unwrap();
    }
    let limits = PassageLimits { words_min: Some(6), ..PassageLimits::default() };
    for kept in [1.0, 0.95, 0.9, 0.8] {
        for words in [13, 20, 32, 50, 100, 200] {
            let mut found = 0;
            for _ in 0..500 {
                let id = random.below(texts.len());
                let from = random.below(LONG - words);
                let mut probe: Vec<u32> =
                    (0..30).map(|_| 2_000_000 + random.below(1_000_000) as u32).collect();
                let copied = texts[id][from..from + words].iter();
                probe.extend(copied.map(|word| match share(&mut random) < kept {
                    true => *word,
                    false => 3_000_000 + random.below(1_000_000) as u32,
                }));
                let result = index.query_within(&text(&probe), limits).unwrap();
                found += usize::from(result.matches.iter().any(|it| it.id == id));
            }
            let (found, predicted) = (found as f64 / 500.0, settings.chance(words, kept));
            println!("{words} words, kept {kept}: found {found:.2}, predicted {predicted:.2}");
            // Four standard deviations of 500 trials.
            let deviation = (predicted * (1.0 - predicted) / 500.0).sqrt();
            assert!((found - predicted).abs() <= 4.0 * deviation + 0.02, "{words} at {kept}");
        }
    }
}

/// A number from 0 to 1.
fn share(random: &mut Numbers) -> f64 {
    (random.next() >> 11) as f64 / (1_u64 << 53) as f64
}
