//! Who answered, and from where, as text.

use obelus_runtime::Language;
use obelus_words::fill;

/// Who answered, and from where, as text. Journals have `CHANNEL:NAME`, and a few special names.
pub(crate) fn who(by: &str, language: Language) -> String {
    let (bot, story) = (&language.words().bot, &language.words().story);
    let channel = |name: &str| match name {
        "api" => "API".to_owned(),
        "telegram" => "Telegram".to_owned(),
        "langgraph" => "LangGraph".to_owned(),
        "openai" => "OpenAI".to_owned(),
        "mcp" => "MCP".to_owned(),
        other => obelus_kernel::visible(other),
    };
    match (by, by.split_once(':')) {
        ("a person at the terminal", _) => bot.at_terminal.to_owned(),
        ("a person at the command line", _) => bot.at_command_line.to_owned(),
        ("the user, in conversation", _) => bot.in_conversation.to_owned(),
        ("the agent, for the user", _) => story.for_the_user.to_owned(),
        ("the state's file", _) => story.state_file.to_owned(),
        ("nobody", _) => story.nobody.to_owned(),
        (_, Some((from, name))) => fill(bot.name_in, &[&obelus_kernel::visible(name), &channel(from)]),
        (other, None) => obelus_kernel::visible(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_person_who_answered_is_named_with_the_channel() {
        assert_eq!(who("telegram:42", Language::English), "42 in Telegram");
        assert_eq!(who("api:boris", Language::English), "boris in API");
        assert_eq!(who("a person at the terminal", Language::Russian), "человек за терминалом");
        assert_eq!(who("a\u{202e}:b\n", Language::English), "b\\n in a\\u{202e}");
    }
}
