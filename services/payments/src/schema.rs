//! The tables of `migrations/payments`, as diesel sees them.

use diesel::sql_types::{Nullable, Timestamptz};

diesel::table! {
    payment (id) {
        id -> Uuid,
        tenant_id -> Text,
        order_id -> Nullable<Uuid>,
        amount -> BigInt,
        currency -> Text,
        payment_method -> Text,
        state -> Text,
        cancel_requested -> Bool,
        decline_code -> Nullable<Text>,
        processor_intent -> Nullable<Text>,
        processor_charge -> Nullable<Text>,
        refund_reserved -> BigInt,
        expires_at -> Timestamptz,
        sequence -> BigInt,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

diesel::table! {
    refund (id) {
        id -> Uuid,
        tenant_id -> Text,
        payment_id -> Uuid,
        cause -> Text,
        amount -> BigInt,
        state -> Text,
        failure_code -> Nullable<Text>,
        processor_refund -> Nullable<Text>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

diesel::table! {
    intent (id) {
        id -> Uuid,
        tenant_id -> Text,
        kind -> Text,
        payment_id -> Uuid,
        provider_key -> Text,
        request -> Binary,
        attempt -> Integer,
        in_flight -> Bool,
        due_at -> Nullable<Timestamptz>,
        sent_since -> Nullable<Timestamptz>,
        last_outcome -> Nullable<Text>,
        traceparent -> Nullable<Text>,
        created_at -> Timestamptz,
    }
}

diesel::joinable!(intent -> payment (payment_id));
diesel::allow_tables_to_appear_in_same_query!(intent, payment);

diesel::define_sql_function! {
    /// The first of the two that is not null.
    fn coalesce(first: Nullable<Timestamptz>, second: Timestamptz) -> Timestamptz;
}
