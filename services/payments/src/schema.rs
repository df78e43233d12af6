//! The tables of `migrations/payments` for diesel.

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
        confirmed -> Bool,
        fee -> Nullable<BigInt>,
        fee_currency -> Nullable<Text>,
        fee_transaction -> Nullable<Text>,
        operation_id -> Nullable<Uuid>,
        reference -> Nullable<Text>,
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
        operation_id -> Nullable<Uuid>,
        reason -> Nullable<Text>,
        follows -> Nullable<Uuid>,
        try_number -> Integer,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

diesel::table! {
    processor_call (id) {
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
        last_sent_at -> Nullable<Timestamptz>,
        found_at -> Nullable<Timestamptz>,
        last_outcome -> Nullable<Text>,
        mode -> Text,
        look_ups -> Integer,
        processor_object -> Nullable<Text>,
        look_up_requested -> Bool,
        needs_look_up -> Bool,
        faults -> Integer,
        traceparent -> Nullable<Text>,
        created_at -> Timestamptz,
    }
}

diesel::table! {
    review (id) {
        id -> Uuid,
        tenant_id -> Nullable<Text>,
        subject -> Text,
        subject_id -> Text,
        payment_id -> Nullable<Uuid>,
        reason -> Text,
        details -> Jsonb,
        opened_at -> Timestamptz,
        resolution -> Nullable<Text>,
        resolved_by -> Nullable<Text>,
        note -> Nullable<Text>,
        resolved_at -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    reconciliation (singleton) {
        singleton -> Bool,
        due_at -> Timestamptz,
        compared_until -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    ledger_transaction (id) {
        id -> BigInt,
        tenant_id -> Text,
        kind -> Text,
        cause -> Text,
        payment_id -> Uuid,
        refund_id -> Nullable<Uuid>,
    }
}

diesel::table! {
    ledger_mark (singleton) {
        singleton -> Bool,
        folded_id -> BigInt,
    }
}

diesel::table! {
    webhook_event (id) {
        id -> Text,
        kind -> Text,
        object_id -> Nullable<Text>,
        tenant_id -> Nullable<Text>,
        call_id -> Nullable<Uuid>,
        body_hash -> Binary,
        created_at -> Timestamptz,
        received_at -> Timestamptz,
    }
}

diesel::joinable!(processor_call -> payment (payment_id));
diesel::joinable!(refund -> payment (payment_id));
diesel::allow_tables_to_appear_in_same_query!(processor_call, payment, refund);
diesel::allow_tables_to_appear_in_same_query!(ledger_transaction, ledger_mark);
