//! Editing a waiting call: the form, and the preview. Pictures of pages.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use obelus_kernel::session::{Picture, Session};
use obelus_runtime::Language;
use obelus_runtime::people::{EditForm, FieldKind, FormField, QuestionView, refused_in_words};
use serde_json::{Map, Value};

use super::questions::{parts, text_of};
use super::{Service, check_id};
use crate::ChannelError;
use crate::types::{EditProblem, FieldKindName, FormFieldView, FormView, PictureBytes, PreviewRequest, PreviewView};

impl Service {
    /// The editable fields of a question's only open call.
    pub async fn form(&self, id: &str, wanted: Option<Language>) -> Result<FormView, ChannelError> {
        let (session, number) = parts(id)?;
        let service = self.clone();
        let read = move |session: &Session| {
            let question = session.question(&number)?;
            let language = service.language_of(session, wanted);
            Some(EditForm::of(session, &question, language).filter(|_| question.is_open()))
        };
        let form = self.read(session, read).await?.ok_or_else(|| ChannelError::UnknownQuestion(id.to_owned()))?;
        let form = form.ok_or_else(|| ChannelError::NotFound(format!("a form for {id}")))?;
        Ok(FormView { fields: form.fields.iter().map(field_view).collect() })
    }

    /// The preview of an edit. Nothing is decided.
    pub async fn preview(
        &self,
        id: &str,
        edit: PreviewRequest,
        wanted: Option<Language>,
    ) -> Result<PreviewView, ChannelError> {
        let (session, number) = parts(id)?;
        let pages = self.host.pictures(session);
        let (service, whole) = (self.clone(), id.to_owned());
        let read = move |session: &Session| {
            let question = session.question(&number)?;
            let language = service.language_of(session, wanted);
            let form = EditForm::of(session, &question, language);
            let (params, mut problems) = match edit.params {
                Some(params) => (params, Vec::new()),
                None => typed_params(form.as_ref(), &edit.typed),
            };
            let view = match (problems.is_empty(), params.is_empty()) {
                (false, _) => None,
                (true, true) => Some(QuestionView::with_pages(session, &question, pages, language)),
                (true, false) => match QuestionView::edited(session, &number, &params, pages, language) {
                    Ok(view) => Some(view),
                    Err(refused) => {
                        let message = refused_in_words(&refused, Some(question.about), language);
                        problems.push(EditProblem { place: None, message });
                        None
                    }
                },
            };
            let view = view.map(|view| QuestionView { picture: None, ..view.under(&whole) });
            let (digest, text) = (view.as_ref().map(|view| view.digest.clone()), view.as_ref().map(text_of));
            Some(PreviewView { params, problems, digest, view, text })
        };
        self.read(session, read).await?.ok_or_else(|| ChannelError::UnknownQuestion(id.to_owned()))
    }

    /// The latest picture of a question's page.
    pub async fn picture_of_question(&self, id: &str) -> Result<PictureBytes, ChannelError> {
        let (session, number) = parts(id)?;
        let folder = self.host.pictures(session);
        let pages = folder.clone();
        let read = move |session: &Session| {
            let question = session.question(&number)?;
            QuestionView::with_pages(session, &question, pages, Language::English).picture
        };
        let file = self.read(session, read).await?;
        self.picture(file.zip(folder), id).await
    }

    /// The latest picture of a session.
    pub async fn picture_of_session(&self, id: &str) -> Result<PictureBytes, ChannelError> {
        check_id(id)?;
        let folder = self.host.pictures(id);
        let latest = folder.as_deref().and_then(latest_in);
        self.picture(latest.zip(folder), id).await
    }

    /// Reads a picture in a folder of pictures.
    async fn picture(&self, file: Option<(PathBuf, PathBuf)>, of: &str) -> Result<PictureBytes, ChannelError> {
        let missing = ChannelError::NotFound(format!("a picture of {of}"));
        let read = self.blocking(move |_| Ok(file.and_then(|(file, folder)| read_picture(&file, &folder)))).await?;
        read.ok_or(missing)
    }
}

/// The newest picture in a folder.
fn latest_in(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.filter_map(Result::ok);
    let is_picture = |path: &Path| {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        ["png", "jpg", "jpeg", "webp"].contains(&ending)
    };
    let files = entries.filter(|entry| is_picture(&entry.path()));
    files.filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()))).max().map(|(_, path)| path)
}

/// Reads a picture, if it is one and is in the folder.
fn read_picture(file: &Path, folder: &Path) -> Option<PictureBytes> {
    let (file, folder) = (file.canonicalize().ok()?, folder.canonicalize().ok()?);
    if !file.starts_with(&folder) || !file.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(&file).ok()?.take(Picture::MOST_BYTES + 1).read_to_end(&mut bytes).ok()?;
    let kind = Picture::kind(&bytes).filter(|_| bytes.len() as u64 <= Picture::MOST_BYTES)?;
    Some(PictureBytes { kind, bytes })
}

/// The parameters of an edit from typed text, and errors in it.
fn typed_params(
    form: Option<&EditForm>,
    typed: &std::collections::BTreeMap<String, String>,
) -> (Map<String, Value>, Vec<EditProblem>) {
    let (mut values, mut problems) = (Vec::new(), Vec::new());
    let fields = form.map(|form| form.fields.as_slice()).unwrap_or_default();
    for (place, text) in typed {
        let problem = |message: String| EditProblem { place: Some(place.clone()), message };
        let index = fields.iter().position(|field| field.place == *place);
        match (form, index) {
            (Some(form), Some(index)) => match form.read(index, text) {
                Ok(value) => values.push((index, value)),
                Err(message) => problems.push(problem(message)),
            },
            _ => problems.push(problem(obelus_kernel::visible(place))),
        }
    }
    (form.map(|form| form.params(&values)).unwrap_or_default(), problems)
}

fn field_view(field: &FormField) -> FormFieldView {
    let (kind, choices) = match &field.kind {
        FieldKind::Text => (FieldKindName::Text, Vec::new()),
        FieldKind::Integer => (FieldKindName::Integer, Vec::new()),
        FieldKind::Number => (FieldKindName::Number, Vec::new()),
        FieldKind::Boolean => (FieldKindName::Boolean, Vec::new()),
        FieldKind::Date => (FieldKindName::Date, Vec::new()),
        FieldKind::DateTime => (FieldKindName::DateTime, Vec::new()),
        FieldKind::Choice(values) => (FieldKindName::Choice, values.clone()),
        FieldKind::Json => (FieldKindName::Json, Vec::new()),
    };
    FormFieldView {
        place: field.place.clone(),
        label: field.label.clone(),
        kind,
        choices,
        typed: field.typed(&field.value),
        value: field.value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn pictures_are_read_only_from_their_folder() {
        let folder = std::env::temp_dir().join(format!("obelus-pictures-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("s")).unwrap();
        let inside = folder.join("s");
        let png = b"\x89PNG\r\n\x1a\nrest";
        fs::write(inside.join("a.png"), png).unwrap();
        fs::write(inside.join("b.png"), "no picture").unwrap();
        fs::write(folder.join("outside.png"), png).unwrap();
        let read = |path: &Path| read_picture(path, &inside);
        assert_eq!(read(&inside.join("a.png")).unwrap().kind, "image/png");
        assert_eq!(read(&inside.join("b.png")), None);
        assert_eq!(read(&inside.join("../outside.png")), None);
        assert_eq!(read(&folder.join("outside.png")), None);
        assert_eq!(read(&inside.join("none.png")), None);
        fs::remove_dir_all(&folder).unwrap();
    }
}
