#![no_main]

// By its own name and not from the table, so that nothing else is linked and looked at.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    collegial_fuzz::plan(bytes);
});
