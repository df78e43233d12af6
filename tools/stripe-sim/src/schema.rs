//! The tables of `tools/stripe-sim/migrations`, as diesel knows them.

use diesel::{allow_tables_to_appear_in_same_query, define_sql_function, table};

define_sql_function! {
    /// Unix seconds of the database's clock, the only clock for the times of objects.
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
        capture_method -> Text,
        amount_received -> BigInt,
    }
}

table! {
    charge (id) {
        id -> Text,
        payment_intent -> Text,
        amount -> BigInt,
        amount_refunded -> BigInt,
        currency -> Text,
        payment_method -> Text,
        status -> Text,
        created -> BigInt,
        amount_captured -> BigInt,
        decline_code -> Nullable<Text>,
        balance_transaction -> Nullable<Text>,
        metadata -> Jsonb,
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
        failure_reason -> Nullable<Text>,
        balance_transaction -> Nullable<Text>,
        failure_balance_transaction -> Nullable<Text>,
    }
}

table! {
    balance_transaction (id) {
        id -> Text,
        #[sql_name = "type"]
        kind -> Text,
        source -> Text,
        amount -> BigInt,
        fee -> BigInt,
        net -> BigInt,
        currency -> Text,
        created -> BigInt,
    }
}

table! {
    bank_decision (id) {
        id -> BigInt,
        object -> Text,
        decision -> Text,
        due_at -> Timestamptz,
    }
}

table! {
    event (id) {
        id -> Text,
        position -> BigInt,
        #[sql_name = "type"]
        kind -> Text,
        object -> Jsonb,
        request -> Nullable<Text>,
        idempotency_key -> Nullable<Text>,
        created -> BigInt,
    }
}

table! {
    delivery (id) {
        id -> BigInt,
        event -> Text,
        url -> Text,
        due_at -> Nullable<Timestamptz>,
        attempts -> Integer,
        delivered_at -> Nullable<Timestamptz>,
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
        valid_until -> Timestamptz,
    }
}

allow_tables_to_appear_in_same_query!(event, delivery);
