//! `stored_as_text!`: a column of type `TEXT` that holds an enum by the names of its variants.

/// Implements diesel's traits for enums in `TEXT` columns, nullable or not.
///
/// The enum derives `strum::EnumString` and `strum::IntoStaticStr`, which decide the names. A name that no variant has is
/// an error of the query, which tells the column and the name.
#[macro_export]
macro_rules! stored_as_text {
    ($($name:ty),+ $(,)?) => {$(
        const _: () = {
            use ::diesel::deserialize::{self, FromSql, Queryable};
            use ::diesel::expression::AsExpression;
            use ::diesel::pg::{Pg, PgValue};
            use ::diesel::serialize::{self, Output, ToSql};
            use ::diesel::sql_types::{Nullable, Text};

            impl FromSql<Text, Pg> for $name {
                fn from_sql(bytes: PgValue<'_>) -> deserialize::Result<Self> {
                    let name = <String as FromSql<Text, Pg>>::from_sql(bytes)?;
                    name.parse().map_err(|_| format!("'{name}' is not a name of {}", stringify!($name)).into())
                }
            }

            impl Queryable<Text, Pg> for $name {
                type Row = Self;

                fn build(row: Self) -> deserialize::Result<Self> {
                    Ok(row)
                }
            }

            impl ToSql<Text, Pg> for $name {
                fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
                    <str as ToSql<Text, Pg>>::to_sql(self.into(), out)
                }
            }

            impl AsExpression<Text> for $name {
                type Expression = <&'static str as AsExpression<Text>>::Expression;

                fn as_expression(self) -> Self::Expression {
                    AsExpression::<Text>::as_expression(<&'static str>::from(self))
                }
            }

            impl AsExpression<Nullable<Text>> for $name {
                type Expression = <&'static str as AsExpression<Nullable<Text>>>::Expression;

                fn as_expression(self) -> Self::Expression {
                    AsExpression::<Nullable<Text>>::as_expression(<&'static str>::from(self))
                }
            }
        };
    )+};
}
