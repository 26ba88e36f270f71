//! The result of a call, limited in size.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

use super::error::quoted;

/// The result of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolResult {
    /// Its texts, in order. A text in brackets says where something was cut or left out.
    pub texts: Vec<String>,
    /// Its images, in order.
    pub images: Vec<Image>,
    /// Its structured result, if the server gave one.
    pub structured: Option<Value>,
    /// Whether the server says that the tool failed.
    pub is_error: bool,
    /// Whether something was left out because of its size.
    pub cut: bool,
}

/// An image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Its type, such as `image/png`.
    pub mime: String,
    /// The image itself.
    pub data: Vec<u8>,
}

impl ToolResult {
    /// Reads a result; `most` is the limit of characters.
    pub(super) fn read(result: CallToolResult, most: usize) -> Self {
        let mut brought = Self { is_error: result.is_error == Some(true), ..Self::default() };
        let mut left = most;
        for block in result.content {
            match block {
                ContentBlock::Text(text) => brought.add(text.text, &mut left),
                ContentBlock::Image(image) => brought.add_image(image.mime_type, &image.data),
                ContentBlock::Audio(audio) => brought.note(format!("{} left out", quoted(&audio.mime_type))),
                ContentBlock::Resource(resource) => match resource.resource {
                    ResourceContents::TextResourceContents { text, .. } => brought.add(text, &mut left),
                    ResourceContents::BlobResourceContents { mime_type, blob, .. } => {
                        brought.add_image(mime_type.unwrap_or_default(), &blob);
                    }
                    _ => brought.note("something of an unknown kind left out".to_owned()),
                },
                ContentBlock::ResourceLink(link) => {
                    brought.add(format!("[{}: {}]", link.name, link.uri), &mut left);
                }
                _ => brought.note("something of an unknown kind left out".to_owned()),
            }
        }
        if let Some(structured) = result.structured_content {
            let size = structured.to_string().chars().count();
            if size > most {
                brought.cut = true;
                brought.note(format!("a structured result of {size} characters left out: more than {most}"));
            } else {
                brought.structured = Some(structured);
            }
        }
        brought
    }

    fn add(&mut self, text: String, left: &mut usize) {
        let count = text.chars().count();
        if count <= *left {
            *left -= count;
            self.texts.push(text);
            return;
        }
        let end = text.char_indices().nth(*left).map_or(text.len(), |(end, _)| end);
        let over = count - *left;
        *left = 0;
        self.cut = true;
        self.texts.push(format!("{}\n[cut here: {over} of {count} characters left out]", &text[..end]));
    }

    fn add_image(&mut self, mime: String, data: &str) {
        let is_image = mime.starts_with("image/") && mime.len() < 100 && mime.is_ascii();
        match STANDARD.decode(data.trim_ascii()) {
            Ok(data) if is_image => self.images.push(Image { mime, data }),
            Ok(data) => self.note(format!("{} of {} bytes left out", quoted(&mime), data.len())),
            Err(_) => self.note(format!("{} that cannot be decoded left out", quoted(&mime))),
        }
    }

    fn note(&mut self, words: String) {
        self.texts.push(format!("[{words}]"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn read(result: Value, most: usize) -> ToolResult {
        ToolResult::read(serde_json::from_value(result).unwrap(), most)
    }

    #[test]
    fn every_kind_of_content_is_read_or_named() {
        let brought = read(
            json!({"content": [
                {"type": "text", "text": "one"},
                {"type": "image", "data": "aGk=", "mimeType": "image/png"},
                {"type": "image", "data": "!", "mimeType": "image/png"},
                {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
                {"type": "resource", "resource": {"uri": "u://1", "text": "two"}},
                {"type": "resource", "resource": {"uri": "u://2", "blob": "aGk=", "mimeType": "application/zip"}},
                {"type": "resource_link", "uri": "u://3", "name": "three"},
            ], "structuredContent": {"a": 1}, "isError": true}),
            100,
        );
        assert_eq!(
            brought.texts,
            [
                "one",
                "[image/png that cannot be decoded left out]",
                "[audio/wav left out]",
                "two",
                "[application/zip of 2 bytes left out]",
                "[three: u://3]"
            ]
        );
        assert_eq!(brought.images, [Image { mime: "image/png".to_owned(), data: b"hi".to_vec() }]);
        assert_eq!(brought.structured, Some(json!({"a": 1})));
        assert!(brought.is_error && !brought.cut);
    }

    #[test]
    fn oversized_content_is_cut_with_a_note() {
        let result = json!({"content": [{"type": "text", "text": "жжжж"}, {"type": "text", "text": "more"}],
            "structuredContent": {"long": "1234567890"}});
        let brought = read(result, 3);
        assert_eq!(brought.texts[0], "жжж\n[cut here: 1 of 4 characters left out]");
        assert_eq!(brought.texts[1], "\n[cut here: 4 of 4 characters left out]");
        assert!(brought.cut && brought.structured.is_none() && brought.texts[2].contains("left out: more than 3"));
    }

    proptest! {
        #[test]
        fn cutting_keeps_the_beginning(texts in prop::collection::vec(".{0,20}", 0..5), most in 1usize..40) {
            let content: Vec<_> = texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
            let brought = read(json!({"content": content}), most);
            let kept: usize = brought.texts.iter().zip(&texts).map(|(kept, text)| {
                let kept = kept.split("\n[cut here: ").next().unwrap();
                assert!(text.starts_with(kept) || brought.texts.contains(text));
                if brought.cut { kept.chars().count().min(text.chars().count()) } else { text.chars().count() }
            }).sum();
            prop_assert!(kept <= most || !brought.cut);
            let all: usize = texts.iter().map(|text| text.chars().count()).sum();
            prop_assert_eq!(brought.cut, all > most);
        }
    }
}
