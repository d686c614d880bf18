//! The limit on threads, in the program and in Python.

/// More would be a slip: results do not depend on the number.
const MOST: usize = 256;

/// The number of threads that text asks for.
///
/// # Errors
///
/// What would be accepted.
pub fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads) if (1..=MOST).contains(&threads) => Ok(threads),
        _ => Err(format!("it must be a number between 1 and {MOST}")),
    }
}

#[cfg(test)]
mod tests {
    use super::threads;

    #[test]
    fn numbers_from_1_to_256_are_taken() {
        assert_eq!((threads("1"), threads("256")), (Ok(1), Ok(256)));
        for wrong in ["0", "257", "-1", "2.0", "", "18446744073709551616", "many"] {
            assert_eq!(threads(wrong), Err("it must be a number between 1 and 256".into()), "{wrong}");
        }
    }
}
