use super::*;

fn scheme(threshold: f64, recall: f64) -> SchemeSettings {
    let threshold = Threshold::new(threshold).unwrap();
    SchemeSettings { threshold, recall, bands: None, rows: None }
}

fn plan_at(threshold: f64) -> ProbePlan {
    let bands = Bands::new(&SchemeSettings::default(), &SketchSettings::default());
    assert_eq!((bands.bands, bands.rows), (32, 4));
    bands.plan(Threshold::new(threshold).unwrap())
}

#[test]
fn figures() {
    for t in [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.2] {
        println!("{t} {:?}", plan_at(t));
    }
    for t in [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.3, 0.2, 0.05] {
        let b = Bands::new(&scheme(t, 0.99), &SketchSettings::default());
        println!("{t} {} {}", b.bands, b.rows);
    }
}
