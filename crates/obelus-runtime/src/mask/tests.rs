use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::Secret;

#[test]
fn phone_numbers_as_people_write_them() {
    for phone in [
        "+79161234567",
        "+7 916 123-45-67",
        "+7 (916) 123-45-67",
        "+7(495)1234567",
        "8 916 123 45 67",
        "8(916)123-45-67",
        "8-800-555-35-35",
        "8 (49622) 1-23-45",
        "89161234567",
        "79161234567",
        "8916 123-45-67",
        "(495) 123-45-67",
        "916 123-45-67",
        "123-45-67",
        "+1 (212) 555-0199",
        "212-555-0199",
        "1-800-555-0199",
        "+44 20 7946 0958",
        "+34 612 345 678",
        "+375 29 123-45-67",
        "+998901234567",
        "+49.30.123456",
        "0049 30 123456",
        "+7\u{a0}916\u{a0}123\u{2011}45\u{2011}67",
    ] {
        assert_eq!(masked(phone), PHONE, "{phone}");
        assert_eq!(masked(&format!("Звонить {phone}, после 10")), format!("Звонить {PHONE}, после 10"), "{phone}");
        assert_eq!(masked(&format!("tel:{phone}")), format!("tel:{PHONE}"));
    }
}

#[test]
fn amounts_dates_times_and_ids_stay() {
    for text in [
        "100000",
        "100 000 ₽",
        "1 500 000",
        "1 500 000,50",
        "12 345 678 901",
        "+100 000",
        "+1 500 000",
        "89 161 234 567",
        "7 450 000 1 200",
        "1000000.00",
        "2024-05-01T10:05:00Z",
        "2024-05-01",
        "01.05.2024 10:15",
        "1.05.2024",
        "12-05-2024",
        "10:15:30",
        "сделка 123456789",
        "ИНН 7707083893",
        "ИНН 770708389312",
        "№ 89161234567x",
        "#89161234567",
        "№79161234567",
        "1768467600000",
        "1768467600",
        "550e8400-e29b-41d4-a716-446655440000",
        "deal_89161234567",
        "C1:NEW",
        "192.168.100.200",
        "v1.2.3",
        "4-6-2024",
        "0.89161234567",
        "a1b2c3d4e5f6",
        "40702810900000012345",
        "5 000 000 / 10 000 000",
    ] {
        assert_eq!(masked(text), text);
    }
    assert_eq!(
        masked_value(&json!({"ID": 123_456, "OPPORTUNITY": 1_000_000.5})),
        json!({"ID": 123_456, "OPPORTUNITY": 1_000_000.5})
    );
}

#[test]
fn several_numbers_in_one_text_are_all_masked() {
    assert_eq!(masked("89161234567, 8 916 765-43-21; счёт 100 000"), "[phone], [phone]; счёт 100 000");
    assert_eq!(masked("wa.me/79161234567"), "wa.me/[phone]");
    assert_eq!(masked("Сделка 12: +79161234567"), "Сделка 12: [phone]");
    assert_eq!(masked("\"89161234567\""), "\"[phone]\"");
}

#[test]
fn e_mail_addresses_in_any_alphabet() {
    for (text, expected) in [
        ("ivan.petrov+crm@example.test", EMAIL),
        ("<ivan@example.test>", "<[email]>"),
        ("Иван (иван@почта.рф), да", "Иван ([email]), да"),
        ("mailto:a@xn--e1afmkfd.xn--p1ai?subject=x", "mailto:[email]?subject=x"),
        ("https://x.test/?to=ivan%40example.test&a=1", "https://x.test/?to=[email]&a=1"),
        ("Пишите на a_b@mail.example.test.", "Пишите на [email]."),
        ("a@b.cc,c@d.ee", "[email],[email]"),
        ("ivan＠example.test", EMAIL),
    ] {
        assert_eq!(masked(text), expected);
    }
    for text in ["@ivan", "a @ b", "user@host", "50%", "x@1.2", "@", "a@.b", "q1@", "me@-x.de"] {
        assert_eq!(masked(text), text);
    }
}

#[test]
fn the_name_of_a_field_decides_how_its_numbers_are_masked() {
    let card = json!({
        "ID": "12", "PHONE": [{"ID": "5001", "VALUE": "1234567", "VALUE_TYPE": "WORK"}, {"VALUE": 4_951_234_567_u64}],
        "workPhone": "12-34-56", "PERSONAL_MOBILE": 9_161_234_567_u64, "PHONE_ID": "1234567",
        "EMAIL": [{"VALUE": "a@b.cc"}], "TELEGRAM": "1234567", "other": 79_161_234_567_u64, "7 916 123-45-67": 1,
    });
    let expected = json!({
        "ID": "12", "PHONE": [{"ID": "5001", "VALUE": PHONE, "VALUE_TYPE": "WORK"}, {"VALUE": PHONE}],
        "workPhone": PHONE, "PERSONAL_MOBILE": PHONE, "PHONE_ID": "1234567",
        "EMAIL": [{"VALUE": EMAIL}], "TELEGRAM": "1234567", "other": PHONE, "[phone]": 1,
    });
    assert_eq!(masked_value(&card), expected);
}

#[test]
fn a_secret_is_masked_everywhere() {
    let webhook = Secret::new("https://portal.example.test/rest/1/q7w8e9r0t1y2u3i4/");
    let call = format!("{}crm.deal.list.json failed", webhook.expose());
    assert_eq!(masked(&call), "***/crm.deal.list.json failed");
    assert_eq!(masked("the token q7w8e9r0t1y2u3i4 was refused"), "the token *** was refused");
    let key = Secret::new("sk-0a1b2c3d4e5f");
    assert_eq!(masked_value(&json!({"a": [key.expose()], key.expose(): 1})), json!({"a": ["***"], "***": 1}));
    assert_eq!(masked(&format!("{}9", key.expose())), "***9");
}

/// A number and its written form.
fn phone() -> impl Strategy<Value = (String, String)> {
    let digits = proptest::collection::vec(0..10_u8, 9);
    (prop::sample::select(vec!['9', '4', '3', '8']), digits, 0..9_usize).prop_map(|(first, rest, form)| {
        let d: String = std::iter::once(first).chain(rest.into_iter().map(|d| char::from(b'0' + d))).collect();
        let (a, b, c, e) = (&d[..3], &d[3..6], &d[6..8], &d[8..]);
        let written = match form {
            0 => format!("+7{d}"),
            1 => format!("8{d}"),
            2 => format!("7{d}"),
            3 => format!("+7 ({a}) {b}-{c}-{e}"),
            4 => format!("8 {a} {b} {c} {e}"),
            5 => format!("8-{a}-{b}-{c}-{e}"),
            6 => format!("8({a}){b}{c}{e}"),
            7 => format!("({a}) {b}-{c}-{e}"),
            _ => format!("{a} {b}-{c}-{e}"),
        };
        (written, d)
    })
}

/// Text around a number or address in a sentence.
fn around() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["", " ", "Звонить ", "тел. ", ": ", "\n", "«", "(", "«Рога и копыта», ", "; "])
        .prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(crate::mask::tests::cases())]

    #[test]
    fn no_phone_number_survives((written, digits) in phone(), before in around(), after in around()) {
        let text = format!("{before}{written}{after}");
        let masked = masked(&text).into_owned();
        // A bracket before the number belongs to it.
        let expected = format!("{before}{PHONE}{after}");
        prop_assert_eq!(masked.replace('(', ""), expected.replace('(', ""), "{}", text);
        let left: String = masked.chars().filter(char::is_ascii_digit).collect();
        prop_assert!(!left.contains(&digits));
    }

    #[test]
    fn no_address_survives(local in "[a-zа-я0-9]{1,8}([._+-][a-zа-я0-9]{1,5})?", domain in "[a-zа-я0-9]{1,8}(-[a-z0-9]{1,3})?\\.(test|рф|com|xn--p1ai)", before in around(), after in around()) {
        let after = after.trim_start_matches(char::is_alphabetic);
        let text = format!("{before}{local}@{domain}{after}");
        prop_assert_eq!(masked(&text).into_owned(), format!("{}{}{}", before, EMAIL, after), "{}", text);
    }

    #[test]
    fn amounts_stay(amount in 0..10_000_000_000_u64, sign in prop::sample::select(vec!["", "-", "на "]), unit in prop::sample::select(vec!["", " ₽", " руб.", ".00", ",50"])) {
        let digits = amount.to_string();
        let mut grouped = String::new();
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                grouped.push(' ');
            }
            grouped.push(digit);
        }
        for form in [&digits, &grouped] {
            let text = format!("{sign}{form}{unit}");
            prop_assert_eq!(masked(&text).into_owned(), text);
        }
    }

    #[test]
    fn dates_and_times_stay(y in 1990..2100_u32, m in 1..13_u32, d in 1..29_u32, h in 0..24_u32, s in 0..60_u32) {
        for text in [
            format!("{y}-{m:02}-{d:02}T{h:02}:{s:02}:00+03:00"),
            format!("{y}-{m:02}-{d:02} {h:02}:{s:02}:00"),
            format!("{d:02}.{m:02}.{y} {h:02}:{s:02}"),
            format!("{d}.{m}.{y}"),
            format!("{d:02}/{m:02}/{y}"),
            format!("{m:02}-{d:02}-{y}"),
        ] {
            prop_assert_eq!(masked(&text).into_owned(), text);
        }
    }

    #[test]
    fn masking_is_idempotent_for_any_text(text in "\\PC{0,60}") {
        let once = masked(&text).into_owned();
        prop_assert_eq!(masked(&once).into_owned(), once.clone());
    }

    #[test]
    fn texts_of_digits_and_signs_do_not_panic(text in "[-+0-9() .@a\u{a0}–]{0,40}") {
        let once = masked(&text).into_owned();
        prop_assert_eq!(masked(&once).into_owned(), once.clone());
    }
}

/// The time must be linear in the length: quadratic time would take days.
#[test]
fn long_texts_of_numbers_and_signs_are_masked() {
    for part in ["1 ", "12-", "+7 ", "(", "8 9", "a@", "a.", "@", "a@b.", " "] {
        let text = part.repeat(100_000);
        assert!(!masked(&text).is_empty(), "{part}");
    }
    let list = "8 916 123-45-67 ".repeat(20_000);
    assert_eq!(masked(&list), format!("{PHONE} ").repeat(20_000));
}

fn cases() -> ProptestConfig {
    let mut config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 500;
    }
    config
}
