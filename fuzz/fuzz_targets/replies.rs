#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| akin::fuzzing::run("replies", input));
