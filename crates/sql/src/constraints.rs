//! What joins are on: which of sqlparser's joins take a condition is said here alone.

use sqlparser::ast::{JoinConstraint, JoinOperator};

/// Joins that take ON, USING or NATURAL, as a pattern.
macro_rules! joins_on {
    ($on:ident) => {
        JoinOperator::Join($on)
            | JoinOperator::Inner($on)
            | JoinOperator::Left($on)
            | JoinOperator::LeftOuter($on)
            | JoinOperator::Right($on)
            | JoinOperator::RightOuter($on)
            | JoinOperator::FullOuter($on)
            | JoinOperator::Semi($on)
            | JoinOperator::LeftSemi($on)
            | JoinOperator::RightSemi($on)
            | JoinOperator::Anti($on)
            | JoinOperator::LeftAnti($on)
            | JoinOperator::RightAnti($on)
    };
}

pub(super) use joins_on;

/// What a join is on; `None` for those that take no condition, and for those that nobody plans.
pub fn constraint_of(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        joins_on!(on) => Some(on),
        _ => None,
    }
}

/// What a join is on, to be changed; `None` as of those that take no condition.
pub fn constraint_mut(operator: &mut JoinOperator) -> Option<&mut JoinConstraint> {
    match operator {
        joins_on!(on) => Some(on),
        _ => None,
    }
}
