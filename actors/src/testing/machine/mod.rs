//! A project, its chat, the chat's branches, their queues and runs against a small model, under any
//! order of what can happen.

mod branch;
mod chat;
mod checks;
mod model;

use proptest::prelude::*;

use self::branch::Happening;
use self::chat::Change;
use self::model::{ChatModel, Model};
use super::Given;
use crate::Effect;

#[derive(Clone, Debug)]
enum Step {
    /// To one of the branches that there ever were.
    Branch(usize, Happening),
    /// To the chat or its project.
    Chat(Change),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        9 => (any::<usize>(), branch::happening()).prop_map(|(at, it)| Step::Branch(at, it)),
        1 => chat::change().prop_map(Step::Chat),
    ]
}

/// Notes which branches somebody is about to start.
fn note_starts(before: &Given, given: &Given, model: &mut ChatModel) {
    for effect in &given.effects[before.effects.len()..] {
        let Effect::StartNext(key) = effect else { continue };
        let branch = model.branches.iter_mut().find(|branch| branch.id == key.branch);
        branch.unwrap().queue.start_is_due = true;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn a_branch_behaves_as_its_model(
        happenings in proptest::collection::vec(branch::happening(), 1..80),
    ) {
        let (mut given, mut model) = (Given::chat(), Model::default());
        for happening in happenings {
            let before = given.clone();
            branch::apply(&mut given, &mut model, happening);
            let new = &given.effects[before.effects.len()..];
            model.start_is_due |= new.iter().any(|effect| matches!(effect, Effect::StartNext(_)));
            checks::branch(&given, &model);
            checks::effects(&before, &given);
        }
        checks::ways_out(&given);
    }

    #[test]
    fn a_chat_with_forks_and_deletions_behaves_as_its_model(
        steps in proptest::collection::vec(step(), 1..100),
    ) {
        let mut given = Given::chat();
        let mut model = ChatModel::new(&given);
        for step in steps {
            let before = given.clone();
            match step {
                Step::Branch(at, happening) => {
                    let at = at % model.branches.len();
                    given.here = Some(model.branches[at].id);
                    if model.is_gone(at) {
                        branch::refuse(&mut given, &mut model.branches[at].queue, happening);
                    } else {
                        branch::apply(&mut given, &mut model.branches[at].queue, happening);
                    }
                }
                Step::Chat(change) => chat::apply(&mut given, &mut model, change),
            }
            note_starts(&before, &given, &mut model);
            checks::chat(&mut given, &model);
            checks::effects(&before, &given);
        }
        checks::ways_out_of_chat(&given, &model);
    }
}
