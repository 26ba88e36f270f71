use super::*;
use crate::mention::text::folded;

fn found(text: &str) -> Vec<String> {
    let name = |address| match address {
        Address::Words(words) => words,
        Address::Number(number) => format!("#{number}"),
    };
    addresses(&folded(text)).into_iter().map(name).collect()
}

#[test]
fn addresses_are_found_in_the_form_in_which_they_are_compared() {
    for (text, expected) in [
        ("Сайт: https://shop.example.test.", "shop.example.test"),
        ("Сайт (http://Shop.example.test/)", "shop.example.test"),
        ("ftp://files.example.test/a", "ftp://files.example.test/a"),
        ("[сюда](https://evil.test/?q=1)", "evil.test/?q=1"),
        ("www.evil.test", "www.evil.test"),
        ("https://shop.example.test(@evil.test", "shop.example.test(@evil.test"),
        ("https://a.test,https://b.test", "a.test,https://b.test"),
        ("«https://shop.example.test/a»", "shop.example.test/a"),
        ("evil.test/x", "evil.test/x"),
        ("смотри evil.test/x.", "evil.test/x"),
        ("evil.test:8080/x", "evil.test:8080/x"),
        ("10.0.0.1/x", "10.0.0.1/x"),
        ("evil\u{200b}.test/x", "evil.test/x"),
        ("evil。test/x", "evil.test/x"),
        ("evil｡test．ab/x", "evil.test.ab/x"),
        ("www。evil。test", "www.evil.test"),
        ("Ольга <olga@example.test>", "olga@example.test"),
        ("mailto:olga@example.test.", "olga@example.test"),
        ("x=olga@example.test", "x=olga@example.test"),
        ("ｏｌｇａ＠example.test", "olga@example.test"),
        ("olga@localhost", "olga@localhost"),
        ("DE89 3704 0044 0532 0130 00", "#de89370400440532013000"),
        ("GB29NWBK60161331926819", "#gb29nwbk60161331926819"),
        ("счёт 40702810900000001234", "#40702810900000001234"),
        ("8 (495) 123-45-67", "#84951234567"),
        ("8.495.123.45.67", "#84951234567"),
        ("+7 916 123", "#7916123"),
        ("٠١٢٣٤٥٦٧٨٩", "#0123456789"),
        ("८ (४९५) १२३-४५-६७", "#84951234567"),
        ("+1 (555) 0100", "#15550100"),
        ("[495] 123/45/67 8", "#49512345678"),
        ("сумма 1 000 000 000", "#1000000000"),
    ] {
        assert_eq!(found(text), [expected], "{text}");
    }
}

#[test]
fn an_address_beside_another_is_found_too() {
    assert_eq!(found("olga@example.test/evil"), ["olga@example.test", "example.test/evil"]);
    assert_eq!(found("a@b.test, c@d.test"), ["a@b.test", "c@d.test"]);
    assert_eq!(found("https://a.test https://b.test"), ["a.test", "b.test"]);
    assert_eq!(found("+79161234567 +79161234568"), ["#79161234567", "#79161234568"]);
}

#[test]
fn other_texts_have_no_address() {
    for text in [
        "Прислали счёт на 320 000 рублей",
        "и/или, км/ч, TCP/IP",
        "сайт example.test",
        "пример.рф/путь",
        "12.05.2026 10:00",
        "2026-05-12 10:30:00",
        "с 12.05.2026 по 13.05.2026 и 14.05.2026",
        "до 12.05.2026 100 000 рублей",
        "2026-05-12t10:30:00z",
        "@ivan",
        "ivan @ home",
        "12345678",
        "+123 45",
        "e.g./i.e.",
        "",
    ] {
        assert_eq!(found(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn a_phone_number_beside_dates_is_found() {
    assert_eq!(found("495 12.05.2026 1234567").len(), 1);
    assert_eq!(found("99.99.2026 1").len(), 1);
}
