//! Members that are late, that come again under another id, or that do not come at all: the group goes on without them, and each is told what became of it.
//!
//! It must not know offsets.

use klamm::error_code::ErrorCode;

use super::groups::{self, Joining, ask_join, ask_sync, gathered, hear_joined, hear_synced, heartbeat, leave, named};
use super::stage::{Played, Stage, same};

const LATE: &str = "absentees-late";
const STATIC: &str = "absentees-static";
const AWAITED: &str = "absentees-awaited";
/// How long a group waits for its members.
const PATIENCE_MS: i32 = 2_000;
/// Longer than that.
const LATE_MS: u64 = 3_000;
/// Far shorter.
const MOMENT_MS: u64 = 500;
const ANNA: usize = 0;
const BEN: usize = 1;
const TWIN: usize = 2;

pub(super) async fn play(stage: Stage) -> Played {
    one_forgets_its_part(&stage).await?;
    a_twin_takes_the_place(&stage).await?;
    only_a_static_member_is_left(&stage).await?;
    one_never_comes(&stage).await
}

/// Who joins and never asks for its part is out when the patience of the others ends, and they divide again.
async fn one_forgets_its_part(stage: &Stage) -> Played {
    groups::find(stage, ANNA, LATE).await?;
    let joining = Joining::new(LATE, PATIENCE_MS);
    let anna = joining.with_id(&named(stage, ANNA, &joining).await?);
    let ben = joining.with_id(&named(stage, BEN, &joining).await?);
    // Who was given an id is nobody's static member.
    ask_join(stage, TWIN, Joining { instance: Some("ben"), ..ben.clone() });
    same("a made-up instance", hear_joined(stage, TWIN).await?.error, ErrorCode::UnknownMemberId)?;
    let [hers, _] = gathered(stage, [(ANNA, &anna), (BEN, &ben)]).await?;
    let ((leader, leader_role), (other, other_role)) = match hers.leader == anna.member_id {
        true => ((anna, ANNA), (ben, BEN)),
        false => ((ben, BEN), (anna, ANNA)),
    };
    ask_sync(stage, other_role, &other, hers.generation, Vec::new());
    stage.rest(MOMENT_MS).await;
    same("a part is there without the leader", stage.is_answered(other_role), false)?;
    // What it asks again, on another connection, takes the place of what it asked before.
    ask_sync(stage, TWIN, &other, hers.generation, Vec::new());
    same("the first request", hear_synced(stage, other_role).await?.0, ErrorCode::RebalanceInProgress)?;
    let refused = hear_synced(stage, TWIN).await?.0;
    same("a part without the leader", refused, ErrorCode::RebalanceInProgress)?;
    same(
        "the leader's heartbeat",
        heartbeat(stage, leader_role, &leader, hers.generation).await?,
        ErrorCode::UnknownMemberId,
    )?;
    ask_join(stage, other_role, other.clone());
    let alone = hear_joined(stage, other_role).await?;
    let expected = (ErrorCode::None, hers.generation + 1, other.member_id.clone());
    same("the next generation", (alone.error, alone.generation, alone.leader), expected)?;
    same("the last leave", leave(stage, other_role, &other).await?, ErrorCode::None)
}

/// A static member that comes again takes the place of its former self, which is fenced, whatever it waits for.
async fn a_twin_takes_the_place(stage: &Stage) -> Played {
    groups::find(stage, ANNA, STATIC).await?;
    let first = Joining { instance: Some("anna"), ..Joining::new(STATIC, PATIENCE_MS) };
    let fenced = ErrorCode::FencedInstanceId;
    // One of the two is parked with its join when the other comes, or has just joined.
    ask_join(stage, ANNA, first.clone());
    ask_join(stage, TWIN, first.clone());
    let (one, other) = (hear_joined(stage, ANNA).await?, hear_joined(stage, TWIN).await?);
    let other_stays = one.error == fenced || other.generation > one.generation;
    let (stays, stays_at, former) = if other_stays { (other, TWIN, one) } else { (one, ANNA, other) };
    same("the one that stays", stays.error, ErrorCode::None)?;
    let said = heartbeat(stage, BEN, &first.with_id(&former.member_id), stays.generation).await?;
    same("the heartbeat of the one that does not", said, fenced)?;
    let member = first.with_id(&stays.member_id);
    ask_sync(stage, stays_at, &member, stays.generation, vec![(stays.member_id.clone(), vec![7])]);
    same("its part", hear_synced(stage, stays_at).await?, (ErrorCode::None, vec![7]))?;

    // Settled, it comes again: nothing changes but its id.
    ask_join(stage, BEN, first.clone());
    let again = hear_joined(stage, BEN).await?;
    same("the same generation", (again.error, again.generation), (ErrorCode::None, stays.generation))?;
    let said = heartbeat(stage, stays_at, &member, stays.generation).await?;
    same("the heartbeat of its former self", said, fenced)?;
    let by_instance = Joining { member_id: String::new(), ..first.clone() };
    let unknown = Joining { instance: Some("nobody"), ..by_instance.clone() };
    same("the leave of nobody", leave(stage, TWIN, &unknown).await?, ErrorCode::UnknownMemberId)?;
    same("the leave by its instance", leave(stage, TWIN, &by_instance).await?, ErrorCode::None)
}

/// A round in which nobody comes but one that leaves again: the static member that was not heard of keeps its place, until it joins.
async fn only_a_static_member_is_left(stage: &Stage) -> Played {
    let first = Joining { instance: Some("anna"), ..Joining::new(STATIC, PATIENCE_MS) };
    ask_join(stage, ANNA, first.clone());
    let joined = hear_joined(stage, ANNA).await?;
    same("the join of a static member", joined.error, ErrorCode::None)?;
    let anna = first.with_id(&joined.member_id);
    ask_sync(stage, ANNA, &anna, joined.generation, vec![(joined.member_id.clone(), vec![1])]);
    same("its part", hear_synced(stage, ANNA).await?.0, ErrorCode::None)?;

    let passing = Joining::new(STATIC, PATIENCE_MS);
    let passing = passing.with_id(&named(stage, BEN, &passing).await?);
    ask_join(stage, BEN, passing.clone());
    stage.rest(MOMENT_MS).await;
    same("he joins without her", stage.is_answered(BEN), false)?;
    same("his leave", leave(stage, TWIN, &passing).await?, ErrorCode::None)?;
    same("his join", hear_joined(stage, BEN).await?.error, ErrorCode::UnknownMemberId)?;
    stage.rest(LATE_MS).await;
    same("her heartbeat", heartbeat(stage, ANNA, &anna, joined.generation).await?, ErrorCode::RebalanceInProgress)?;
    ask_join(stage, ANNA, anna.clone());
    let again = hear_joined(stage, ANNA).await?;
    same("her next generation", (again.error, again.generation), (ErrorCode::None, joined.generation + 1))?;
    let claimed = Joining { instance: Some("anna"), ..passing };
    ask_join(stage, BEN, claimed);
    same("a join under an id that is not hers", hear_joined(stage, BEN).await?.error, ErrorCode::FencedInstanceId)?;
    same("her leave", leave(stage, ANNA, &anna).await?, ErrorCode::None)
}

/// Who was given an id and never comes with it holds up nobody, and keeps no group alive that is deleted.
async fn one_never_comes(stage: &Stage) -> Played {
    groups::find(stage, ANNA, AWAITED).await?;
    let joining = Joining::new(AWAITED, PATIENCE_MS);
    named(stage, BEN, &joining).await?;
    let anna = joining.with_id(&named(stage, ANNA, &joining).await?);
    ask_join(stage, ANNA, anna.clone());
    let alone = hear_joined(stage, ANNA).await?;
    same("a join without him", (alone.error, alone.leader), (ErrorCode::None, anna.member_id.clone()))?;
    same("her leave", leave(stage, ANNA, &anna).await?, ErrorCode::None)?;
    // The group gathers once more before it is empty: he might come.
    stage.rest(LATE_MS).await;
    same("a deletion", groups::delete(stage, ANNA, AWAITED).await?, ErrorCode::None)?;
    same("a second deletion", groups::delete(stage, ANNA, AWAITED).await?, ErrorCode::GroupIdNotFound)
}
