use super::*;

#[test]
fn this_machine_has_a_level() {
    let levels = Level::available();
    assert_eq!(levels[0], Level(Instructions::Portable));
    assert_eq!(Level::best(), *levels.last().unwrap());
}
