//! Lists in SQL.

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::AstPass;

/// `a, b, c`
pub(crate) fn listed<'b, T>(
    members: &'b [T],
    out: &mut AstPass<'_, 'b, Pg>,
    each: impl Fn(&'b T, &mut AstPass<'_, 'b, Pg>) -> QueryResult<()>,
) -> QueryResult<()> {
    for (number, member) in members.iter().enumerate() {
        if number > 0 {
            out.push_sql(", ");
        }
        each(member, out)?;
    }
    Ok(())
}
