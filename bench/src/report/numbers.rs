//! Figures as one reads them.

/// Three digits that count, thousands apart.
pub fn short(figure: f64) -> String {
    if figure == 0.0 {
        return "0".to_owned();
    }
    let digits_before = figure.abs().log10().floor() as i32 + 1;
    let decimals = (3 - digits_before).max(0) as usize;
    if decimals > 0 {
        return format!("{figure:.decimals$}");
    }
    let unit = 10_f64.powi(digits_before - 3);
    thousands(((figure / unit).round() * unit).round() as u64)
}

/// All digits, thousands apart.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut apart = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            apart.push(',');
        }
        apart.push(digit);
    }
    apart
}

/// Recall and precision: where they are near 1 the fourth digit still tells.
pub fn share(figure: f64) -> String {
    format!("{figure:.4}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_count() {
        let shown = [0.0123, 1.0, 17.25, 999.9, 1_234.0, 56_789.0, 1_999_999.0].map(short);
        assert_eq!(shown, ["0.0123", "1.00", "17.2", "1,000", "1,230", "56,800", "2,000,000"]);
    }
}
