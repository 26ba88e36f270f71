use proptest::prelude::*;

use super::*;
use crate::mention::text::folded;

fn is_worth(text: &str, value: &str) -> bool {
    let value = Decimal::parse(value).expect("a number");
    numerals(&folded(text)).iter().any(|numeral| numeral.is_worth(&value))
}

#[test]
fn numbers_are_read_as_people_write_them() {
    for (text, value) in [
        ("на 320000 рублей", "320000"),
        ("на 320 000 ₽", "320000"),
        ("на 320\u{a0}000", "320000"),
        ("320'000", "320000"),
        ("320,000", "320000"),
        ("320.000", "320000"),
        ("1,234,567.89", "1234567.89"),
        ("1.234.567,89", "1234567.89"),
        ("1 234 567,89", "1234567.89"),
        ("12,5", "12.5"),
        ("12.5%", "12.5"),
        ("99,90 ₽", "99.9"),
        ("1,500", "1500"),
        ("1,500", "1.5"),
        ("320 тысяч", "320000"),
        ("320 тыс.", "320000"),
        ("320 тыс.руб.", "320000"),
        ("320тыс", "320000"),
        ("320к", "320000"),
        ("320k", "320000"),
        ("320 k", "320000"),
        ("320 К.", "320000"),
        ("две тысячи и 5 тысячами", "5000"),
        ("5 thousand", "5000"),
        ("1,5 млн", "1500000"),
        ("1.05 млн", "1050000"),
        ("2 миллиона", "2000000"),
        ("3 mln", "3000000"),
        ("3 millions", "3000000"),
        ("2 млрд", "2000000000"),
        ("2 миллиарда", "2000000000"),
        ("2 bn", "2000000000"),
        ("2 billion", "2000000000"),
        ("2 млн 300 тыс", "2300000"),
        ("2 млн. 300 тыс. рублей", "2300000"),
        ("2 млн 300 тыс 500", "2300500"),
        ("2 тысячи 500", "2500"),
        ("1 млрд 2 млн", "1002000000"),
        ("$500", "500"),
        ("(41)", "41"),
        ("сделка №41", "41"),
        ("сделка #41.", "41"),
        ("41, 42 и 43", "42"),
        ("-500", "-500"),
        ("+500", "500"),
        ("150 000 000", "150000000"),
        ("счёт 40702810900000001234", "40702810900000001234"),
        ("на 3 дня", "3"),
        ("на 30 минут", "30"),
        ("５０００", "5000"),
        ("к 12.05.2026 100 000 рублей", "100000"),
        ("320 тысяч 15 мая", "320000"),
        ("в 2026", "2026"),
        ("0,5", "0.5"),
    ] {
        assert!(is_worth(text, value), "{value} in {text}: {:?}", numerals(&folded(text)));
    }
}

#[test]
fn a_part_of_a_number_does_not_match() {
    for (text, value) in [
        ("320 тысяч", "320"),
        ("320 000", "320"),
        ("320 000", "0"),
        ("2 млн 300 тыс", "2000000"),
        ("2 млн 300 тыс", "300000"),
        ("2 млн 300 тыс", "300"),
        ("2 тысячи 500", "500"),
        ("12,5", "12"),
        ("12,5", "5"),
        ("1 234,56", "1234"),
        ("1,234.56", "1.234"),
        ("1 500", "1.5"),
        ("-500", "500"),
        ("500", "-500"),
        ("1500,000", "1500000"),
        ("0,500", "500"),
        (".5", "5"),
        ("10-15", "10"),
        ("10–15 тысяч", "15000"),
        ("1/2", "1"),
        ("1½", "1"),
        ("1.5.2", "1.5"),
        ("192.168.1.1", "192.168"),
    ] {
        assert!(!is_worth(text, value), "{value} in {text}: {:?}", numerals(&folded(text)));
    }
}

#[test]
fn digits_beside_letters_are_not_a_number() {
    for (text, value) in [
        ("формат А4", "4"),
        ("v2", "2"),
        ("5000р", "5000"),
        ("5 000р", "5"),
        ("5 000р", "5000"),
        ("INV-2024", "2024"),
        ("41-й", "41"),
        ("п.5", "5"),
        ("id:41", "41"),
        ("D_41", "41"),
        ("5кг", "5000"),
        ("5кг", "5"),
        ("a@41", "41"),
        ("41\u{200b}х", "41"),
    ] {
        assert!(!is_worth(text, value), "{value} in {text}");
    }
    assert!(is_worth("А4 500 листов", "500"));
}

#[test]
fn dates_times_and_phone_numbers_are_not_numbers() {
    for (text, value) in [
        ("до 15 мая", "15"),
        ("15 мая 2026", "2026"),
        ("15 мая 2026 года", "2026"),
        ("в 2026 году", "2026"),
        ("May 15, 2026", "15"),
        ("May 15, 2026", "2026"),
        ("on 15 May", "15"),
        ("с 5 по 12 мая", "5"),
        ("15 числа", "15"),
        ("12.05.2026", "12"),
        ("12.05.2026", "2026"),
        ("12.05", "12.05"),
        ("2026-05-12", "2026"),
        ("12/05/26", "12"),
        ("в 15:30", "15"),
        ("в 15.30", "15.3"),
        ("в 15 часов", "15"),
        ("в 15 часов 30 минут", "30"),
        ("в 3 дня", "3"),
        ("9 утра", "9"),
        ("at 5 pm", "5"),
        ("at 5 p.m.", "5"),
        ("5 o'clock", "5"),
        ("8 800 555 35 35", "8800555"),
        ("8 800 555 35 35", "35"),
        ("8 (495) 123-45-67", "8"),
        ("8 (495) 123-45-67", "495"),
        ("+7 916 123 45 67", "7916123"),
        ("+79161234567", "79161234567"),
        ("123-45-67", "123"),
        ("123 45 67", "123"),
        ("495 123 4567", "495123"),
    ] {
        assert!(!is_worth(text, value), "{value} in {text}: {:?}", numerals(&folded(text)));
    }
}

#[test]
fn an_ambiguous_numeral_does_not_match() {
    assert!(!is_worth("перенеси на 5 к Ольге", "5000"));
    assert!(!is_worth("перенеси на 5 к Ольге", "5"));
}

#[test]
fn the_word_before_a_number_is_found_past_blanks_and_signs() {
    for (text, word) in
        [("сделку 41", "сделку"), ("сделка №41", "сделка"), ("deal #41", "deal"), ("41", ""), ("a, 41", "")]
    {
        let text = folded(text);
        let start = text.find("41").unwrap();
        assert_eq!(word_before(&text, start), word, "{text}");
    }
}

/// The end of a telephone number, looked for anew at every position.
fn naive_phone_end(text: &str, start: usize, lexeme: &Lexeme<'_>, is_number: bool) -> Option<usize> {
    let has_plus = text[..start].trim_end_matches('(').ends_with('+');
    let (mut lengths, mut only_blanks, mut from) = (Vec::new(), true, start);
    let end = loop {
        let atom = atom_at(text, from);
        if calendar::is_date(&atom.groups, &atom.signs) || calendar::is_time(&atom.groups, &atom.signs) {
            break text[..from].trim_end_matches([' ', '-', '.', '/', '(', ')']).len();
        }
        let end = end_of_digits(text, from);
        lengths.push(end - from);
        let rest = &text[end..];
        let digits = rest.trim_start_matches([' ', '-', '‐', '–', '.', '/', '(', ')']);
        let signs = &rest[..rest.len() - digits.len()];
        if signs.is_empty() || signs.chars().count() > 3 || !digits.starts_with(|next: char| next.is_ascii_digit()) {
            break end;
        }
        only_blanks &= signs == " ";
        from = text.len() - digits.len();
    };
    let count: usize = lengths.iter().sum();
    let is_list = only_blanks && (count > 15 || lengths.iter().any(|length| *length > 4));
    let in_groups = lengths == [3, 2, 2] || (lengths.len() > 1 && count >= 9 && !is_list);
    let is_whole_number = is_number && end <= lexeme.end;
    ((has_plus && count >= 7) || (in_groups && !is_whole_number)).then_some(end)
}

#[test]
fn a_long_list_of_digits_is_scanned_once() {
    // Twice as many groups took four times as long: this would take hours.
    for group in ["1 ", "12.", "1-", "1 000 ", "+7 "] {
        assert!(!numerals(&folded(&group.repeat(400_000 / group.len()))).is_empty(), "{group}");
    }
}

proptest! {
    #[test]
    fn a_run_of_digits_gives_the_same_telephone_numbers_as_a_new_scan(text in "[+(]{0,2}([0-9]{1,5}[ ./:–()-]{0,4}){0,12}") {
        let mut run = DigitRun::default();
        let is_start = |at: &usize| !text[..*at].ends_with(|before: char| before.is_ascii_digit());
        let digits = text.char_indices().filter(|(_, letter)| letter.is_ascii_digit()).map(|(at, _)| at);
        for start in digits.filter(is_start) {
            let lexeme = lexeme_at(&text, start);
            for is_number in [false, true] {
                let found = phone_end(&text, start, &mut run, &lexeme, is_number);
                prop_assert_eq!(found, naive_phone_end(&text, start, &lexeme, is_number), "{} at {}", text, start);
            }
        }
    }

    #[test]
    fn numerals_are_ordered_and_cover_every_digit(text in "[0-9a-zа-я .,'/:+()–-]{0,40}") {
        let text = folded(&text);
        let found = numerals(&text);
        prop_assert!(found.windows(2).all(|pair| pair[0].end <= pair[1].start));
        for (at, _) in text.char_indices().filter(|(_, letter)| letter.is_ascii_digit()) {
            prop_assert!(found.iter().any(|numeral| numeral.start <= at && at < numeral.end));
        }
    }

    #[test]
    fn a_number_is_found_by_its_value_in_every_form_and_not_by_its_parts(value in 1_000_u32..999_999_999) {
        let (plain, text) = (value.to_string(), format!("на {value} рублей"));
        prop_assert!(is_worth(&text, &plain));
        for sign in [" ", "'", ",", "."] {
            let digits: Vec<char> = plain.chars().rev().collect();
            let groups: Vec<String> = digits.chunks(3).map(|three| three.iter().rev().collect()).rev().collect();
            let grouped = format!("на {} рублей", groups.join(sign));
            prop_assert!(is_worth(&grouped, &plain), "{}", grouped);
            prop_assert!(!is_worth(&grouped, &groups[0]), "{}", grouped);
        }
        prop_assert!(!is_worth(&text, &plain[..plain.len() - 1]));
        let (touched, thousands) = (format!("на {value}руб"), format!("на {value} тыс"));
        prop_assert!(!is_worth(&touched, &plain));
        prop_assert!(!is_worth(&thousands, &plain));
    }
}
