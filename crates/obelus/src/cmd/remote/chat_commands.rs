//! The commands of a conversation with a session of a server: the same as in this process, where the API can serve
//! them.

use anyhow::Result;
use obelus_channel::client::ClientError;
use obelus_channel::types::{AnswerBody, AnswerRequest, Taken};
use obelus_kernel::policy::ConsentId;
use obelus_kernel::session::Session;
use obelus_runtime::people::Titles;
use obelus_runtime::sessions::InboxId;

use super::copy::copied;
use super::talk::Remote;
use crate::cmd::chat::commands::{ChatCommand, parse};
use crate::cmd::chat::{StyledLine, answers, cost};
use crate::cmd::sessions::inspect;
use crate::language::fill;
use crate::output::{self, Exit};

impl Remote<'_> {
    /// Runs a command. Returns how the conversation stands, if the command went on with it.
    pub(super) async fn command(&mut self, words: &str) -> Result<Option<Exit>> {
        if words == "/stop" {
            self.stop().await?;
            return Ok(None);
        }
        match parse(words, self.phrases) {
            None => Ok(None),
            Some(Err(problem)) => {
                output::warning(&problem);
                Ok(None)
            }
            Some(Ok(command)) => match Box::pin(self.run(command)).await {
                // What the server refuses ends no conversation.
                Err(error) => match error.downcast::<ClientError>() {
                    Ok(ClientError::Refused { message, .. }) => {
                        output::warning(&message);
                        Ok(None)
                    }
                    Ok(error) => Err(error.into()),
                    Err(error) => Err(error),
                },
                done => done,
            },
        }
    }

    async fn run(&mut self, command: ChatCommand) -> Result<Option<Exit>> {
        let serving = &self.phrases.serving;
        match command {
            ChatCommand::Quit => self.is_over = true,
            ChatCommand::Inbox => return self.ask_open().await.map(Some),
            ChatCommand::Approve(_) if !self.is_terminal => {
                output::warning(&fill(self.phrases.errors.needs_terminal, &["/approve"]));
            }
            // It is shown, and approved by the answer to what is shown.
            ChatCommand::Approve(id) => return self.ask(vec![self.question_id(&id)]).await.map(Some),
            ChatCommand::Deny(id, reason) => {
                let reason = reason.unwrap_or_else(|| self.phrases.ask.no_reason.to_owned());
                let path = self.question_path(&self.question_id(&id));
                let denied = AnswerRequest { answer: AnswerBody::Deny { reason, only: None }, digest: None };
                let taken: Taken = self.client.post(&format!("{path}/answer"), &denied).await?;
                let turn = self.follow(&taken.event).await?;
                return self.came_to(turn).await.map(Some);
            }
            ChatCommand::Revoke(number) => {
                let _: Taken = self.client.delete(&self.path(&format!("/consents/c{number}"))).await?;
                output::note(&fill(self.phrases.chat.revoked, &[&ConsentId(number).to_string()]));
            }
            ChatCommand::Mode(Some(mode)) => {
                output::warning(&fill(serving.remote_mode, &[self.client.address(), mode.name()]));
            }
            ChatCommand::Image(_) => output::warning(serving.remote_image),
            ChatCommand::Help => {
                let rows = answers::help_rows(self.phrases).into_iter().filter(|row| !row.starts_with("/image"));
                let rows: Vec<&str> = rows.chain([serving.remote_stop]).collect();
                show(&answers::help(&rows));
            }
            command => {
                let copy = copied(self.client, &self.session).await?;
                let session = inspect::read(&copy, &self.session, None)?;
                show(&self.answer(&command, &session));
            }
        }
        Ok(None)
    }

    /// The answer to a command that only reads.
    fn answer(&self, command: &ChatCommand, session: &Session) -> Vec<StyledLine> {
        let phrases = self.phrases;
        let titles = Titles::of(session.context(), phrases.code);
        match command {
            ChatCommand::Plan => answers::plan(session, &titles, phrases),
            ChatCommand::State => answers::state(session, phrases),
            ChatCommand::Consents => answers::consents(session, phrases),
            ChatCommand::Cost => cost::lines(session.spent(), phrases),
            ChatCommand::Why(path) => answers::why(session, path, &titles, phrases),
            ChatCommand::Mode(_) => answers::mode(session.settings().mode, phrases),
            _ => Vec::new(),
        }
    }

    /// The id of a question as the API has it; a person may leave out the session.
    fn question_id(&self, id: &str) -> String {
        id.parse().map_or_else(|_| id.to_owned(), |own| InboxId::new(&self.session, &own).to_string())
    }
}

fn show(lines: &[StyledLine]) {
    lines.iter().for_each(|line| output::answer(&line.styled()));
}
