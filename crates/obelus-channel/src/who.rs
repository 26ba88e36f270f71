//! Who answered, and from where, as text.

use obelus_kernel::session::sent_by::SentBy;
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
    match SentBy::of(by) {
        SentBy::Terminal => bot.at_terminal.to_owned(),
        SentBy::CommandLine => bot.at_command_line.to_owned(),
        SentBy::Conversation => bot.in_conversation.to_owned(),
        SentBy::AgentForUser => story.for_the_user.to_owned(),
        SentBy::StateFile => story.state_file.to_owned(),
        SentBy::Nobody => story.nobody.to_owned(),
        SentBy::InChannel { channel: from, name } => {
            fill(bot.name_in, &[&obelus_kernel::visible(name), &channel(from)])
        }
        SentBy::ImportOf(source) => fill(story.import_of, &[&obelus_kernel::visible(source)]),
        SentBy::ForkOf { .. } | SentBy::Agent | SentBy::Call | SentBy::Check | SentBy::Other(_) => {
            obelus_kernel::visible(by)
        }
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
