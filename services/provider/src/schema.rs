//! The tables of `migrations/provider`, as diesel knows them.

use diesel::{allow_tables_to_appear_in_same_query, define_sql_function, table};

define_sql_function! {
    /// Unix seconds from the database's clock: the only clock that an object's times come from.
    fn unix_now() -> BigInt;
}

table! {
    payment_intent (id) {
        id -> Text,
        position -> BigInt,
        amount -> BigInt,
        currency -> Text,
        status -> Text,
        payment_method -> Nullable<Text>,
        latest_charge -> Nullable<Text>,
        decline_code -> Nullable<Text>,
        cancellation_reason -> Nullable<Text>,
        canceled_at -> Nullable<BigInt>,
        metadata -> Jsonb,
        created -> BigInt,
    }
}

table! {
    charge (id) {
        id -> Text,
        position -> BigInt,
        payment_intent -> Text,
        amount -> BigInt,
        amount_refunded -> BigInt,
        currency -> Text,
        payment_method -> Text,
        status -> Text,
        created -> BigInt,
    }
}

table! {
    refund (id) {
        id -> Text,
        position -> BigInt,
        charge -> Text,
        payment_intent -> Text,
        amount -> BigInt,
        currency -> Text,
        status -> Text,
        reason -> Nullable<Text>,
        metadata -> Jsonb,
        created -> BigInt,
    }
}

table! {
    idempotency_key (key) {
        key -> Text,
        path -> Text,
        parameters_hash -> Bytea,
        status -> SmallInt,
        body -> Bytea,
        created -> BigInt,
    }
}

allow_tables_to_appear_in_same_query!(payment_intent, charge, refund);
